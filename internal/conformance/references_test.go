package conformance

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// A referenced file of 10 MB is read up to the size limit of policy files. The prohibitions in the
// part that was read are in force, but the permissions in it have no effect, because the rest of
// the file is unknown. P1 4 (A19) leaves limits to the crawler.
func TestHugeReference(t *testing.T) {
	const (
		megabytes = 10
		head      = "ACAP-crawler: *\nACAP-disallow-index: /cellar/\nACAP-allow-index: " +
			"/cellar/lamp/\nACAP-allow-preserve: / time-limit=3-days\n"
		tail = "ACAP-disallow-index: /attic/\nACAP-disallow-other: /\n"
	)
	filler := strings.Repeat("# "+strings.Repeat("barnacle ", 14)+"\n", megabytes<<20/129)
	for _, c := range []struct {
		name, robots, more string
		path               string
		usage              acap.Usage
		allowed            bool
		reason             acap.Reason
		line               int // the deciding line of the referenced file; 0: no field decides
	}{
		{"a prohibition before the limit", "", head + filler + tail, "/cellar/a.html", acap.Index, false,
			acap.ByProhibition, 2},
		{"a permission does not count", "", head + filler + tail, "/cellar/lamp/a.html", acap.Index, false,
			acap.ByProhibition, 2},
		{"nor does its limit", "", head + filler + tail, "/a.html", acap.Preserve, true, acap.ByDefault, 0},
		{"behind the limit", "", head + filler + tail, "/attic/a.html", acap.Index, true, acap.ByDefault, 0},
		{"the same file, short", "", head + tail, "/cellar/lamp/a.html", acap.Index, true, acap.ByPermission, 3},
		{"a short file is read to its end", "", head + tail, "/attic/a.html", acap.Index, false, acap.ByProhibition, 5},
		{"one line without an end", "", "ACAP-disallow-index: /" + strings.Repeat("a", megabytes<<20), "/a.html",
			acap.Index, true, acap.ByDefault, 0},
		{"a robots.txt as long refers to a short file", filler, head + tail, "/cellar/a.html", acap.Index, false,
			acap.ByProhibition, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			robots := "ACAP-crawler: searchbot\nACAP-permissions-reference: /more.txt\n" + c.robots
			d := decideOn(t, "http://harbour.example"+c.path, c.usage, map[string]Response{
				"http://harbour.example/robots.txt": {Body: &robots},
				"http://harbour.example/more.txt":   {Body: &c.more},
			})
			if d.Allowed != c.allowed || d.Reason != c.reason {
				t.Errorf("allowed %v for %q, wanted %v for %q", d.Allowed, d.Reason, c.allowed, c.reason)
			}
			switch {
			case c.line == 0:
				if d.Because != nil {
					t.Errorf("decided by %+v, wanted no field", *d.Because)
				}
			case d.Because == nil || d.Because.Source != acap.Referred || d.Because.Line != c.line:
				t.Errorf("decided by %+v, wanted line %d of the referenced file", d.Because, c.line)
			}
		})
	}
}

// If the server answers the request for a referenced file with an error page of 10 MB, the file is
// unavailable, as after any other error (D07: the document does not mention such pages).
func TestHugeError(t *testing.T) {
	robots := "ACAP-crawler: *\nACAP-permissions-reference: /more.txt\n"
	status, page := http.StatusServiceUnavailable, strings.Repeat("ACAP-crawler: *\nACAP-allow-index: /\n", 10<<20/36)
	d := decideOn(t, "http://harbour.example/a.html", acap.Index, map[string]Response{
		"http://harbour.example/robots.txt": {Body: &robots},
		"http://harbour.example/more.txt":   {Status: &status, Body: &page},
	})
	if d.Allowed || d.Reason != acap.Unavailable {
		t.Errorf("allowed %v for %q", d.Allowed, d.Reason)
	}
}

// decideOn decides about one usage by searchbot in a given web.
func decideOn(t *testing.T, url string, usage acap.Usage, web map[string]Response) Decision {
	t.Helper()
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	a, err := Decide(t.Context(), &Case{Crawler: []string{"searchbot"}, URL: url, Usages: []acap.Usage{usage},
		Facts: Facts{Now: &now}, Web: web})
	if err != nil {
		t.Fatal(err)
	}
	return a.Decisions[usage]
}
