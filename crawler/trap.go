package crawler

import (
	"fmt"
	"net/url"
	"strings"
)

// The limits beyond which an address is taken for a crawler trap. They are generous, because
// FrontierOptions.MaxHost limits the addresses that still pass.
const (
	maxSegments = 30 // segments in a path
	maxInRow    = 2  // how often in a row a group of segments may occur
	maxTimes    = 4  // how often one segment may occur in a path
	// Higher limits for numbers and for segments of one or two characters, because paths of map
	// tiles and of file stores repeat them.
	maxWeakInRow  = 5
	maxWeakTimes  = 12
	maxQuery      = 2000 // octets of a query
	maxSameName   = 25   // how often the same parameter name may occur in one query
	maxSamePair   = 2    // how often the same name and value may occur in one query
	maxParameters = 100
)

// trap returns the reason, as a sentence, why an address in normal form is taken for a crawler
// trap, or "" if it is not. A program can generate such addresses without end: relative links that
// lengthen the path, parameters that are added again and again, addresses within addresses.
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
			return fmt.Sprintf("a trap: %.40q occurs %d times in the path", s, times)
		}
	}
	for period := 1; period <= len(segments)/(maxInRow+1); period++ {
		if run := repeated(segments, period); run != nil {
			return fmt.Sprintf("a trap: the path repeats %.80q", strings.Join(run, "/"))
		}
	}
	return ""
}

// repeated returns a group of segments that is repeated in a row more often than the limit, or nil
// if there is none. period is the number of segments in a group.
func repeated(segments []string, period int) []string {
	same := 0 // number of successive segments that equal the segment period places before
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

// weak reports whether a segment is short or a number. Paths that are no traps repeat such
// segments.
func weak(segment string) bool {
	return len(segment) <= 2 || strings.Trim(segment, "0123456789") == ""
}

func trapQuery(query string) string {
	if len(query) > maxQuery {
		return fmt.Sprintf("a trap: the query is longer than %d octets", maxQuery)
	}
	// each time an address is put into a parameter of another address, percent signs are encoded
	// once more
	if strings.Contains(query, "%252525") {
		return "a trap: the query contains an address within an address within an address"
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
		// an empty value is no sign of a trap: forms send empty fields, often several with the same
		// name
		if value != "" {
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
