package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Options holds the options of a conversion.
type Options struct {
	Usages []acap.Usage // the usages in the ACAP fields; if empty, only crawl
	// path of a separate file for the ACAP records, to which robots.txt refers; "" puts them into
	// robots.txt
	Reference string
	Ignore    bool   // crawlers that read ACAP ignore the conventional records (P1 2.10.1)
	Site      string // the root URL of the site that a licence document names; "": that of its first absolute URL
	AnyCase   bool   // the site ignores letter case in paths, or has only one spelling of each path
}

// Conversion is the result of a conversion. Each text is "" if the conversion does not write it.
type Conversion struct {
	Robots    string   `json:"robots,omitempty"`
	Reference string   `json:"reference,omitempty"` // the content of the file at Options.Reference
	TDMRep    string   `json:"tdmrep,omitempty"`    // the content of /.well-known/tdmrep.json
	License   string   `json:"license,omitempty"`   // a licence document of RSL
	Remarks   []Remark `json:"remarks"`
}

// Remark describes something that the target language of a conversion cannot express, or expresses
// differently.
type Remark struct {
	Code string `json:"code"`
	// warning: crawlers may do something else after the conversion; notice: they may do the same
	Severity acap.Severity `json:"severity"`
	Line     int           `json:"line"` // the converted line; 0 means the whole file
	Also     []int         `json:"also,omitempty"`
	// the crawlers that the remark concerns; "*" means the crawlers that no record names
	Crawlers []string `json:"crawlers,omitempty"`
	// the usages that the remark concerns, if the conversion is about several
	Usages  []acap.Usage `json:"usages,omitempty"`
	Paths   []string     `json:"paths,omitempty"`  // patterns of the paths that the remark concerns
	Header  string       `json:"header,omitempty"` // a response header that expresses the same for a single page
	Message string       `json:"message"`
}

// String returns the remark for a list. It adds the crawlers that the remark concerns, unless it
// concerns every crawler, or the message names them.
func (r Remark) String() string {
	where, who := "", ""
	if r.Line > 0 {
		where = fmt.Sprintf("line %d: ", r.Line)
	}
	if len(r.Crawlers) > 0 && !slices.Contains(r.Crawlers, "*") && r.Code != "differs" && r.Code != "crawler-name" {
		who = "for " + strings.Join(r.Crawlers[:min(len(r.Crawlers), 3)], ", ")
		if more := len(r.Crawlers) - 3; more > 0 {
			who += fmt.Sprintf(" and %d more", more)
		}
		who += ": "
	}
	return fmt.Sprintf("%s%s: %s%s [%s]", where, r.Severity, who, r.Message, r.Code)
}

// together joins remarks that differ only in their crawlers.
func together(remarks []Remark) []Remark {
	var out []Remark
	at := map[string]int{}
	for _, r := range remarks {
		key := fmt.Sprintf("%q", []string{r.Code, string(r.Severity), fmt.Sprint(r.Line, r.Also, r.Usages), r.Header,
			r.Message,
			strings.Join(r.Paths, " ")})
		i, known := at[key]
		switch {
		case !known:
			at[key] = len(out)
			out = append(out, r)
		case len(out[i].Crawlers) > 0:
			out[i].Crawlers = append(slices.Clip(out[i].Crawlers), r.Crawlers...)
		}
	}
	return out
}

// Exact reports whether crawlers may do exactly the same before and after the conversion.
func (c *Conversion) Exact() bool {
	return !slices.ContainsFunc(c.Remarks, func(r Remark) bool { return r.Severity != acap.Notice })
}

// Errors for files that cannot be converted.
var (
	ErrSpeaksACAP = errors.New("the file has ACAP fields already: only a conventional robots.txt is converted to ACAP")
	ErrNoACAP     = errors.New("the file has no ACAP fields to convert")
	ErrTooLarge   = errors.New("the file has too many rules, or rules with too many characters or asterisks, to be " +
		"compared with one another")
)

// convertedSite is a placeholder for the site of the converted file. Nothing is requested from it.
const convertedSite = "http://site.invalid"

// ToACAP translates the conventional records of a robots.txt into ACAP. The conventional records
// stay. ACAP records for crawl, or for the usages in o, are added below them or written to a
// separate file. If ACAP cannot express a rule, the result prohibits, and a remark says so. ToACAP
// compares the result with the original, on examples of all patterns and of their intersections,
// for each crawler that the file names and one other crawler.
func ToACAP(src []byte, o Options) (*Conversion, error) {
	f := acap.Parse(convertedSite+"/robots.txt", src)
	switch {
	case len(src) > acap.MaxSize:
		return nil, ErrTooLarge
	case slices.ContainsFunc(f.Lines(), acap.SpeaksACAP):
		return nil, ErrSpeaksACAP
	}
	// without usages, or if Ignore is set and crawl is missing, ACAP records for crawl are needed
	if len(o.Usages) == 0 || o.Ignore && !slices.Contains(o.Usages, acap.Crawl) {
		o.Usages = append([]acap.Usage{acap.Crawl}, o.Usages...)
	}
	t := toACAP{file: f, options: o}
	for _, v := range voicesOf(f) {
		r, err := t.record(v)
		if err != nil {
			return nil, err
		}
		t.records = append(t.records, r)
	}
	t.lookAtLines()
	out := &Conversion{Remarks: t.remarks}
	out.Robots, out.Reference = t.text(o)
	if len(out.Robots) > acap.MaxSize || len(out.Reference) > acap.MaxSize {
		return nil, fmt.Errorf("the converted file is longer than the %d bytes that crawlers read", acap.MaxSize)
	}
	out.Remarks = together(append(out.Remarks, t.prove(out)...))
	return out, nil
}

// voice holds the conventional rules for the crawlers with certain names.
type voice struct {
	names  []string // either only "*", or names of crawlers
	groups []int
	rules  []acap.Rule
}

// voicesOf merges groups like crawlers (RFC 9309 2.2.1): all groups with the same crawler name are
// one group, and the groups for "*" apply to crawlers that no group names.
func voicesOf(f *acap.File) []*voice {
	var out []*voice
	byName := map[string]*voice{}
	groups := f.Groups()
	for i, g := range groups {
		for _, name := range g.Agents {
			if name == "" {
				continue
			}
			v := byName[strings.ToLower(name)]
			if v == nil {
				v = &voice{names: []string{name}}
				byName[strings.ToLower(name)] = v
				out = append(out, v)
			}
			if !slices.Contains(v.groups, i) {
				v.groups = append(v.groups, i)
				v.rules = append(v.rules, g.Rules...)
			}
		}
	}
	var merged []*voice
	for _, v := range out {
		same := slices.IndexFunc(merged, func(m *voice) bool {
			return m.names[0] != "*" && v.names[0] != "*" && slices.Equal(m.groups, v.groups)
		})
		if same < 0 {
			merged = append(merged, v)
			continue
		}
		merged[same].names = append(merged[same].names, v.names...)
	}
	if len(merged) == 0 {
		merged = []*voice{{names: []string{"*"}}}
	}
	return merged
}

// toACAP is the state of a conversion to ACAP.
type toACAP struct {
	file    *acap.File
	options Options
	records []*record
	remarks []Remark
}

// record is an ACAP record under construction.
type record struct {
	*voice
	items []item
	lines []int // the line numbers of the terms of the record
}

// record translates the rules of a voice into an ACAP record. P1 2.9: ACAP ignores letter case, so
// the rules are translated as if they ignored letter case, too.
func (t *toACAP) record(v *voice) (*record, error) {
	s := settling{wins: conventionalPair, reads: acapPair}
	for _, r := range v.rules {
		s.terms = append(s.terms, term{allow: r.Allow, pattern: r.Pattern, line: r.Field.Line})
	}
	if t.options.Ignore && !t.options.AnyCase {
		t.keepClosed(v, &s)
	}
	if err := s.settle(); err != nil {
		return nil, err
	}
	for _, l := range s.lost {
		t.remarks = append(t.remarks, l.remark(&s, v.names, "ACAP", "ACAP cannot tell which is narrower and "+
			"prohibits (P1 2.4.6)"))
	}
	r := &record{voice: v, items: s.items}
	for _, term := range s.terms {
		r.lines = append(r.lines, term.line)
	}
	t.remarkOnCase(r, &s)
	return r, nil
}

// keepClosed drops permissions that would permit, in another letter case, a path that a prohibition
// covers. Conventional rules distinguish /a and /A, but ACAP does not.
func (t *toACAP) keepClosed(v *voice, s *settling) {
	widens := func(a term) bool {
		return a.allow && slices.ContainsFunc(s.terms, func(d term) bool {
			if d.allow || !widensCase(a.pattern, d.pattern) {
				return false
			}
			path, ok := sharedPath(a.pattern, d.pattern)
			return !ok || path != "" && (acapPair(a, d, path) || conventionalPair(a, d, path))
		})
	}
	kept := make([]term, 0, len(s.terms))
	for _, a := range s.terms {
		if !widens(a) {
			kept = append(kept, a)
			continue
		}
		t.remarks = append(t.remarks, Remark{Code: "letter-case", Severity: acap.Warning, Line: a.line,
			Crawlers: v.names, Paths: []string{a.pattern},
			Message: fmt.Sprintf("%s is left out: ACAP knows no letter case, and it would permit other spellings "+
				"that are prohibited now", a.place())})
	}
	s.terms = kept
}

// remarkOnCase adds the remark that ACAP ignores letter case: one remark for each record in which
// letter case makes a difference.
func (t *toACAP) remarkOnCase(r *record, s *settling) {
	if t.options.AnyCase {
		return
	}
	for _, allow := range []bool{false, true} {
		var paths []string
		var lines []int
		for _, it := range s.items {
			if it.allow == allow && cased(it.pattern) {
				paths = append(paths, it.pattern)
				lines = append(lines, s.terms[it.from].line)
			}
		}
		// keepClosed has already dropped permissions that would permit more if letter case is
		// ignored
		if len(paths) == 0 || allow && t.options.Ignore {
			continue
		}
		severity, what := acap.Warning, "prohibitions cover %s too, in any letter case"
		if allow {
			severity, what = acap.Notice, "permissions cover %s too, in any letter case: the "+
				"conventional records next to them distinguish spellings"
		}
		t.remarks = append(t.remarks, Remark{Code: "letter-case", Severity: severity, Line: lines[0],
			Also:     slices.Compact(slices.Sorted(slices.Values(lines[1:]))),
			Crawlers: r.names, Paths: paths, Message: fmt.Sprintf("ACAP knows no letter case (P1 2.9): "+what,
				examplePath(swapCase(paths[0])))})
	}
}

// lookAtLines adds remarks about lines without an equivalent in ACAP.
func (t *toACAP) lookAtLines() {
	for _, f := range t.file.Findings {
		switch f.Code {
		case "rule-without-slash", "orphan-field":
			t.remarks = append(t.remarks, Remark{Code: "no-effect", Severity: acap.Notice, Line: f.Line,
				Message: "the line is not converted, because " + f.Message})
		}
	}
	for i, line := range t.file.Lines() {
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(line)), ":")
		if strings.TrimSpace(name) == "crawl-delay" {
			t.remarks = append(t.remarks, Remark{Code: "crawl-delay", Severity: acap.Notice, Line: i + 1,
				Message: "ACAP has no Crawl-delay: the line stays, and counts (O09)"})
		}
	}
}

// text returns the text of robots.txt, and the text of the file to which robots.txt refers.
func (t *toACAP) text(o Options) (robots, reference string) {
	var b strings.Builder
	b.WriteString("##ACAP version=1.1\n")
	for _, line := range t.file.Lines() {
		if !strings.HasPrefix(strings.ToLower(line), "##acap version=") {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString("\nACAP-version: 1.1\n")
	if o.Ignore {
		b.WriteString("ACAP-ignore-conventional-records\n")
	}
	var records strings.Builder
	for _, r := range t.records {
		r.write(&records, o.Usages)
	}
	if o.Reference == "" {
		return b.String() + records.String(), ""
	}
	b.WriteString("\nACAP-crawler: *\nACAP-permissions-reference: " + o.Reference + "\n")
	return b.String(), "##ACAP version=1.1\nACAP-version: 1.1\n" + records.String()
}

// write writes a record. A record for named crawlers repeats every permission, so that the record
// for any crawler adds nothing. P1 2.2.1 (C01): a crawler that reads ACAP obeys both records; a
// conventional crawler obeys only one group.
func (r *record) write(b *strings.Builder, usages []acap.Usage) {
	b.WriteByte('\n')
	for _, name := range r.names {
		fmt.Fprintf(b, "ACAP-crawler: %s\n", name)
	}
	for _, u := range usages {
		r.fields(b, u)
	}
}

// fields writes the fields of the record about a usage.
func (r *record) fields(b *strings.Builder, u acap.Usage) {
	if !slices.ContainsFunc(r.items, func(it item) bool { return it.pattern == "/" }) {
		fmt.Fprintf(b, "ACAP-allow-%s: /\n", u)
	}
	for _, it := range r.items {
		word := "disallow"
		if it.allow {
			word = "allow"
		}
		comment := ""
		if it.against >= 0 {
			comment = fmt.Sprintf(" # line %d against line %d", r.lines[it.from], r.lines[it.against])
		}
		fmt.Fprintf(b, "ACAP-%s-%s: %s%s\n", word, u, it.pattern, comment)
	}
}
