package crawler

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/defect"
)

// maxTries is the number of visits in one run to an address that does not answer, or answers with
// 408, 429 or 5xx. After that the address counts as failed, and is due again in the next run.
const maxTries = 4

// outcome is how a visit ended, with details that the report of the run contains.
type outcome struct {
	End
	decision acap.Decision // the decision that refused a request, if any
	// the take-down because of which the visit was refused or nothing is archived; nil if there is
	// none
	down   *acap.Field
	broken *defect.Error // the panic that ended the visit, or nil
}

// outcomeOf returns how the visit of the address visited, leased as l, ended. hops are its
// requests, err is its error. It is not called for a visit that ended because the page limit was
// reached.
func outcomeOf(l *Lease, visited string, hops []gate.Hop, err error, now time.Time) outcome {
	o := outcome{End: End{Asked: lastAsked(l, hops), State: Fetched}}
	if len(hops) > 0 {
		last := hops[len(hops)-1]
		o.Status = last.Status
		if host, err := address.Host(last.URL); err == nil && host == l.Host {
			o.Took = last.Took
		}
		if last.URL != visited {
			o.Final = last.URL
		}
	}
	var refusal *gate.Refusal
	switch {
	case errors.As(err, &refusal):
		o.refuse(refusal, visited)
	case err != nil:
		o.fail(withoutURL(err), now)
	case again(o.Status):
		last := hops[len(hops)-1]
		o.Trouble = o.Status == http.StatusTooManyRequests || o.Status == http.StatusServiceUnavailable
		o.Rest = gate.RetryAfter(last.Header, now)
		o.State, o.Why = Failed, fmt.Sprintf("%s answered with status %d", last.URL, o.Status)
	case o.Status == http.StatusPartialContent: // no request asks for a part
		o.State, o.Why = Failed, hops[len(hops)-1].URL+" answered with a part of a page (206)"
	}
	moved := errors.Is(err, gate.ErrForeign)
	// other failures are permanent and are not retried
	if o.State == Failed && (err == nil && again(o.Status) || o.Trouble || moved) {
		o.retry(l.Tries+1, now)
	}
	return o
}

// refuse records in o that the gate refused a request. visited is the address of the visit.
func (o *outcome) refuse(r *gate.Refusal, visited string) {
	o.State, o.Why, o.down = Refused, r.Error(), r.TakeDown
	if r.Rule == gate.RuleLease { // says nothing about the address
		o.State = Failed
		return
	}
	if r.Rule == "" {
		o.decision = r.Decision
		if r.Decision.Reason == acap.Unavailable {
			o.State = Unreachable
			return
		}
	}
	if at, err := address.Normal(r.URL); err == nil && at != visited {
		o.Led = at
	}
}

// fail records in o that the visit ended with err, an error of the network or of the response.
func (o *outcome) fail(err error, now time.Time) {
	o.State = Failed
	if errors.Is(err, errRedirects) {
		o.Why = err.Error()
		return
	}
	o.Asked = now // the time of the request is unknown; the current time is later than the request
	o.Why = fmt.Sprintf("the answer cannot be read: %v", err)
	if o.Trouble = gate.IsNetworkError(err); o.Trouble {
		o.Why = fmt.Sprintf("no answer: %v", err)
	}
}

// retry makes the address due again, in this run if tries is less than maxTries, otherwise in a
// later run.
func (o *outcome) retry(tries int, now time.Time) {
	if tries < maxTries {
		o.State, o.Retry = Queued, o.Rest
		return
	}
	o.Why += fmt.Sprintf(" (%d times)", tries)
	o.Again = later(o.Rest, now)
}

// final returns the last hop of the redirect chain, or "" if the address does not redirect.
func (o *outcome) final() string { return cmp.Or(o.Led, o.Final) }

// withoutURL removes the wrapper of http.Client from an error, which repeats the address.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// lastAsked returns the start time of the last request to the host of l.
func lastAsked(l *Lease, hops []gate.Hop) (t time.Time) {
	for _, h := range hops {
		if host, err := address.Host(h.URL); err == nil && host == l.Host {
			t = later(t, h.Start)
		}
	}
	return t
}

// again reports whether a response with this status asks the client to retry later.
func again(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}
