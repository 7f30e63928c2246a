package holdings

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
)

// sentAs returns a page with the given body as if the server had sent it with gzip, in the form in
// which the gate returns pages. It also returns the bytes sent.
func sentAs(t *testing.T, body string, urls ...string) (*page.Page, []byte) {
	t.Helper()
	var wire bytes.Buffer
	w := gzip.NewWriter(&wire)
	if _, err := w.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	hops := slices.Clone(pageWith(fields("Content-Encoding", "gzip", "ETag", `"1"`, "X-Robots-Tag", "nosnippet"), 200,
		body, urls...).Hops())
	for i := range hops {
		hops[i].Sent, hops[i].Head = []byte("GET "+hops[i].URL), []byte("HEAD "+hops[i].URL)
		if i < len(hops)-1 {
			hops[i].Header = http.Header{"Location": {hops[i+1].URL}}
		}
	}
	hops[len(hops)-1].Wire = wire.Bytes()
	return page.New(hops), wire.Bytes()
}

// TestCapture checks that a capture contains the bytes sent, the request, and the policy under
// which it is stored.
func TestCapture(t *testing.T) {
	since := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	o := Options{Version: func(u *url.URL) archive.PolicyVersion {
		return archive.PolicyVersion{Origin: u.Scheme + "://" + u.Host, Since: since}
	}}
	s := open(t, t.TempDir(), newWeb("ACAP-allow-preserve: /"), o)
	pg, wire := sentAs(t, article, b, a)
	s.receive(pg)
	c, err := s.archive.Capture(s.resource(a).Current)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.archive.Wire(c.ID); err != nil || !bytes.Equal(got, wire) || c.Payload != archive.Digest(wire) ||
		c.Encoding != "gzip" || c.Cut {
		t.Errorf("%d bytes, %v, %+v", len(got), err, c)
	}
	if got := s.copies(a); !slices.Equal(got, []string{article}) || c.Digest != archive.Digest([]byte(article)) ||
		s.found("pilot") == "" {
		t.Errorf("%q, %+v", got, c)
	}
	if string(c.Sent) != "GET "+a || string(c.Head) != "HEAD "+a || len(c.Hops) != 1 {
		t.Errorf("%q, %q, %+v", c.Sent, c.Head, c.Hops)
	}
	if list, err := s.archive.Captures(b); err != nil || len(list) != 1 || string(list[0].Sent) != "GET "+b ||
		string(list[0].Head) != "HEAD "+b {
		t.Errorf("%+v, %v", list, err)
	}
	if c.Policy != (archive.PolicyVersion{Origin: site, Since: since}) || len(c.Own.Tags) != 1 ||
		c.Own.Tags[0].Source != acap.Header || c.Decided[acap.Preserve] == "" {
		t.Errorf("%+v, %+v, %q", c.Policy, c.Own, c.Decided)
	}

	// A 304 brings new headers and leaves the stored bytes unchanged.
	since = since.AddDate(0, 0, 1)
	if r := s.receive(unmodified(http.Header{"Etag": {`"1"`}, "X-Robots-Tag": {"noindex"}}, a)); !r.Unchanged ||
		!r.Stored {
		t.Errorf("%+v", r)
	}
	renewed, err := s.archive.Capture(c.ID)
	if err != nil || !renewed.Policy.Since.Equal(since) || len(renewed.Own.Tags) != 1 ||
		renewed.Own.Tags[0].Content != "noindex" || !bytes.Equal(renewed.Head, c.Head) ||
		!bytes.Equal(renewed.Sent, c.Sent) || renewed.Payload != c.Payload {
		t.Errorf("%+v, %v", renewed, err)
	}
	// If only the content coding differs, the page is treated as unchanged, but a new capture is
	// stored.
	if r := s.receive(pageWith(fields(), 200, article, a)); !r.Unchanged {
		t.Errorf("%+v", r)
	}
	if c, err := s.archive.Capture(s.resource(a).Current); err != nil || c.Payload != c.Digest || c.Encoding != "" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestCutCapture checks that parts cut out of a page are also missing from the stored bytes as sent
// (N28). It also checks that no conditional request is made for a page with such a copy.
func TestCutCapture(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	pg, _ := sentAs(t, `<p>Open <b class="the-acap:disallow-preserve">sealed</b> quay.`, a)
	s.receive(pg)
	c, err := s.archive.Capture(1)
	if err != nil || !c.Cut || c.Payload != c.Digest || c.Encoding != "" {
		t.Errorf("%+v, %v", c, err)
	}
	if got, err := s.archive.Wire(1); err != nil || bytes.Contains(got, []byte("sealed")) ||
		!bytes.Contains(got, []byte("Open")) {
		t.Errorf("%q, %v", got, err)
	}
	if h := s.Condition(a); h != nil {
		t.Errorf("asked for by %v", h)
	}
}
