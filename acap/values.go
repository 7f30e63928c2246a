package acap

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// countedTimeLimits returns the time limits that are used. Next to other limits, plus-terms is
// ignored (P1 2.5.3.1, H08); of the other limits, only the first two are used (P1 2.5.3.1, H12).
func countedTimeLimits(values []string) []string {
	var rest []string
	for _, v := range values {
		if !isPlus(v) {
			rest = append(rest, v)
		}
	}
	if len(rest) == 0 {
		// P1 2.5.3.1 (X46): plus-terms is used if it is the only limit, even if it is repeated; a
		// malformed second limit makes the permission a prohibition
		return values[:1]
	}
	return rest[:min(2, len(rest))]
}

// maxDays is the greatest number of days in a time limit that a time.Time can express (P1 2.5.5.4,
// X26).
const maxDays = 3_000_000

// readTimeLimit reads the values of time-limit (P1 2.5.3.1). The day of until-yyyy-mm-dd is the
// last permitted day in UTC (H02).
func readTimeLimit(r *restrictions, values []string, _ bool) string {
	for _, v := range values {
		v = strings.ToLower(v)
		switch {
		case v == plusValue: // P1 2.5.3.1 (X32): only images can contain licence terms
			r.plus |= plusEnd
		case v == "until-recrawled" || v == "until-recrawl": // P1 2.4.1.2 (H01): until-recrawl means until-recrawled
			r.recrawled = true // repeating until-recrawled changes nothing
		case strings.HasPrefix(v, "until-"):
			date := strings.TrimPrefix(v, "until-")
			day, err := time.Parse("2006-01-02", date)
			if err != nil { // P1 2.5.3.1 (H10): a date that does not exist or has another form cannot be interpreted
				return fmt.Sprintf("%q is not a date yyyy-mm-dd", date)
			}
			if r.hasUntil { // P1 2.5.3.1 (H07): of two dates, the first is used
				r.notes = append(r.notes, ignored("time-limit="+v, "time-limit"))
				continue
			}
			// P1 2.5.3.1 (H02, X03): the usage is permitted on the date itself, so the limit ends
			// when the next day begins, in UTC
			r.hasUntil, r.until = true, day.AddDate(0, 0, 1)
		case strings.HasSuffix(v, "-days"):
			n, ok := digits(strings.TrimSuffix(v, "-days"))
			// P1 2.5.3.1 (H03): the number of days has only digits; zero days permit nothing, and a
			// huge number does not overflow
			if !ok {
				return fmt.Sprintf("%q is not a number of days", v)
			}
			if r.hasDays { // P1 2.5.3.1 (H07): of two limits of the same kind, the first is used
				r.notes = append(r.notes, ignored("time-limit="+v, "time-limit"))
				continue
			}
			if n > maxDays { // P1 2.5.5.4 (X26): a huge number is reduced to the greatest possible one
				r.notes = append(r.notes, clamped("time-limit="+v, maxDays))
			}
			r.hasDays, r.days = true, min(n, maxDays)
		default:
			return fmt.Sprintf("%q is none of until-recrawled, until-yyyy-mm-dd, n-days", v)
		}
	}
	return ""
}

func clamped(token string, n int) note {
	return note{"clamped-value", Notice, token, "the number is read as " + strconv.Itoa(n),
		"leave the qualifier out where nothing is limited"}
}

// digits parses one or more digits. A number that does not fit int64 becomes the greatest int64 (P1
// 2.5.5.4, X26).
func digits(s string) (int64, bool) {
	if s == "" {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		n = 1<<63 - 1
	}
	return n, true
}

// readMaxLength reads the values of max-length, in characters or words (P1 2.5.5.4).
func readMaxLength(r *restrictions, values []string, _ bool) string {
	v := strings.ToLower(values[0])
	for suffix, to := range map[string]**int{"-chars": &r.maxChars, "-words": &r.maxWords} {
		if number, ok := strings.CutSuffix(v, suffix); ok {
			n, ok := digits(number)
			if !ok {
				break
			}
			if n > 1<<31-1 { // P1 2.5.5.4 (X26): a huge number is reduced to the greatest possible one
				r.notes = append(r.notes, clamped("max-length="+v, 1<<31-1))
			}
			m := int(min(n, 1<<31-1))
			*to = &m
			return ""
		}
	}
	return fmt.Sprintf("%q is neither n-chars nor n-words", v)
}

func newModification(v string) bool {
	m, _ := modificationNamed(strings.ToLower(v))
	return m.newer || isPlus(v)
}

// countedModifications returns the values of prohibited-modification that are used. Next to "any"
// or plus-terms, all other values are ignored (P1 2.5.5.5, K01).
func countedModifications(values []string) []string {
	var rule []string
	for _, v := range values {
		if strings.EqualFold(v, "any") || isPlus(v) {
			rule = append(rule, v)
		}
	}
	if rule != nil {
		return rule
	}
	return values
}

func readModification(r *restrictions, values []string, _ bool) string {
	for _, v := range values {
		v = strings.ToLower(v)
		// P1 2.5.3.1 (X32): only images can contain licence terms; P1 2.5.5.5 (K01): next to "any",
		// other values are ignored, but plus-terms that cannot be read make the permission a
		// prohibition
		if v == plusValue {
			r.plus |= plusAlterations
			continue
		}
		if _, known := modificationNamed(v); !known {
			return fmt.Sprintf("%q is not a kind of modification", v)
		}
		r.mods = appendNew(r.mods, v)
	}
	r.prevents = prevented(r.mods)
	return ""
}

func readProhibitedContext(r *restrictions, values []string, _ bool) string {
	v := strings.ToLower(values[0])
	if v != withinUser {
		return fmt.Sprintf("%q is not %s", v, withinUser)
	}
	r.prohibited = appendNew(r.prohibited, v)
	return ""
}

func readRequiredContext(r *restrictions, values []string, _ bool) string {
	v := strings.ToLower(values[0])
	if v != withinOriginal && v != withinUser {
		return fmt.Sprintf("%q is neither %s nor %s", v, withinOriginal, withinUser)
	}
	r.required = appendNew(r.required, v)
	return ""
}

// readLocation reads all values of location. The page may be at any of these locations (P2 2.2.9.1,
// M02).
func readLocation(r *restrictions, values []string, _ bool) string {
	for _, v := range values {
		u, ok := absoluteURL(v)
		if !ok {
			return fmt.Sprintf("%q is not an absolute http or https URI", v)
		}
		r.locations = append(r.locations, location{text: v, normal: NewResource(u).URL})
	}
	return ""
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}
