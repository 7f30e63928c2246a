package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
)

// maxHops is the maximum number of redirects before a page or a required resource.
const maxHops = 5

// web serves the responses of a case. It makes no request.
type web struct {
	responses map[string]Response // the responses of the case, by normalised URL
	named     string              // host and port of the URL that the case is about
	authority *policy.Authority
	then      *visit // for a held copy, the visit at which it was fetched; otherwise nil
	// true for the web at the fetch of a held copy: the page was fetched, whatever was permitted
	fetched bool
}

func newWeb(c *Case, responses map[string]Response) *web {
	w := &web{responses: make(map[string]Response, len(responses))}
	w.authority = policy.New(policyFiles{w}, c.crawler(), policy.NewMemory(), policy.Options{})
	for key, r := range responses {
		if n, err := normal(key); err == nil {
			w.responses[n] = r
		}
	}
	if u, err := url.Parse(c.URL); err == nil {
		w.named = hostOf(u)
	}
	return w
}

// hostOf returns the host of u with its port.
func hostOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// open returns an error if a crawl would not request rawurl because its host has a private address
// and is not the host that the case is about. X84, with I03 and D05: a private resource that a
// public host names is unavailable.
func (w *web) open(rawurl string) error {
	u, err := url.Parse(rawurl)
	if err != nil {
		return err
	}
	if what := address.Inner(u.Hostname()); what != "" && hostOf(u) != w.named {
		return fmt.Errorf("%s is %s address, which is not requested", u.Host, what)
	}
	return nil
}

func normal(rawurl string) (string, error) {
	u, err := url.Parse(rawurl)
	if err != nil {
		return "", err
	}
	return acap.NewResource(u).URL, nil
}

// hop returns the answer for one URL. If the case has no answer for the URL, the status is 404.
func (w *web) hop(rawurl string) (page.Hop, error) {
	if err := w.open(rawurl); err != nil {
		return page.Hop{}, err
	}
	key, err := normal(rawurl)
	if err != nil {
		return page.Hop{}, err
	}
	r, ok := w.responses[key]
	if !ok {
		return page.Hop{URL: rawurl, Method: http.MethodGet, Status: http.StatusNotFound, Header: http.Header{}}, nil
	}
	if r.Error != "" {
		return page.Hop{}, fmt.Errorf("no response: %s", r.Error)
	}
	h := page.Hop{URL: rawurl, Method: http.MethodGet, Status: http.StatusOK, Proto: "HTTP/1.1", Header: http.Header{},
		Body: r.BodyBase64}
	if r.Status != nil {
		h.Status = *r.Status
	}
	if r.Body != nil {
		h.Body = []byte(*r.Body)
	}
	h.Wire = h.Body
	for name, values := range r.Header {
		for _, v := range values {
			h.Header.Add(name, v)
		}
	}
	if h.Header.Get("Content-Type") == "" {
		kind := "text/html; charset=utf-8"
		if strings.HasSuffix(key, "/robots.txt") {
			kind = "text/plain"
		}
		h.Header.Set("Content-Type", kind)
	}
	return h, nil
}

// policyFiles gives robots.txt and the files that it refers to, from the case, to the policy
// Authority.
type policyFiles struct{ *web }

func (w policyFiles) Fetch(_ context.Context, rawurl string, _ http.Header) (policy.Response, error) {
	h, err := w.hop(rawurl)
	return policy.Response{URL: rawurl, Status: h.Status, Header: h.Header, Body: h.Body}, err
}

// Fetch fetches a page like a crawler: crawl must be permitted at every hop. A page that was fetched
// according to the case is read all the same.
func (w *web) Fetch(ctx context.Context, rawurl string) (*page.Page, error) {
	var hops []page.Hop
	for range maxHops + 1 {
		u, err := url.Parse(rawurl)
		if err != nil {
			return nil, err
		}
		p, err := w.authority.Policy(ctx, u)
		if err != nil {
			return nil, err
		}
		if d := p.Decide(acap.Crawl, acap.NewResource(u)); !d.Allowed && !w.fetched {
			return nil, d.Err(rawurl)
		}
		h, err := w.hop(rawurl)
		if err != nil {
			return nil, err
		}
		hops = append(hops, h)
		next, err := u.Parse(h.Header.Get("Location"))
		if h.Status < 300 || h.Status > 399 || h.Header.Get("Location") == "" || err != nil {
			return page.New(hops), nil
		}
		next.Fragment = ""
		rawurl = next.String()
	}
	return nil, errors.New("too many redirects")
}
