package view

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// replayHost is the meaning of the label in front of the replay domain in a host name. Below this name, an unmodified
// copy has the paths that its site had, so that addresses that begin with a slash lead to archived copies.
type replayHost struct {
	at     time.Time
	origin string // scheme, host and port of the archived site
	entry  string // digest of the address of the copy that the viewer shows under this name
}

const (
	longestLabel = 63 // RFC 1035 2.3.4
	entryDigits  = 10
)

// labelOf returns the label for the copy of a page of a time, such as
// "20260131120000s-0f3c9a41d2-www-example-org". It returns false if the host's name has no such form: it is too
// long, is an IPv6 address, or has hyphens next to dots.
func labelOf(at time.Time, page string) (string, bool) {
	u, err := url.Parse(page)
	if err != nil {
		return "", false
	}
	scheme := map[string]string{"http": "h", "https": "s"}[u.Scheme]
	name := strings.NewReplacer("-", "--", ".", "-").Replace(u.Hostname())
	out := memento.Timestamp(at) + scheme + u.Port() + "-" + digestOf(page) + "-" + name
	back, ok := parseLabel(out)
	return out, ok && len(out) <= longestLabel && back.origin == u.Scheme+"://"+u.Host
}

// parseLabel returns the label that labelOf returned as text.
func parseLabel(text string) (l replayHost, ok bool) {
	before, rest, _ := strings.Cut(text, "-")
	entry, name, found := strings.Cut(rest, "-")
	if len(before) < 15 || !found || len(text) > longestLabel {
		return l, false
	}
	at, err := memento.ParseTimestamp(before[:14])
	scheme := map[byte]string{'h': "http", 's': "https"}[before[14]]
	if err != nil || scheme == "" {
		return l, false
	}
	host := strings.NewReplacer("--", "-", "-", ".").Replace(name)
	if port := before[15:]; port != "" {
		host += ":" + port
	}
	l = replayHost{at: at, origin: scheme + "://" + host, entry: entry}
	page, err := target(l.origin + "/")
	return l, err == nil && page == l.origin+"/" && originOf(page) == l.origin
}

// digestOf returns the digest of an address in a label.
func digestOf(page string) string {
	sum := sha256.Sum256([]byte(page))
	return hex.EncodeToString(sum[:])[:entryDigits]
}

// replayAddress returns the address below the replay domain at which the viewer shows an unmodified copy, or "" if
// there is none. origin is its scheme, host and port.
func replayAddress(v Visitor, one present.Version) (address, origin string) {
	if v.Replay == "" {
		return "", ""
	}
	name, ok := labelOf(one.Fetched, one.URL)
	u, err := url.Parse(one.URL)
	if !ok || err != nil {
		return "", ""
	}
	origin = strings.Replace(v.Replay, "*", name, 1)
	return origin + escapeTarget(u.RequestURI()), origin
}

// replay answers requests below the replay domain: with the unmodified copy that the viewer shows, and with what its
// site has under other paths. Programs and windows of their own are led to /raw.
func (h *Handler) replay(w http.ResponseWriter, r *request) error {
	if r.RequestURI == "/robots.txt" {
		return writeTagged(w, r, "text/plain; charset=utf-8", []byte("User-agent: *\nDisallow: /\n"))
	}
	l, ok := parseLabel(r.visitor.Label)
	if !ok {
		return noPage()
	}
	page, err := target(l.origin + r.RequestURI)
	if err != nil {
		return err
	}
	where := placeOf(r)
	switch {
	case where == alone:
		return redirectTo(w, r.visitor.Base+timedPath("/raw/", l.at, page))
	case where == framed && digestOf(page) != l.entry:
		return h.follow(w, r, page, l.at)
	case where == framed:
		where = viewer
	}
	chosen, err := h.nearest(r, page, l.at, r.readerAt(where))
	if err != nil {
		return err
	}
	if !chosen.found() {
		return h.absent(chosen.state)
	}
	if where == viewer && !chosen.exact {
		return h.follow(w, r, page, l.at)
	}
	done, err := h.takeHeavy(r, chosen.Bytes)
	if err != nil {
		return err
	}
	defer done()
	c, err := h.openAt(r, page, chosen.Version, where)
	if err != nil {
		return err
	}
	if len(c.Include) > 0 && where != viewer {
		return requireViewer(w, chosen.Version, where)
	}
	head := w.Header()
	maps.Copy(head, h.mementoPage(r.visitor, page).VersionHeader(chosen.all, chosen.index))
	setCopyHeader(head, c.Header)
	head.Set("Content-Security-Policy", policyFor(r.visitor, copyPolicy))
	c.Rewritable = false
	return writeCopy(w, r, c, chosen.Version, func(to string) string {
		path, same := strings.CutPrefix(to, l.origin+"/")
		if !same { // another site has another host below the replay domain, which the copy must not contact
			return ""
		}
		return "/" + escapeTarget(path)
	})
}

// policyFor returns a Content-Security-Policy for an answer in the frame of the viewer. Below the replay domain, the
// viewer is a page of another origin.
func policyFor(v Visitor, policy string) string {
	if v.Label == "" {
		return policy
	}
	return strings.Replace(policy, "frame-ancestors 'self'", "frame-ancestors "+v.Ancestors, 1)
}

// framedPolicyFor is policyFor for an own page in the frame, whose style sheet comes from the viewer's host.
func framedPolicyFor(v Visitor) string {
	if v.Label == "" {
		return framedPolicy
	}
	return policyFor(v, strings.Replace(framedPolicy, "style-src 'self'", "style-src "+v.Base, 1))
}
