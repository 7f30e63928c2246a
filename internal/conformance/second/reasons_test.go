package second

import (
	"fmt"
	"slices"
)

// compareReasons compares what newer vocabularies decide: the reason, the line and the terms, and
// the verdict of each vocabulary.
func (q *question) compareReasons(theirs, mine *answer) string {
	for _, u := range q.Usages {
		if _, answered := theirs.Decisions[u]; !answered {
			return u + ": the engine does not answer"
		}
	}
	for _, u := range sortedKeys(theirs.Decisions) {
		a, b := theirs.Decisions[u], mine.Decisions[u]
		if !ofPreferences(a.Reason) && !ofPreferences(b.Reason) || q.Purposes != nil && len(*q.Purposes) > 1 {
			continue
		}
		if a.Reason != b.Reason {
			return fmt.Sprintf("%s: reason, engine %s, second %s", u, text(a), text(b))
		}
		if s := b.by.unlike(a.Because, a.Terms); s != "" {
			return fmt.Sprintf("%s: %s, engine %s", u, s, text(a))
		}
	}
	if !slices.Contains(q.Want, "preferences") {
		return ""
	}
	for _, u := range append(newer(), "search") {
		a, b := theirs.Preferences[u], mine.Preferences[u]
		if _, ok := a.By["acap"]; ok && u == "search" {
			delete(a.By, "acap")
			a.Verdict = b.Verdict
		}
		if a.Verdict != b.Verdict || !slices.Equal(sortedKeys(a.By), sortedKeys(b.By)) {
			return fmt.Sprintf("preferences %s: verdict, engine %s, second %s", u, text(a), text(b))
		}
		for _, name := range sortedKeys(a.By) {
			if a.By[name].Verdict != b.By[name].Verdict {
				return fmt.Sprintf("preferences %s: verdict of %s, engine %s, second %s", u, name, text(a), text(b))
			}
			if s := b.By[name].by.unlike(a.By[name].Because, a.By[name].Terms); s != "" && name != "acap" {
				return fmt.Sprintf("preferences %s: %s %s, engine %s", u, name, s, text(a))
			}
		}
	}
	return ""
}

func ofPreferences(reason string) bool { return reason == "preference" || reason == "agreement" }

// unlike describes how the line and the terms of the first engine differ from all that may be named
// for an opinion.
func (o *opinion) unlike(at *because, terms string) string {
	if o == nil {
		return ""
	}
	if at == nil || !slices.ContainsFunc(o.because, at.is) {
		return fmt.Sprintf("because, second %s", text(o.because))
	}
	if o.stance != agreement && terms != "" {
		return "terms without an agreement"
	}
	if o.stance == agreement && !slices.Contains(o.terms, terms) && !slices.Contains(o.terms, "") {
		return fmt.Sprintf("terms, second %s", text(o.terms))
	}
	return ""
}

// is reports whether a line is the one that may be named. Empty fields of that match anything.
func (b *because) is(that because) bool {
	return (that.Source == "" || that.Source == b.Source) && (that.URL == "" || that.URL == b.URL) &&
		(that.Line == 0 || that.Line == b.Line) && b.Field != ""
}
