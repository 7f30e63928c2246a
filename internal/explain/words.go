package explain

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// Answer returns the decision in words: permitted, needs an agreement, or prohibited.
func Answer(d acap.Decision) string {
	switch {
	case d.Allowed:
		return "permitted"
	case d.Reason == acap.ByAgreement:
		return "needs an agreement"
	}
	return "prohibited"
}

// Declares returns in words which version of ACAP the robots.txt of the origin declares.
func (e *Explanation) Declares() string {
	version := "it declares no version of ACAP"
	if v := e.Origin.Robots.Version(); v != "" {
		version = "ACAP " + v
	}
	if e.Origin.Robots.IgnoreConventional() {
		version += "; conventional records are ignored"
	}
	return version
}

// Reason returns in words the kind of rule that decided.
func Reason(d acap.Decision) string {
	words := reasonWords(d)
	if d.Reason == acap.ByTarget {
		return words
	}
	if d.For != "" {
		words = fmt.Sprintf("pages are collected for %s, which is not allowed: %s", d.For, words)
	}
	if d.Note != "" {
		words += " (" + d.Note + ")"
	}
	if d.Terms != "" {
		words += "; the terms: " + d.Terms
	}
	return words
}

// reasonWords returns Reason without details.
func reasonWords(d acap.Decision) string {
	switch {
	case d.Reason == acap.ByTarget:
		return d.Note
	case d.Reason == acap.Conventional && d.Allowed:
		return "this conventional rule permits it"
	case d.Reason == acap.Conventional:
		return "this conventional rule prohibits it"
	case d.Reason == acap.ByProhibition && d.Note != "" && !strings.HasPrefix(d.Note, redirects):
		return "this permission cannot be complied with"
	}
	return map[acap.Reason]string{
		acap.ByPermission:  "this permission decides",
		acap.ByProhibition: "this prohibition decides",
		acap.ByDefault:     "nothing is said about it",
		acap.ByOther:       "this prohibition covers usages of which nothing else is said",
		acap.ByConflict: "permissions and prohibitions both match, and none is more specific; this prohibition " +
			"decides",
		acap.ByFallback:    "this field is partly unsupported, and counts as a prohibition",
		acap.ByExpiry:      "the time limit of this permission has passed",
		acap.ByLocation:    "the page is not where this permission says",
		acap.ByHeader:      "this header restricts it",
		acap.ByMeta:        "this tag restricts it",
		acap.ByPreference:  "this preference decides",
		acap.ByAgreement:   "this requires an agreement first",
		acap.Unavailable:   "its policy could not be read",
		acap.Unfulfillable: "this permission requires something that is not available",
	}[d.Reason]
}

// Place returns where the field f is: URL, line and column. Instead of the URL it returns only the
// path if at has the same origin. at may be empty.
func Place(f *acap.Field, at string) string {
	where := whereOf(f, at)
	switch {
	case f.Source == acap.Request:
		return PlaceWords(f, at)
	case f.Source == acap.Header:
		return where + ": header"
	case f.Line == 0: // a tag whose line is not known
		return where
	}
	return fmt.Sprintf("%s:%d:%d", where, f.Line, f.Column)
}

// whereOf returns the URL of the document of f, or only its path if at has the same origin.
func whereOf(f *acap.Field, at string) string {
	a, err := url.Parse(f.URL)
	b, err2 := url.Parse(at)
	if err == nil && err2 == nil && a.Scheme == b.Scheme && a.Host == b.Host {
		return a.RequestURI() + afterScripts(f)
	}
	return f.URL + afterScripts(f)
}

// afterScripts says that the line of f is one of the document that the scripts of the page made.
func afterScripts(f *acap.Field) string {
	if f.Scripted {
		return " (after its scripts)"
	}
	return ""
}

// PlaceWords returns the place of the field f in words, for pages: "robots.txt, line 12". It names the document by
// its file name if at has the same origin, and calls the document at at "the page". at may be empty.
func PlaceWords(f *acap.Field, at string) string {
	where := whereOf(f, at)
	if f.URL == at {
		where = "the page" + afterScripts(f)
	} else if len(where) > 1 {
		where = strings.TrimPrefix(where, "/")
	}
	switch {
	case f.Source == acap.Request: // the number of a request in the ledger
		return fmt.Sprintf("request %d", f.Line)
	case f.Source == acap.Header:
		return "a header of " + where
	case f.Line == 0: // a tag whose line is not known
		return where
	}
	return fmt.Sprintf("%s, line %d", where, f.Line)
}

// Written returns a field as the publisher wrote it.
func Written(f *acap.Field) string {
	switch f.Source {
	case acap.Meta:
		return "META " + f.Text
	case acap.Class:
		return "class " + f.Text
	}
	return f.Text
}

// shortly returns a short name for the field f in a text about the field at: for example only the
// line if both fields are in the same file.
func shortly(f, at *acap.Field) string {
	switch {
	case f.Source == acap.Header:
		return "the header " + f.Text
	case f.Source == acap.Class:
		return fmt.Sprintf("the class on line %d of the page%s", f.Line, afterScripts(f))
	case f.URL == at.URL && f.Scripted == at.Scripted:
		return fmt.Sprintf("line %d", f.Line)
	case f.Source == acap.Meta && f.Line > 0:
		return fmt.Sprintf("line %d of the page%s", f.Line, afterScripts(f))
	}
	return PlaceWords(f, at.URL)
}

// Effect returns why a competing field did not decide, or that it applies too.
func Effect(v acap.Rival) string {
	words := ""
	switch {
	case v.Outcome == acap.Loses && v.Over != nil:
		words = "overruled by " + shortly(v.Over, v.Field) + ": "
	case v.Outcome == acap.Loses:
		words = "overruled: "
	case v.Outcome == acap.Binds:
		words = "applies too: "
	}
	words += v.Why
	if v.Rule != "" {
		words += " (" + v.Rule + ")"
	}
	return words
}

// Aside reports whether a competing field about other usages may be left out: it does not change the
// answer a, which is a refusal anyway.
func Aside(a Explained, v acap.Rival) bool {
	return v.Usage == acap.Other && a.Usage != acap.Other && !a.Decision.Allowed && v.Outcome == acap.Loses
}

// Limit is one limit of a permitted usage in words.
type Limit struct {
	Words string
	By    []*acap.Field // the fields that set it; nil if the deciding field sets it
}

// LimitsOf returns each limit of an answer, in the order of the fields that set them, and what the
// limits prevent. date formats times.
func LimitsOf(a Explained, date func(time.Time) string) (list []Limit) {
	at, deciding := map[string]int{}, map[string]bool{}
	for _, bound := range a.Bounds {
		for _, words := range LimitWords(bound.Limits, date) {
			i, known := at[words]
			if !known {
				i = len(list)
				at[words], list = i, append(list, Limit{Words: words})
			}
			if because := a.Decision.Because; because != nil && *bound.Field == *because {
				deciding[words] = true
			}
			list[i].By = append(list[i].By, bound.Field)
		}
	}
	for i := range list {
		if deciding[list[i].Words] {
			list[i].By = nil
		}
	}
	for _, words := range present.Forgone(a.Decision) {
		list = append(list, Limit{Words: words})
	}
	return list
}
