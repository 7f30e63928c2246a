package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

const (
	// MaxRedirects is the maximal number of redirects to a policy file. RFC 9309 2.3.1.2 (X51): a
	// robots.txt with more redirects is unreachable.
	MaxRedirects = 5
	// MinAge is the shortest time that a policy file is fresh, whatever Cache-Control says. It is
	// also the shortest time until a file that could not be read is tried again.
	MinAge = 5 * time.Minute
	// MaxAge is the longest time that a policy file is fresh (RFC 9309 2.4).
	MaxAge = 24 * time.Hour
)

// ErrNotRequested means that a file could not be requested at this moment, for example because the
// lease of this machine has run out. Then Origin and Policy return the error and store nothing.
var ErrNotRequested = errors.New("it was not requested")

// Response is the answer to one request.
type Response struct {
	URL       string
	Status    int
	Header    http.Header
	Body      []byte // after content codings are undone
	Truncated bool   // the body is incomplete
}

// Fetcher fetches one policy file without following redirects. condition holds header fields that
// make the request conditional (RFC 9110 13.1); nil for none. An error means that there was no
// answer. If it wraps ErrNotRequested, the file was not requested for a reason that has nothing to
// do with its host, so the file does not count as unreachable.
type Fetcher interface {
	Fetch(ctx context.Context, rawurl string, condition http.Header) (Response, error)
}

// readRobots reads a robots.txt. RFC 9309 2.3.1 (O11): 4xx means that there is none, so nothing is
// restricted (RFC 9309 2.3.1.3). 429, 5xx and no answer mean that it is unreachable, so everything
// is prohibited (RFC 9309 2.3.1.4).
func (a *Authority) readRobots(ctx context.Context, rawurl string, held *Version) (Document, error) {
	var before Document
	if held != nil {
		before = held.Robots
	}
	d, header, err := a.read(ctx, rawurl, before)
	if d.HTTP/100 == 4 && d.HTTP != http.StatusTooManyRequests {
		d.Err, d.Digest, d.Expires = "", digest(nil), d.Fetched.Add(a.freshFor(header))
	}
	return d, err
}

// read fetches a policy file, follows its redirects, and returns it with the header of the last
// answer. held is the stored file; it is zero if there is none. RFC 9309 2.3.1 (X51): an answer 304
// makes held fresh again, and if held is zero, the file is unreachable. The error comes from ctx
// or wraps ErrNotRequested; every other failure is in the document.
func (a *Authority) read(ctx context.Context, rawurl string, held Document) (Document, http.Header, error) {
	d := Document{URL: rawurl, Fetched: a.o.Now().UTC()}
	var header http.Header
	seen := map[string]bool{}
	condition := held.condition()
	for next := rawurl; next != ""; {
		if seen[next] {
			d.Err = "it redirects in a circle"
			break
		}
		if len(seen) > MaxRedirects {
			d.Err = fmt.Sprintf("more than %d redirects", MaxRedirects)
			break
		}
		seen[next] = true
		resp, err := a.fetch.Fetch(ctx, next, condition)
		conditional := condition != nil
		condition = nil // the conditional header fields are sent only in the first request, to rawurl
		if ctx.Err() != nil {
			return Document{}, nil, context.Cause(ctx)
		}
		if errors.Is(err, ErrNotRequested) {
			return Document{}, nil, err
		}
		if next != rawurl {
			d.Final = next
		}
		if err != nil {
			d.HTTP, d.Err = 0, err.Error()
			break
		}
		d.HTTP, header = resp.Status, resp.Header
		// RFC 9111 4.3.4: the 304 is about another version than held, so the file is requested
		// without condition
		if resp.Status == http.StatusNotModified && conditional && held.differs(header) {
			delete(seen, next)
			continue
		}
		if resp.Status == http.StatusNotModified && held.URL == rawurl && held.Err == "" && !held.Assumed &&
			held.Final == d.Final {
			held.Fetched, held.Expires = d.Fetched, d.Fetched.Add(a.freshFor(header))
			return held, header, nil
		}
		next, d.Text, d.Err = interpret(resp, next)
	}
	if d.Err != "" {
		d.Expires = d.Fetched.Add(a.retryIn(header))
		return d, header, nil
	}
	d.Digest, d.Expires = digest(d.Text), d.Fetched.Add(a.freshFor(header))
	if d.Final == "" {
		d.ETag, d.Modified = header.Get("ETag"), modified(header)
	}
	return d, header, nil
}

// condition returns the header fields that ask whether d has changed since it was read. It returns
// nil if d has no validator.
func (d Document) condition() http.Header {
	switch {
	case d.ETag != "":
		return http.Header{"If-None-Match": {d.ETag}}
	case d.Modified != "":
		return http.Header{"If-Modified-Since": {d.Modified}}
	}
	return nil
}

// differs reports whether an answer with the header h is about another version than d. ETags are
// compared weakly (RFC 9110 8.8.3.2).
func (d Document) differs(h http.Header) bool {
	tag := h.Get("ETag")
	return tag != "" && d.ETag != "" && strings.TrimPrefix(tag, "W/") != strings.TrimPrefix(d.ETag, "W/")
}

// modified returns the Last-Modified of an answer if it can be used to revalidate. It returns ""
// for a date within the last minute before the answer, because the file may change again within the
// same second (RFC 9110 8.8.2.2).
func modified(h http.Header) string {
	value := h.Get("Last-Modified")
	at, err := http.ParseTime(value)
	sent, err2 := http.ParseTime(h.Get("Date"))
	if err != nil || err2 != nil || sent.Sub(at) < time.Minute {
		return ""
	}
	return value
}

// interpret returns what one answer means: the target of a redirect, the text, or why there is no
// text. at is the address that answered.
func interpret(resp Response, at string) (next string, text []byte, why string) {
	switch {
	case resp.Status/100 == 2 && resp.Status != http.StatusPartialContent: // a part lacks prohibitions
		// if the body was cut off, but not because of its size, nothing is known about the part
		// that is missing
		if resp.Truncated && len(resp.Body) <= acap.MaxSize {
			return "", nil, fmt.Sprintf("the answer broke off after %d bytes", len(resp.Body))
		}
		// P1 4 (A19): only acap.MaxSize bytes are read. One more byte is kept, which shows that the
		// file is longer.
		return "", resp.Body[:min(len(resp.Body), acap.MaxSize+1)], ""
	case resp.Status == http.StatusNotModified, resp.Status/100 != 3:
		return "", nil, fmt.Sprintf("HTTP status %d", resp.Status)
	}
	to := resp.Header.Get("Location")
	if to == "" {
		return "", nil, fmt.Sprintf("HTTP status %d without Location", resp.Status)
	}
	base, err := url.Parse(at)
	if err != nil {
		return "", nil, fmt.Sprintf("%q is not a URL", at)
	}
	u, err := base.Parse(to)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", nil, fmt.Sprintf("it redirects to %q, which is not an http or https URL", to)
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String(), nil, ""
}

// freshFor returns how long an answer is fresh, by its Cache-Control.
func (a *Authority) freshFor(h http.Header) time.Duration {
	age := a.o.MaxAge
	for _, part := range strings.Split(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), "=")
		switch name {
		case "no-cache", "no-store":
			age = 0
		case "max-age":
			if n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				age = min(age, time.Duration(n)*time.Second)
			}
		}
	}
	return min(max(age, MinAge), a.o.MaxAge)
}

// retryIn returns how long to wait after a failure: as long as Retry-After demands, between MinAge
// and MaxAge.
func (a *Authority) retryIn(h http.Header) time.Duration {
	wait := MinAge
	value := h.Get("Retry-After")
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(a.o.Now())
	}
	return min(max(wait, MinAge), MaxAge)
}
