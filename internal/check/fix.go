package check

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// Fix is a safe correction of a robots.txt, or of a file to which a robots.txt refers: there is no
// doubt what the author meant. Most corrections change no decision. Corrections for the codes in
// the map restoring give a line the effect that its author intended, so they may change decisions.
type Fix struct {
	Finding acap.Finding // the finding that the fix corrects
	Edits   []Edit       // the changes to the text, in order, without overlaps
}

// Edit replaces a range of bytes of a text by Text.
type Edit struct {
	From, To int
	Text     string
}

// restoring holds the codes whose correction may change decisions, because the line was ignored or
// was read as something else.
var restoring = map[string]bool{
	"unknown-field":      true, // the line was ignored
	"unknown-usage":      true, // the line permitted nothing, or prohibited more than it should
	"unknown-qualifier":  true, // the permission was read as a prohibition
	"rule-without-slash": true, // the rule matched nothing
	"version-comment":    true, // permissions with features of version 1.1 were ignored

	// statements of newer vocabularies that said nothing
	"label-as-parameter":   true,
	"malformed-preference": true,
	"other-vocabulary":     true,
	"unknown-label":        true,
	"unknown-preference":   true,
}

// maxRounds is how many rounds of corrections one text gets. After a round, further corrections may
// be possible.
const maxRounds = 100

// Repair makes all safe corrections of a robots.txt, of a file to which a robots.txt refers, of a
// tdmrep.json or of a licence document. It returns the text and the corrected findings. Other lines
// stay the same, byte by byte. A file that is too long, or in UTF-16, is returned unchanged.
// Suppressed findings are not corrected.
func Repair(src []byte, kind Kind, o Options, levels Levels) (out []byte, mended []acap.Finding) {
	for range maxRounds {
		fixes, moves := Fixes(src, onItsOwn(src, kind, o, levels))
		if len(fixes) == 0 { // move lines only if there is no word left to correct
			fixes = moves
		}
		if len(fixes) == 0 {
			break
		}
		var done []Fix
		src, done = apply(src, fixes)
		for _, f := range done {
			mended = append(mended, f.Finding)
		}
	}
	return src, mended
}

// onItsOwn returns the findings about a file. It leaves out the findings of the linter, and
// findings that levels or a comment in the file suppress.
func onItsOwn(src []byte, kind Kind, o Options, levels Levels) []acap.Finding {
	var f *acap.File
	var found []acap.Finding
	switch kind {
	case TDMRepKind:
		_, found = preference.CheckTDMRep(somewhere, src, o.Vocabularies)
		return suppress(Text{Name: somewhere, Kind: kind}, found, levels)
	case RSLKind:
		found = preference.CheckLicence(preference.LicenceText{Name: somewhere, Text: src, Line: 1, Column: 1},
			o.Vocabularies)
		return suppress(Text{Name: somewhere, Kind: kind}, found, levels)
	case ReferenceKind:
		f, found = referredAlone("reference", src, o)
	default:
		f = acap.Parse(somewhere, src)
		found = about(findings(f, o, new(Report).withFiles(somewhere, f, o, nil)), somewhere, somewhere)
		found = append(found, preference.CheckRobots(f, siteOf(f), o.Vocabularies)...)
	}
	return suppress(Text{Name: f.URL, Kind: kind, Lines: f.Lines()}, found, levels)
}

// suppress returns the findings about a text that neither levels nor comments in the text suppress.
func suppress(t Text, found []acap.Finding, levels Levels) []acap.Finding {
	r := Report{Texts: []Text{t}, Findings: found}
	r.Apply(levels)
	return r.Findings
}

// apply makes the edits of all fixes that do not overlap with an earlier fix. It returns the new
// text and the applied fixes.
func apply(src []byte, fixes []Fix) (out []byte, done []Fix) {
	type change struct {
		Edit
		of int
	}
	var all []change
	taken := func(e Edit) bool {
		return slices.ContainsFunc(all, func(c change) bool { return e.From < c.To && c.From < e.To })
	}
	for i, f := range fixes {
		if !slices.ContainsFunc(f.Edits, taken) {
			for _, e := range f.Edits {
				all = append(all, change{e, i})
			}
			done = append(done, f)
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	var b bytes.Buffer
	at := 0
	for _, c := range all {
		b.Write(src[at:c.From])
		b.WriteString(c.Text)
		at = c.To
	}
	b.Write(src[at:])
	return b.Bytes(), done
}

// Fixes returns corrections for the findings about a text: words are the corrections within lines,
// moves are the corrections that move lines. There are none for a text that is too long, or in
// UTF-16.
func Fixes(src []byte, found []acap.Finding) (words, moves []Fix) {
	if len(src) > acap.MaxSize || wide(src) {
		return nil, nil
	}
	t := newSource(src)
	for _, f := range found {
		if f.Source == acap.Meta || f.Source == acap.Class || f.Source == acap.Header || f.Line < 1 ||
			f.Line >= len(t.starts) {
			continue
		}
		if e := t.correct(f); e != nil {
			words = append(words, Fix{f, e})
		} else if e := t.move(f, found); e != nil {
			moves = append(moves, Fix{f, e})
		}
	}
	return words, moves
}

func wide(src []byte) bool {
	return bytes.HasPrefix(src, []byte("\xff\xfe")) || bytes.HasPrefix(src, []byte("\xfe\xff"))
}

// source is a text, with the offsets of its lines.
type source struct {
	text   string
	starts []int // the offset of each line, and the offset of the end of the text
}

func newSource(src []byte) *source {
	t := &source{text: string(src)}
	at := len(t.text) - len(strings.TrimPrefix(t.text, "\ufeff"))
	for at < len(t.text) {
		t.starts = append(t.starts, at)
		if n := strings.IndexAny(t.text[at:], "\r\n"); n < 0 {
			at = len(t.text)
		} else if at += n + 1; strings.HasPrefix(t.text[at-1:], "\r\n") {
			at++
		}
	}
	t.starts = append(t.starts, len(t.text))
	return t
}

// line returns line n, with its line end.
func (t *source) line(n int) string { return t.text[t.starts[n-1]:t.starts[n]] }

// body returns line n, without its line end.
func (t *source) body(n int) string { return strings.TrimRight(t.line(n), "\r\n") }

// place returns the range of bytes to which the finding f refers.
func (t *source) place(f acap.Finding) (from, to int) {
	at := func(chars int) int {
		line, offset := t.body(f.Line), 0
		for ; chars > 0 && offset < len(line); chars-- {
			_, n := utf8.DecodeRuneInString(line[offset:])
			offset += n
		}
		return t.starts[f.Line-1] + offset
	}
	return at(f.Column - 1), at(f.Column - 1 + f.Length)
}

// position returns the line and the column of an offset.
func (t *source) position(offset int) (line, column int) {
	line, at := slices.BinarySearch(t.starts, offset)
	if end := len(t.starts) - 1; at && (line < end || end == 0 || t.body(end) != t.line(end)) {
		return line + 1, 1
	}
	return line, utf8.RuneCountInString(t.text[t.starts[line-1]:offset]) + 1
}

// spot is the place of one finding in a text.
type spot struct {
	text       string
	finding    acap.Finding
	from, to   int    // the range of bytes at which the finding points
	start, end int    // the range of bytes of the line, without its line end
	word       string // the text in that range, text[from:to]
}

// correct returns the edits that correct a finding within its line. It returns nil if there is no
// safe correction.
func (t *source) correct(f acap.Finding) []Edit {
	from, to := t.place(f)
	start := t.starts[f.Line-1]
	s := spot{t.text, f, from, to, start, start + len(t.body(f.Line)), t.text[from:to]}
	switch f.Code {
	case "missing-colon": // P1 2.5.3.2 (A05, X54): a field with a known name is read even without its colon
		if s.isWord() {
			return []Edit{{to, to, ":"}}
		}
	case "loose-form": // P1 3 (A17): blanks before a name and before its colon are accepted
		return s.tighten()
	case "version-marker": // P1 2.5.3.1 (A08): a version marker such as [V1.1] is not part of a field
		return []Edit{{from, s.end - len(strings.TrimLeftFunc(t.text[to:s.end], acap.Blank)), ""}}
	case "misspelt-name":
		return s.replaceBy(meant(f.Hint, "write ", ":"))
	case "version-form": // P1 2.8 (B07, X56): a version is written as two numbers
		return s.replaceBy(meant(f.Hint, "write ", ""))
	case "misspelt-value": // P1 2.4.1.2 (H01): the value until-recrawl means until-recrawled
		if name, value, ok := strings.Cut(s.word, "="); ok &&
			strings.EqualFold(strings.TrimSpace(value), "until-recrawl") {
			return s.replace(name + "=until-recrawled")
		}
	case "relative-pattern": // P1 2.4.4 (F04): a pattern without a leading slash is matched from the root
		if !strings.Contains(s.word, "://") {
			return s.addSlash()
		}
	case "dollar-in-rule":
		return s.replace(strings.ReplaceAll(s.word[:len(s.word)-1], "$", "%24") + s.word[len(s.word)-1:])
	case "malformed-preference", "unknown-preference", "other-vocabulary", "label-as-parameter", "letter-case":
		return s.correctPreference()
	case "comma-separated", "quoted-number":
		return s.correctFile()
	case "rule-without-slash": // REP 1 (X52): a rule without a leading slash matches nothing
		if f.Source != acap.Robots && f.Source != acap.Referred {
			return s.correctFile()
		}
		name, _, _ := strings.Cut(strings.ToLower(t.body(f.Line)), ":")
		if strings.TrimSpace(name) == "disallow" && isPath(s.word) {
			return s.addSlash()
		}
	default:
		return s.respell()
	}
	return nil
}

// isWord reports whether the finding is about one word, and not about a whole field.
func (s spot) isWord() bool {
	return s.word != "" && !strings.ContainsFunc(s.word, func(r rune) bool { return acap.Blank(r) || r == ':' })
}

// replace returns the edit that replaces the word of s. It returns nil if the word stays the same.
func (s spot) replace(word string) []Edit {
	if word == s.word {
		return nil
	}
	return []Edit{{s.from, s.to, word}}
}

// replaceBy returns the edit that replaces one word by another. It returns nil if ok is false.
func (s spot) replaceBy(word string, ok bool) []Edit {
	if !ok || !s.isWord() {
		return nil
	}
	return s.replace(word)
}

// addSlash returns the edit that adds a slash before a value, if the hint of the finding advises
// that.
func (s spot) addSlash() []Edit {
	isValue := strings.Contains(s.text[s.start:s.from], ":")
	if !isValue || s.finding.Hint != "write /"+s.word {
		return nil
	}
	return []Edit{{s.from, s.from, "/"}}
}

// tighten returns the edits that remove blanks before a name and between the name and its colon.
func (s spot) tighten() []Edit {
	var edits []Edit
	if s.start < s.from && strings.TrimFunc(s.text[s.start:s.from], acap.Blank) == "" {
		edits = append(edits, Edit{s.start, s.from, ""})
	}
	rest := s.text[s.to:s.end]
	if gap := len(rest) - len(strings.TrimLeftFunc(rest, acap.Blank)); gap > 0 && strings.HasPrefix(rest[gap:], ":") {
		edits = append(edits, Edit{s.to, s.to + gap, ""})
	}
	return edits
}

// isPath reports whether a word looks like a path without its leading slash, and is not a word such
// as "none".
func isPath(word string) bool {
	switch strings.ToLower(word) {
	case "", "all", "any", "none", "nothing", "null", "no", "yes", "true", "false":
		return false
	}
	c := word[0] | 0x20
	return c >= 'a' && c <= 'z' && !strings.Contains(word, ":")
}

// respell returns the edit that corrects the misspelt name of a field, a usage or a qualifier. It
// returns nil if the name is not similar enough to a known one.
func (s spot) respell() []Edit {
	name, ok := meant(s.finding.Hint, "did you mean ", "?")
	if !ok {
		return nil
	}
	switch s.finding.Code {
	case "unknown-label":
		return s.respellLabel(name)
	case "unknown-field":
		permits := strings.HasPrefix(strings.ToLower(name), "acap-allow-")
		if slipped(s.word, name, !permits) && permits == strings.HasPrefix(strings.ToLower(s.word), "acap-a") {
			return s.replace(name)
		}
	case "unknown-usage":
		usage := strings.ToLower(s.word)
		for _, verb := range []string{"acap-allow-", "acap-disallow-"} {
			usage = strings.TrimPrefix(usage, verb)
		}
		if slipped(usage, name, false) {
			return s.replace(s.word[:len(s.word)-len(usage)] + name)
		}
	case "unknown-qualifier":
		written, value, ok := strings.Cut(s.word, "=")
		if trimmed := strings.TrimSpace(written); ok && slipped(trimmed, name, true) {
			return s.replace(name + written[len(trimmed):] + "=" + value)
		}
	}
	return nil
}

// meant returns the word that a hint advises. In the hint, the text before precedes the word, and
// the text behind follows it.
func meant(hint, before, behind string) (string, bool) {
	s, ok := strings.CutPrefix(hint, before)
	if !ok {
		return "", false
	}
	s, ok = strings.CutSuffix(s, behind)
	return s, ok && s != ""
}

// slipped reports whether s differs from known by one extra, missing or wrong character, or by two
// swapped ones. With twice, two neighbouring characters may be wrong.
func slipped(s, known string, twice bool) bool {
	s, known = strings.ToLower(s), strings.ToLower(known)
	for s != "" && known != "" && s[0] == known[0] {
		s, known = s[1:], known[1:]
	}
	for s != "" && known != "" && s[len(s)-1] == known[len(known)-1] {
		s, known = s[:len(s)-1], known[:len(known)-1]
	}
	longest := max(len(s), len(known))
	return longest == 1 || longest == 2 && (twice || len(s) == 2 && len(known) == 2 && s[0] == known[1] &&
		s[1] == known[0])
}
