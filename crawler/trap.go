package crawler

import (
	"fmt"
	"net/url"
	"strings"
)

// Bounds of what is taken for an address that somebody meant to publish. They are wide: what they
// let pass is bounded by how many addresses of a host are noted.
const (
	maxSegments = 30 // of a path
	maxInRow    = 2  // times a run of segments follows itself
	maxTimes    = 4  // one segment in a path
	// the same of numbers and of segments of one or two characters, as map tiles and stores of
	// files have them
	maxWeakInRow  = 5
	maxWeakTimes  = 12
	maxQuery      = 2000 // octets
	maxSameName   = 25   // parameters of one name
	maxSamePair   = 2    // of one name and value
	maxParameters = 100
)

// trap says in a sentence why an address in normal form is taken for one of endlessly many that a
// program makes up from each other: relative links that lengthen the path, parameters that are
// appended again and again, addresses within addresses. It is "" for all others.
func trap(u *url.URL) (why string) {
	path := u.EscapedPath()
	if strings.Count(path, "/") > 2 {
		if why = trapPath(path); why != "" {
			return why
		}
	}
	if len(u.RawQuery) > 0 {
		return trapQuery(u.RawQuery)
	}
	return ""
}

func trapPath(path string) string {
	var room [maxSegments]string
	segments := room[:0]
	for segment := range strings.SplitSeq(strings.TrimSuffix(path[1:], "/"), "/") {
		if len(segments) == maxSegments {
			return fmt.Sprintf("a trap: the path has more than %d segments", maxSegments)
		}
		segments = append(segments, segment)
	}
	for i, s := range segments {
		times := 0
		for _, other := range segments[i:] {
			if s == other {
				times++
			}
		}
		if times > maxTimes && (!weak(s) || times > maxWeakTimes) {
			return fmt.Sprintf("a trap: %.40q stands %d times in the path", s, times)
		}
	}
	for period := 1; period <= len(segments)/(maxInRow+1); period++ {
		if run := repeated(segments, period); run != nil {
			return fmt.Sprintf("a trap: the path repeats %.80q", strings.Join(run, "/"))
		}
	}
	return ""
}

// repeated is a run of that many segments which follows itself more often than pages have reason
// to, nil for none.
func repeated(segments []string, period int) []string {
	same := 0 // segments that equal those one period before
	for i := period; i < len(segments); i++ {
		if segments[i] != segments[i-period] {
			same = 0
			continue
		}
		same++
		run := segments[i-period+1 : i+1]
		limit := maxInRow
		if allWeak(run) {
			limit = maxWeakInRow
		}
		if same >= limit*period {
			return run
		}
	}
	return nil
}

func allWeak(segments []string) bool {
	for _, s := range segments {
		if !weak(s) {
			return false
		}
	}
	return true
}

// weak segments are short or numbers: that they repeat says little.
func weak(segment string) bool {
	return len(segment) <= 2 || strings.Trim(segment, "0123456789") == ""
}

func trapQuery(query string) string {
	if len(query) > maxQuery {
		return fmt.Sprintf("a trap: the query is longer than %d octets", maxQuery)
	}
	// Each address in a parameter of another is encoded once more than that.
	if strings.Contains(query, "%252525") {
		return "a trap: the query holds an address within an address within an address"
	}
	if strings.Count(query, "&") < maxSamePair {
		return ""
	}
	names, pairs, all := map[string]int{}, map[string]int{}, 0
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		all++
		names[name]++
		if value != "" { // forms send every field that is left empty
			pairs[pair]++
		}
		switch {
		case pairs[pair] > maxSamePair:
			return fmt.Sprintf("a trap: the query repeats %.60q", pair)
		case names[name] > maxSameName:
			return fmt.Sprintf("a trap: more than %d parameters of the query are named %.40q", maxSameName, name)
		case all > maxParameters:
			return fmt.Sprintf("a trap: the query has more than %d parameters", maxParameters)
		}
	}
	return ""
}
