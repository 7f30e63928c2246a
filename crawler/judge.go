package crawler

import (
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
	"github.com/acapcrawl/acapcrawl/gate"
)

// maxTries limits the visits in one run to an address that does not answer, or answers with 429 or
// 5xx. After that it counts as failed, and is due again in the next run.
const maxTries = 4

// maxRetryAfter bounds what a Retry-After can ask for.
const maxRetryAfter = 24 * time.Hour

// judge says how a visit of address, leased as l, ended, from its hops and its error. A visit that ended for lack of budget is not
// judged.
func judge(l *Lease, address string, hops []gate.Hop, err error, now time.Time, backoff time.Duration) End {
	e := End{Asked: asked(l, hops)}
	if len(hops) > 0 {
		last := hops[len(hops)-1]
		e.Status = last.Status
		if host, err := hostName(last.URL); err == nil && l.host != nil && host == l.host.name {
			e.Took = last.Took
		}
		if last.URL != address {
			e.Final = last.URL
		}
	}
	var refusal *gate.Refusal
	if errors.As(err, &refusal) && refusal.Rule == "" {
		e.decision = refusal.Decision
	}
	switch {
	case errors.As(err, &refusal) && refusal.Rule == "" && refusal.Decision.Reason == acap.Unavailable:
		e.State, e.Why = Unreachable, refusal.Error()
	case errors.As(err, &refusal):
		e.State, e.Why, e.down = Refused, refusal.Error(), refusal.TakeDown
		if at, nerr := Normal(refusal.URL); nerr == nil && at != address {
			e.Led = at
		}
	case errors.Is(err, errRedirects):
		e.State, e.Why = Failed, plain(err).Error()
	case err != nil:
		e.Asked = now // the time of the request is not known; this is later
		e.Trouble = trouble(plain(err))
		e.State, e.Why = Failed, fmt.Sprintf("no answer that can be read: %v", plain(err))
		if e.Trouble {
			e.Why = fmt.Sprintf("no answer: %v", plain(err))
		}
	case again(e.Status):
		last := hops[len(hops)-1]
		e.Trouble = e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable
		e.Rest = retryAfter(last.Header, now)
		e.State, e.Why = Failed, fmt.Sprintf("%s answered with status %d", last.URL, e.Status)
	default:
		e.State = Fetched
	}
	if e.State == Failed && (err == nil || e.Trouble) { // what can never succeed is not tried again
		if l.Tries+1 < maxTries {
			e.State, e.Retry = Queued, later(e.Rest, now.Add(backoff<<l.Tries))
		} else { // a later run tries again
			e.Why += fmt.Sprintf(" (%d times)", l.Tries+1)
			e.Again = later(e.Rest, now)
		}
	}
	return e
}

// final is the hop at which it was decided, "" for the address itself.
func (e *End) final() string {
	if e.Led != "" {
		return e.Led
	}
	return e.Final
}

// trouble reports whether an error is of the network, which may be better another time. A name that does not exist will not.
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
	return errors.As(err, &network) || errors.As(err, &system) || errors.As(err, &plaintext) || errors.As(err, &alert) ||
		errors.As(err, &certificate) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// plain takes off what http.Client puts around an error, which says the address once more.
func plain(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// asked is the start of the last request to the host of the lease.
func asked(l *Lease, hops []gate.Hop) (t time.Time) {
	for _, h := range hops {
		if host, err := hostName(h.URL); err == nil && l.host != nil && host == l.host.name {
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
