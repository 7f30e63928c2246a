package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// LimitWords returns each limit as one line. date formats times.
func LimitWords(l acap.Limits, date func(time.Time) string) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	each := func(begin string, values []string, words func(string) string) {
		for _, value := range values {
			out = append(out, begin+words(value))
		}
	}
	if !l.Until.IsZero() {
		add("until %s", date(l.Until))
	}
	if l.UntilRecrawled {
		add("until it is crawled again")
	}
	if l.MaxChars != nil {
		add("at most %d characters", *l.MaxChars)
	}
	if l.MaxWords != nil {
		add("at most %d words", *l.MaxWords)
	}
	each("made only from ", l.MustUse, usedWords)
	each("shown only with ", l.MustInclude, includedWords)
	if len(l.ProhibitedModification) > 0 {
		add("without modification of %s", strings.Join(l.ProhibitedModification, ", "))
	}
	each("not within ", l.ProhibitedContext, contextWords)
	each("only within ", l.RequiredContext, contextWords)
	each("", l.Target, targetWords)
	if len(l.Location) > 0 {
		add("only at %s", strings.Join(l.Location, ", "))
	}
	each("terms of other uses: ", l.UsageRef, usedWords)
	return out
}

// contextWords returns a value of required-context or prohibited-context in words (P1 2.5.5.7, 2.5.5.8).
func contextWords(value string) string {
	switch value {
	case "within-user-frame": // K05: the frame of the archive that shows the page
		return "a frame of the archive"
	case "within-original-frame":
		return "what surrounds it on its own site"
	}
	return value
}

// targetWords returns a condition on the reader in words: "only for readers in GB, IE" (P1 2.5.5.9).
func targetWords(condition string) string {
	kind, list, _ := strings.Cut(condition, ":")
	list = strings.ReplaceAll(list, ",", ", ")
	switch kind {
	case "permittedcountrylist":
		return "only for readers in " + strings.ToUpper(list)
	case "prohibitedcountrylist":
		return "not for readers in " + strings.ToUpper(list)
	case "permitteddomainlist":
		return "only for readers in the domains " + list
	case "prohibiteddomainlist":
		return "not for readers in the domains " + list
	case "ipaddressrangelist":
		return "only for readers with an IP address in " + list
	case "ipaddressmasklist": // an address and a mask whose one bits may differ
		return "only for readers with an IP address that matches " + list
	}
	return "only for readers who meet " + condition
}
