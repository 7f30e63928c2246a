package policy

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

const (
	// MaxRedirects is how many redirects lead to a policy file (RFC 9309 2.3.1.2, X51).
	MaxRedirects = 5
	// MinAge is the least time that a policy file serves, whatever Cache-Control says; what could
	// not be read is tried again after it.
	MinAge = 5 * time.Minute
	// MaxAge is the longest time that a policy file serves (RFC 9309 2.4).
	MaxAge = 24 * time.Hour
)

// Response is one hop.
type Response struct {
	URL       string
	Status    int
	Header    http.Header
	Body      []byte // without content coding
	Truncated bool   // something of the body is missing
}

// Fetcher gets one policy file without following redirects. The condition, nil for none, are fields
// of the request (RFC 9110 13.1). An error means that there was no answer.
type Fetcher interface {
	Fetch(ctx context.Context, rawurl string, condition http.Header) (Response, error)
}

// robots reads a robots.txt by the status table (RFC 9309 2.3.1, O11). 4xx means that there is none,
// so nothing is restricted (RFC 9309 2.3.1.3). 429, 5xx and no answer mean that it is unreachable,
// so everything is prohibited (RFC 9309 2.3.1.4).
func (a *Authority) robots(ctx context.Context, rawurl string, held *Version) (Document, error) {
	var before Document
	if held != nil {
		before = held.Robots
	}
	d, header, err := a.read(ctx, rawurl, before)
	if d.HTTP/100 == 4 && d.HTTP != http.StatusTooManyRequests {
		d.Err, d.Digest, d.Expires = "", digest(nil), d.Fetched.Add(a.age(header))
	}
	return d, err
}

// read gets a policy file, and the header of the last answer. The answer that nothing has changed
// since held was read, zero where nothing is held, renews that (X51). The error is that of ctx;
// every other failure is in the document.
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
		condition = nil // which is about rawurl alone, and asked once
		if ctx.Err() != nil {
			return Document{}, nil, context.Cause(ctx)
		}
		if next != rawurl {
			d.Final = next
		}
		if err != nil {
			d.HTTP, d.Err = 0, err.Error()
			break
		}
		d.HTTP, header = resp.Status, resp.Header
		// it is not about what is held (RFC 9111 4.3.4)
		if resp.Status == http.StatusNotModified && conditional && held.differs(header) {
			delete(seen, next)
			continue
		}
		if resp.Status == http.StatusNotModified && held.URL == rawurl && held.Err == "" && !held.Assumed &&
			held.Final == d.Final {
			held.Fetched, held.Expires = d.Fetched, d.Fetched.Add(a.age(header))
			return held, header, nil
		}
		next, d.Text, d.Err = judge(resp, next)
	}
	if d.Err != "" {
		d.Expires = d.Fetched.Add(a.retry(header))
		return d, header, nil
	}
	d.Digest, d.Expires = digest(d.Text), d.Fetched.Add(a.age(header))
	if d.Final == "" {
		d.ETag, d.Modified = header.Get("ETag"), modified(header)
	}
	return d, header, nil
}

// condition asks whether d has changed since it was read, where it can be asked: nil where it
// cannot.
func (d Document) condition() http.Header {
	switch {
	case d.ETag != "":
		return http.Header{"If-None-Match": {d.ETag}}
	case d.Modified != "":
		return http.Header{"If-Modified-Since": {d.Modified}}
	}
	return nil
}

// differs reports whether the answer with header h is about another version than d, by weak
// comparison (RFC 9110 8.8.3.2).
func (d Document) differs(h http.Header) bool {
	tag := h.Get("ETag")
	return tag != "" && d.ETag != "" && strings.TrimPrefix(tag, "W/") != strings.TrimPrefix(d.ETag, "W/")
}

// modified is the Last-Modified of an answer that no later change of the file can share: one that
// is a minute older than the answer (RFC 9110 8.8.2.2).
func modified(h http.Header) string {
	value := h.Get("Last-Modified")
	at, err := http.ParseTime(value)
	sent, err2 := http.ParseTime(h.Get("Date"))
	if err != nil || err2 != nil || sent.Sub(at) < time.Minute {
		return ""
	}
	return value
}

// judge says what one answer means: where to go on, the text, or why there is none.
func judge(resp Response, at string) (next string, text []byte, why string) {
	switch {
	case resp.Status/100 == 2:
		if resp.Truncated && len(resp.Body) <= acap.MaxSize { // not cut by size: the rest is unknown
			return "", nil, fmt.Sprintf("it broke off after %d bytes", len(resp.Body))
		}
		return "", resp.Body[:min(len(resp.Body), acap.MaxSize+1)], "" // A19: one byte more tells that there was more
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

// age is how long an answer serves, from its Cache-Control.
func (a *Authority) age(h http.Header) time.Duration {
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

// retry is how long to wait after a failure: as Retry-After asks, within bounds.
func (a *Authority) retry(h http.Header) time.Duration {
	wait := MinAge
	value := h.Get("Retry-After")
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(a.o.Now())
	}
	return min(max(wait, MinAge), MaxAge)
}
