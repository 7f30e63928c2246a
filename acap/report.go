package acap

import (
	"fmt"
	"unicode/utf8"
)

// Bounds on what is told of one text, so that a hostile one costs no more than an honest one: findings in all, hints among
// them, names that a hint chooses from, and bytes of a word that is quoted.
const (
	maxFindings = 1000
	maxHints    = 50
	maxNames    = 100
	maxQuote    = 200
)

// reporter collects findings, each once.
type reporter struct {
	findings []Finding
	seen     map[Finding]bool
	hints    int
}

func (r *reporter) full() bool { return len(r.findings) >= maxFindings }

// report notes what is wrong with a field.
func (r *reporter) report(f *Field, code string, sev Severity, hint, format string, args ...any) {
	if len(r.findings) > maxFindings {
		return
	}
	if r.full() {
		r.findings = append(r.findings, finding(f, "too-many-findings", Error, "mend those before it", "there is more to say from here on than is told"))
		return
	}
	fi := finding(f, code, sev, hint, format, args...)
	if r.seen[fi] {
		return
	}
	if r.seen == nil {
		r.seen = map[Finding]bool{}
	}
	r.seen[fi] = true
	r.findings = append(r.findings, fi)
}

func finding(f *Field, code string, sev Severity, hint, format string, args ...any) Finding {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = clip(s)
		}
	}
	return Finding{Code: code, Severity: sev, Source: f.Source, URL: f.URL, Line: f.Line, Column: f.Column,
		Message: fmt.Sprintf(format, args...), Hint: clip(hint)}
}

// clip shortens a long word at a whole character.
func clip(s string) string {
	if len(s) <= maxQuote {
		return s
	}
	end := maxQuote
	for end > maxQuote-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// near gives a hint that names the known word closest to s, or none where nothing is close.
func (r *reporter) near(s string, known func() []string) string {
	if r.full() || r.hints >= maxHints {
		return ""
	}
	r.hints++
	return nearest(s, known())
}

func nearest(s string, known []string) string {
	best, distance := "", 1+len(s)/3
	for _, k := range known {
		if d := editDistance(s, k, distance); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// editDistance counts insertions, deletions and changes, up to limit.
func editDistance(a, b string, limit int) int {
	if len(a) > 64 || len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var rows [128]int
	row := rows[:len(b)+1]
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, change)
			least = min(least, row[j])
		}
		if least >= limit {
			return limit
		}
	}
	return row[len(b)]
}
