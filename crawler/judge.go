package crawler

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/address"
	"github.com/acapcrawl/acapcrawl/defect"
	"github.com/acapcrawl/acapcrawl/gate"
)

// maxTries limits the visits in one run to an address that does not answer, or answers with 429 or
// 5xx. After that it counts as failed, and is due again in the next run.
const maxTries = 4

// maxRetryAfter bounds what a Retry-After can ask for.
const maxRetryAfter = 24 * time.Hour

// outcome is how a visit ended, with what the run reports of it.
type outcome struct {
	End
	decision acap.Decision // that refused, if one did
	down     *acap.Field   // the take-down that is in force: it refused, or nothing is archived for it
	broken   *defect.Error // the panic that ended the visit
}

// outcomeOf returns how a visit of visited, leased as l, ended, from its hops and its error. It is
// not called for a visit that the page budget ended.
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
		o.fail(plain(err), now)
	case again(o.Status):
		last := hops[len(hops)-1]
		o.Trouble = o.Status == http.StatusTooManyRequests || o.Status == http.StatusServiceUnavailable
		o.Rest = retryAfter(last.Header, now)
		o.State, o.Why = Failed, fmt.Sprintf("%s answered with status %d", last.URL, o.Status)
	}
	if o.State == Failed && (err == nil || o.Trouble) { // what can never succeed is not tried again
		o.retry(l.Tries+1, now)
	}
	return o
}

// refuse records that the gate did not send a request of the visit of visited.
func (o *outcome) refuse(r *gate.Refusal, visited string) {
	o.State, o.Why, o.down = Refused, r.Error(), r.TakeDown
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

// fail records an error of the network or of the answer.
func (o *outcome) fail(err error, now time.Time) {
	o.State = Failed
	if errors.Is(err, errRedirects) {
		o.Why = err.Error()
		return
	}
	o.Asked = now // the time of the request is not known; this is later
	o.Why = fmt.Sprintf("no answer that can be read: %v", err)
	if o.Trouble = trouble(err); o.Trouble {
		o.Why = fmt.Sprintf("no answer: %v", err)
	}
}

// retry has the address visited again in this run or, after that many tries, by a later one.
func (o *outcome) retry(tries int, now time.Time) {
	if tries < maxTries {
		o.State, o.Retry = Queued, o.Rest
		return
	}
	o.Why += fmt.Sprintf(" (%d times)", tries)
	o.Again = later(o.Rest, now)
}

// final is the hop at which it was decided, "" for the address itself.
func (o *outcome) final() string { return cmp.Or(o.Led, o.Final) }

// trouble reports whether an error is of the network, which may be better another time. A name that
// does not exist will not.
func trouble(err error) bool {
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound {
		return false
	}
	var network net.Error
	var system syscall.Errno
	var plaintext tls.RecordHeaderError
	var alert tls.AlertError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &network) || errors.As(err, &system) || errors.As(err, &plaintext) || errors.As(err,
		&alert) ||
		errors.As(err, &certificate) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded)
}

// plain takes off what http.Client puts around an error, which says the address once more.
func plain(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// lastAsked returns the start of the last request to the host of the lease.
func lastAsked(l *Lease, hops []gate.Hop) (t time.Time) {
	for _, h := range hops {
		if host, err := address.Host(h.URL); err == nil && host == l.Host {
			t = later(t, h.Start)
		}
	}
	return t
}

// again reports whether an answer says "not now".
func again(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// retryAfter is the time that a Retry-After names (RFC 9110 10.2.3), zero if none.
func retryAfter(h http.Header, now time.Time) time.Time {
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
	if most := now.Add(maxRetryAfter); t.After(most) {
		return most
	}
	return t
}
