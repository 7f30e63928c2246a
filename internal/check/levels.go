package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Ignored is the level of findings that are counted but not shown.
const Ignored acap.Severity = "ignore"

// Levels maps a code of findings to the severity that replaces the severity of these findings, or
// to Ignored.
type Levels map[string]acap.Severity

// Set gives each code a level. It returns an error if a code is unknown, or if a code already has
// another level.
func (l Levels) Set(level acap.Severity, codes ...string) error {
	for _, code := range codes {
		switch {
		case !Known(code):
			return fmt.Errorf("%q is not a code of check%s", code, meantCode(code))
		case l[code] != "" && l[code] != level:
			return fmt.Errorf("%q has two levels, %s and %s", code, l[code], level)
		}
		l[code] = level
	}
	return nil
}

// Known reports whether there is a finding with this code.
func Known(code string) bool { return codes[code] != "" }

// meantCode returns " (did you mean x?)", where x is the code with the same beginning as a wrong
// code. It returns "" if there is no similar code.
func meantCode(code string) string {
	best := ""
	for known := range codes {
		if slipped(code, known, true) && (best == "" || known < best) {
			best = known
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}

// lowered is the level that a comment gives to a code.
type lowered struct {
	level acap.Severity
	line  int
}

// commentStart begins a comment that gives levels: # acapcrawl: ignore CODE, CODE -- reason
const commentStart = "acapcrawl:"

// commentLevels reads the comments in a robots.txt that give levels to codes. wrong holds findings
// about comments that it cannot read.
func commentLevels(t Text) (out map[string]lowered, wrong []acap.Finding) {
	if t.Kind != RobotsKind && t.Kind != ReferenceKind {
		return nil, nil
	}
	out = map[string]lowered{}
	for i, line := range t.Lines {
		said, ok := speaksToCheck(line)
		if !ok {
			continue
		}
		fault := func(word, hint, format string, args ...any) {
			if len(wrong) == maxTold {
				hint, format, args = "correct the findings before it",
					"there may be more that check does not understand, from here on", nil
			}
			wrong = append(wrong, t.commentFault(i, word, hint, fmt.Sprintf(format, args...)))
		}
		if len(wrong) > maxTold {
			return out, wrong
		}
		verb, _, _ := strings.Cut(said, " ")
		level := acap.Severity(strings.ToLower(verb))
		list, _, _ := strings.Cut(said[len(verb):], "--")
		names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || acap.Blank(r) })
		switch {
		case !slices.Contains([]acap.Severity{Ignored, acap.Notice, acap.Warning}, level):
			fault(verb, "write ignore, notice or warning",
				"a comment to check begins with ignore, notice or warning, not with %q", shortened(verb))
			continue
		case len(names) == 0:
			fault(verb, "name codes, as in duplicate-field, agent-name", "the comment names no code")
		}
		for _, name := range names {
			if len(wrong) > maxTold {
				return out, wrong
			}
			if !Known(name) {
				fault(name, "", "%q is not a code of check%s", shortened(name), meantCode(name))
			} else if had, again := out[name]; !again || rank(level) > rank(had.level) {
				out[name] = lowered{level, i + 1}
			}
		}
	}
	return out, wrong
}

// commentFault returns a finding about a word of line i, counted from 0.
func (t Text) commentFault(i int, word, hint, message string) acap.Finding {
	line, source := t.Lines[i], acap.Robots
	if t.Kind == ReferenceKind {
		source = acap.Referred
	}
	from := strings.IndexByte(line, ':')
	at := from + strings.Index(line[from:], word)
	return acap.Finding{Code: "check-comment", Severity: acap.Warning, Source: source, URL: t.Name, Line: i + 1,
		Column: utf8.RuneCountInString(line[:at]) + 1, Length: max(1, utf8.RuneCountInString(word)),
		Message: message, Hint: hint}
}

// speaksToCheck returns the instruction in a comment that begins with commentStart. ok is false for
// other lines.
func speaksToCheck(line string) (said string, ok bool) {
	comment := strings.TrimLeftFunc(line, acap.Blank)
	if !strings.HasPrefix(comment, "#") {
		return "", false
	}
	comment = strings.TrimLeft(comment, "# \t")
	if len(comment) < len(commentStart) || !strings.EqualFold(comment[:len(commentStart)], commentStart) {
		return "", false
	}
	return strings.Join(strings.Fields(comment[len(commentStart):]), " "), true
}

// rank returns the position of a level in the order from error to Ignored.
func rank(level acap.Severity) int {
	return slices.Index([]acap.Severity{acap.Error, acap.Warning, acap.Notice, Ignored}, level)
}

// Apply gives the findings of the report the levels of the configuration. Then it applies the
// comments in each text, which may only lower the levels of findings about that text. A note for
// each text contains the number of suppressed findings. Call Apply once, after all texts were added
// to the report.
func (r *Report) Apply(levels Levels) {
	var left []acap.Finding
	misspelt := false
	comments, suppressed := map[string]map[string]lowered{}, map[string]map[string]int{}
	for _, t := range r.Texts {
		said, wrong := commentLevels(t)
		comments[t.Name] = said
		r.Findings = append(r.Findings, wrong...)
		misspelt = misspelt || len(wrong) > 0
	}
	for _, f := range r.Findings {
		by := "the configuration"
		if level := levels[f.Code]; level != "" {
			f.Severity = level
		}
		if c, ok := comments[f.URL][f.Code]; ok && f.Code != "check-comment" && rank(c.level) > rank(f.Severity) {
			f.Severity, by = c.level, fmt.Sprintf("the comment in line %d", c.line)
		}
		if f.Severity != Ignored {
			left = append(left, f)
			continue
		}
		if suppressed[f.URL] == nil {
			suppressed[f.URL] = map[string]int{}
		}
		suppressed[f.URL][f.Code+" by "+by]++
	}
	if r.Findings = left; misspelt {
		r.arrange()
	}
	for _, name := range slices.Sorted(maps.Keys(suppressed)) {
		r.noteSuppressed(name, suppressed[name])
	}
}

// noteSuppressed adds a note that says how many findings about a text are suppressed, and whether
// by the configuration or by comments.
func (r *Report) noteSuppressed(name string, suppressed map[string]int) {
	if len(suppressed) == 0 {
		return
	}
	total := 0
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(suppressed)) {
		total += suppressed[what]
		parts = append(parts, fmt.Sprintf("%d %s", suppressed[what], what))
	}
	r.note("%s: suppressed findings: %d (%s)", name, total, strings.Join(parts, ", "))
}
