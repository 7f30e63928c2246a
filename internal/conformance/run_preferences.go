package conformance

import (
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
)

// minRestricted is the number of cases in which a newer preference restricts a use that an engine
// must answer, and fail, before it is taken for an engine that knows no newer preferences.
const minRestricted = 7

// DemandsPreferences reports whether a name that Find accepts is that of a document about newer
// preferences, or of a part of one.
func DemandsPreferences(name string) bool {
	return slices.ContainsFunc(documents, func(d Document) bool { return d.Newer && isPrefix(d.Name, name) })
}

// noPreferences is why cases of newer preferences are skipped.
const noPreferences = "the engine knows no newer preferences: in no case did it restrict a use because of one"

// skipPreferences skips the cases that only an engine with newer preferences can answer, if the
// engine shows no sign that it knows them. It is a sign that the engine passes one case in which a
// newer preference restricts a use. A case that got no answer at all remains an error.
func skipPreferences(results []Result) {
	restricted := 0
	for i := range results {
		r := &results[i]
		if !r.Sample.restricts() || r.Outcome == Skipped {
			continue
		}
		if r.Outcome == Passed {
			return
		}
		restricted++
	}
	if restricted < minRestricted {
		return
	}
	for i := range results {
		r := &results[i]
		if r.answered && r.Sample.needsPreferences() {
			r.Outcome, r.Why = Skipped, noPreferences
			r.Differences, r.Got, r.Stderr = nil, nil, ""
		}
	}
}

// needsPreferences reports whether an engine must know newer preferences to answer the case.
func (s *Sample) needsPreferences() bool {
	c := s.Case
	return s.restricts() || slices.ContainsFunc(c.Usages, acap.Usage.Newer) || c.Wants("preferences") ||
		c.Preferences != nil || c.Held != nil || s.expects(func(d map[string]any) bool {
		return d["reason"] == string(acap.ByPreference)
	})
}

// restricts reports whether the expected answer has a use that is not allowed because of a newer
// preference.
func (s *Sample) restricts() bool {
	return s.expects(func(d map[string]any) bool {
		return d["allowed"] == false &&
			(d["reason"] == string(acap.ByPreference) || d["reason"] == string(acap.ByAgreement))
	})
}

// expects reports whether fits returns true for one of the expected decisions.
func (s *Sample) expects(fits func(decision map[string]any) bool) bool {
	decisions, _ := s.Want["decisions"].(map[string]any)
	for _, d := range decisions {
		if d, is := d.(map[string]any); is && fits(d) {
			return true
		}
	}
	return false
}
