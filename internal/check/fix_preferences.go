package check

import (
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// correctPreference returns the edit that corrects a preference in robots.txt: letter case,
// separators, and the words for yes and no.
func (s spot) correctPreference() []Edit {
	name, _, _ := strings.Cut(s.text[s.start:s.end], ":")
	corrected, ok := preference.Corrected(strings.TrimFunc(name, acap.Blank), s.word)
	if !ok || s.finding.Source != acap.Robots {
		return nil
	}
	return s.replace(corrected)
}

// respellLabel returns the edit that corrects the misspelt label of a preference in robots.txt. It
// returns nil if the line has the right label, too.
func (s spot) respellLabel(label string) []Edit {
	if s.finding.Source != acap.Robots || strings.Contains(strings.ToLower(s.text[s.start:s.end]), label+"=") {
		return nil
	}
	value, ok := strings.CutPrefix(strings.ToLower(s.text[s.to:s.end]), "=")
	if ok && slipped(s.word, label, strings.HasPrefix(value, "n")) {
		return s.replace(label)
	}
	return nil
}

// correctFile returns the edit that corrects a tdmrep.json or a licence document without changing
// what it says: blanks instead of commas, a number instead of a string, and a missing slash.
func (s spot) correctFile() []Edit {
	said, ok := meant(s.finding.Hint, "write ", "")
	quoted := s.start < s.from && s.to < s.end && s.text[s.from-1] == s.text[s.to] &&
		strings.Contains(`"'`, s.text[s.to:s.to+1])
	switch s.finding.Code {
	case "comma-separated":
		words := strings.FieldsFunc(s.word, func(r rune) bool { return r == ',' || acap.Blank(r) })
		if said == strings.Join(words, " ") && !strings.ContainsAny(s.word, "<&") {
			return s.replace(said)
		}
	case "quoted-number":
		if s.word == `"`+said+`"` {
			return s.replace(said)
		}
	case "rule-without-slash":
		if ok && quoted && said == "/"+s.word {
			return []Edit{{s.from, s.from, "/"}}
		}
	}
	return nil
}
