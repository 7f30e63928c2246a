package arrivals

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Report is what Judge found.
type Report struct {
	Requests int
	Delay    time.Duration // as Judge was called with
	Pairs    int           // pairs of successive requests to the same host
	Shortest time.Duration // the shortest time between the starts of such a pair

	Violations []Violation // in the order of the later request
	Missing    []string    // pages and credits that were never fetched completely
	Repeated   [][]Request // for each page that was requested more than once, its requests
}

// Allow removes the violations for which allowed returns true.
func (r *Report) Allow(allowed func(Violation) bool) {
	r.Violations = slices.DeleteFunc(r.Violations, allowed)
}

// AllowRepeats removes the repeated pages that a failure explains: every request but the last was in
// progress at some moment between from and to. The crawler counts an answer that it has not yet
// stored as in progress, so from must be somewhat earlier than the failure.
func (r *Report) AllowRepeats(from, to time.Time) {
	r.Repeated = slices.DeleteFunc(r.Repeated, func(list []Request) bool {
		return !slices.ContainsFunc(list[:len(list)-1], func(q Request) bool {
			return q.Start.After(to) || !q.End.IsZero() && q.End.Before(from)
		})
	})
}

// Err returns an error that names all violations, missing and repeated pages, and nil if there are
// none.
func (r *Report) Err() error {
	if len(r.Violations)+len(r.Missing)+len(r.Repeated) == 0 {
		return nil
	}
	return errors.New(r.String())
}

// most is how many examples of each kind String lists.
const most = 20

// String returns the whole report as text. Times are relative to the first request that it names.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests, shortest gap %v of %v; %d violations, %d pages missing, %d repeated\n",
		r.Requests, round(r.Shortest), r.Delay, len(r.Violations), len(r.Missing), len(r.Repeated))
	origin := r.origin()
	for i, v := range r.Violations {
		if i == most {
			fmt.Fprintf(&b, "and %d more violations\n", len(r.Violations)-most)
			break
		}
		b.WriteString(v.text(origin))
	}
	for i, url := range r.Missing {
		if i == most {
			fmt.Fprintf(&b, "and %d more missing pages\n", len(r.Missing)-most)
			break
		}
		fmt.Fprintf(&b, "missing: %s\n", url)
	}
	for i, list := range r.Repeated {
		if i == most {
			fmt.Fprintf(&b, "and %d more repeated pages\n", len(r.Repeated)-most)
			break
		}
		fmt.Fprintf(&b, "repeated: %s\n", list[0].URL())
		for _, q := range list {
			fmt.Fprintf(&b, "\t%s\n", q.text(origin))
		}
	}
	return b.String()
}

// origin returns the start of the first request that the report names.
func (r *Report) origin() (first time.Time) {
	earlier := func(q Request) {
		if !q.Start.IsZero() && (first.IsZero() || q.Start.Before(first)) {
			first = q.Start
		}
	}
	for _, v := range r.Violations {
		earlier(v.First)
		earlier(v.Second)
	}
	for _, list := range r.Repeated {
		earlier(list[0])
	}
	return first
}

func (v Violation) text(origin time.Time) string {
	s := fmt.Sprintf("%s: host %s", v.Kind, v.Second.Host)
	if !v.First.Start.IsZero() {
		s += fmt.Sprintf(", %v instead of %v\n\t%s", round(v.Got), v.Want, v.First.text(origin))
	}
	return s + "\n\t" + v.Second.text(origin) + "\n"
}

// String returns the violation with its requests, with times of the day.
func (v Violation) String() string { return v.text(time.Time{}) }

// text returns one line. The times are relative to origin, or times of the day if it is zero.
func (q Request) text(origin time.Time) string {
	show := func(t time.Time) string {
		switch {
		case t.IsZero():
			return "in progress"
		case origin.IsZero():
			return t.Format("15:04:05.000")
		}
		return fmt.Sprintf("+%.3fs", t.Sub(origin).Seconds())
	}
	s := fmt.Sprintf("%s – %s: %s from %s, status %d", show(q.Start), show(q.End), q.Path, q.Client, q.Status)
	if q.retryAfter > 0 {
		s += fmt.Sprintf(", Retry-After %v", q.retryAfter)
	}
	if !q.End.IsZero() && !q.Whole {
		s += ", not answered completely"
	}
	return s
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
