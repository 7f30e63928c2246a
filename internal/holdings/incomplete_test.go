package holdings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// TestPartsThatFail checks a temporary failure of a required resource: data made from the resource
// stays, and the page is requested again (H05, I10).
func TestPartsThatFail(t *testing.T) {
	const both = "ACAP-allow-present: /a must-include-resource=the-acap:credit:" + site + "/credit\n" +
		"ACAP-allow-index: /a must-use-resource=" + site + "/lead\n"
	credit := []string{"Photograph by Guillemot"}
	status := func(code int) func(string) (*page.Page, error) {
		return func(rawurl string) (*page.Page, error) { return answer(code, rawurl), nil }
	}
	for _, c := range []struct {
		name, robots string
		fails        func(string) (*page.Page, error)
		found        string
		parts        []string
		incomplete   bool
	}{
		{"unavailable", both, status(503), "/a", credit, true},
		{"too many requests", both, status(429), "/a", credit, true},
		{"no answer", both, func(string) (*page.Page, error) { return nil, fmt.Errorf("%w: reset", terms.ErrNoAnswer) },
			"/a", credit, true},
		{"not found", both, status(404), "", nil, false},
		{"gone", both, status(410), "", nil, false},
		{"a client's fault", both, status(403), "", nil, false},
		{"refused", both, func(string) (*page.Page, error) { return nil, errors.New("not an address for crawlers") },
			"", nil, false},
		// the page may no longer be shown to anyone
		{"prohibited by now", both + "ACAP-disallow-crawl: /lead\nACAP-disallow-crawl: /credit", status(503), "",
			credit, true},
		{"taken down", both + "ACAP-request-take-down: /lead", status(503), "", credit, true},
		{"another one by now", strings.ReplaceAll(both, "/lead", "/other"), status(503), "", credit, true},
		{"index prohibited", both + "ACAP-disallow-index: /a", status(503), "", credit, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withParts(t, "")
			s.web.says(c.robots)
			s.web.fails = c.fails
			r := s.receive(pageOf(article, a))
			if got := s.found("tables"); got != c.found || r.Indexed != (c.found != "") ||
				(len(r.Missing) > 0) != c.incomplete {
				t.Errorf("found %q, %+v", got, r)
			}
			if got := s.parts(a); !slices.Equal(got, c.parts) {
				t.Errorf("parts %q", got)
			}
			if len(s.copies(a)) == 0 || s.found("pilot") != "" {
				t.Error("the page itself:", s.copies(a), s.found("pilot"))
			}
			s.web.says(both)
			s.web.fails = nil
			if r := s.receive(pageOf(article, a)); len(r.Missing) > 0 || !r.Indexed || s.found("tables") != "/a" {
				t.Errorf("well again: %+v", r)
			}
		})
	}
}

// TestPartsThatGoMeanwhile checks data that is erased while a page is checked: it must not be
// stored again from the earlier record of the page.
func TestPartsThatGoMeanwhile(t *testing.T) {
	s := withParts(t, "")
	s.web.fails = func(rawurl string) (*page.Page, error) {
		for _, gone := range []string{"/lead", "/credit"} {
			if _, err := s.Erase(context.Background(), site+gone, "asked", ""); err != nil {
				t.Error(err)
			}
		}
		return answer(503, rawurl), nil
	}
	if r := s.receive(pageOf(article, a)); len(r.Missing) == 0 {
		t.Errorf("%+v", r)
	}
	if got := s.parts(a); got != nil || s.found("tables") != "" ||
		strings.Contains(s.resource(a).Kept.String(), "Guillemot") || s.resource(a).Indexed {
		t.Errorf("parts %q, found %q, %q", got, s.found("tables"), s.resource(a).Kept.String())
	}
}

// TestPictureOfWhatFails checks a temporary failure to fetch the image that a thumbnail was made
// from: the thumbnail must stay (H05).
func TestPictureOfWhatFails(t *testing.T) {
	const bare = "ACAP-disallow-preserve: /a\n"
	for _, c := range []struct {
		name, robots, later string
		status              int
		want                string
	}{
		{"unavailable", cover, cover, 503, "2:16 other"},
		{"unavailable, no copy", cover + bare, cover + bare, 503, "0:16 other"},
		{"the copy goes", cover, cover + bare, 503, "0:16 other"},
		{"nothing else is held", cover + bare + "ACAP-disallow-index: /a", cover + bare + "ACAP-disallow-index: /a",
			503, "0:16 other"},
		{"gone", cover, cover, 404, ""},
		{"prohibited by now", cover, cover + "ACAP-disallow-crawl: /cover.png", 503, ""},
		{"another one by now", cover, "ACAP-allow-present-thumbnail: /a must-use-resource=/other.png", 503, ""},
		{"of the page itself by now", cover, "", 503, ""},
		{"not to be shown by now", cover, "ACAP-disallow-present: /a", 503, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWeb(c.robots)
			w.parts[site+"/cover.png"] = imageOf(16)
			s := open(t, t.TempDir(), w, Options{})
			s.receive(pageOf(article, a))
			w.says(c.later)
			w.fails = func(rawurl string) (*page.Page, error) { return answer(c.status, rawurl), nil }
			s.receive(pageOf(article+"<p>again", a))
			if got, other := s.pictures(a), strings.Contains(s.resource(a).Kept.String(), "cover.png"); got != c.want ||
				other != (c.want != "") {
				t.Errorf("%q, %s", got, s.resource(a).Kept.String())
			}
			if swept := s.sweep(SweepOptions{}); swept != nil && c.want != "" {
				t.Errorf("swept %q", brief(swept))
			}
		})
	}
}

// TestEntryThatStays checks that a crash between the writes to archive and index leaves an
// unchanged index entry in place.
func TestEntryThatStays(t *testing.T) {
	dir := t.TempDir()
	k := newKitchen(t, dir)
	k.stock()
	ctx := context.Background()
	origin, err := k.web.Policy(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	k.web.fails = func(rawurl string) (*page.Page, error) { return answer(503, rawurl), nil }
	for _, address := range []string{a, site + "/bare"} {
		g, err := k.assessReceived(ctx, origin, pageOf(article+"<p>again", address), k.resource(address))
		if err != nil || !g.Indexed || !g.deposit.Stays {
			t.Fatalf("%+v, %v", g.Receipt, err)
		}
		if _, err := k.archive.Receive(ctx, g.deposit); err != nil {
			t.Fatal(err)
		}
	}
	k.shut() // shut checks that no work for the index is left
	k.open(t, dir)
	if got := k.found("tables"); got != "/a /bare" {
		t.Errorf("found %q", got)
	}
}
