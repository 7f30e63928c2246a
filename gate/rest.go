package gate

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRest is the longest pause that a Retry-After field can cause.
const maxRest = 24 * time.Hour

// RetryAfter returns the time that the field Retry-After names (RFC 9110 10.2.3), at most 24 hours
// after now. It returns zero if there is none.
func RetryAfter(h http.Header, now time.Time) time.Time {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return time.Time{}
	}
	t, err := http.ParseTime(v)
	if seconds, serr := strconv.ParseUint(v, 10, 31); serr == nil {
		t, err = now.Add(time.Duration(seconds)*time.Second), nil
	}
	if err != nil || t.Before(now) {
		return time.Time{}
	}
	if most := now.Add(maxRest); t.After(most) {
		return most
	}
	return t
}

// observe notes that the host asks for a pause, if resp says so.
func (v *visit) observe(resp *http.Response) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return
	}
	until := RetryAfter(resp.Header, time.Now())
	v.name.mu.Lock()
	defer v.name.mu.Unlock()
	if until.After(v.name.rest) {
		v.name.rest = until
	}
}

// resting returns how long the pause lasts for which the host has asked.
func (h *host) resting() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rest.IsZero() {
		return 0
	}
	return time.Until(h.rest)
}

// waitFor returns how long a request of a kind must wait. It waits for a pause of at most
// MaxCrawlDelay for which the host or Options.Held asks. During a longer one, policy files are
// requested, because they may contain take-downs; for other requests waitFor returns an error, which
// IsNetworkError accepts.
func (v *visit) waitFor(kind Kind) (time.Duration, error) {
	rest := v.name.resting()
	if held := v.hs.held(v.key); !held.IsZero() {
		rest = max(rest, time.Until(held))
	}
	switch {
	case rest <= MaxCrawlDelay:
		return max(v.wait(), rest), nil
	case kind == PolicyFile:
		return v.wait(), nil
	}
	return 0, reportedError{fmt.Sprintf("the host asks not to be requested for %s", rest.Round(time.Second)),
		networkFailure{}}
}
