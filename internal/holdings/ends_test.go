package holdings

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
)

const credited = "ACAP-allow-present: /a must-include-resource=the-acap:credit:" + site + "/credit\n"

// TestPictureGoesWithItsImage checks a page with neither copy nor index entry, but with a thumbnail
// that cannot be made from a copy. The thumbnail must be erased when the image is erased that it
// was made from.
func TestPictureGoesWithItsImage(t *testing.T) {
	for name, end := range map[string]func(s *store){
		"410":                func(s *store) { s.receive(answer(410, a)) },
		"404":                func(s *store) { s.receive(answer(404, a)) },
		"it leads elsewhere": func(s *store) { s.receive(pageOf(article, a, b)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(),
				newWeb("ACAP-disallow-preserve: /a\nACAP-allow-present-thumbnail: /a time-limit=until-recrawled"),
				Options{})
			s.receive(pageWith(http.Header{"Content-Type": {"image/png"}}, 200, imageOf(8), a))
			if s.pictures(a) == "" {
				t.Fatal("none is held")
			}
			if end(s); s.pictures(a) != "" {
				t.Errorf("left %q", s.pictures(a))
			}
		})
	}
}

// TestSweepDuringErase checks a resource that is erased after a sweep has decided about a page. The
// sweep must not store data made from that resource again.
func TestSweepDuringErase(t *testing.T) {
	s := withParts(t, "")
	s.web.says(credited + "ACAP-allow-index: /a must-use-resource=" + site + "/lead\nACAP-request-take-down: /lead")
	ctx := context.Background()
	d, err := s.planSweep(ctx, s.resource(a), s.withDefaults(SweepOptions{}))
	if err != nil || d.kept == nil {
		t.Fatal(d, err)
	}
	if _, err := s.Erase(ctx, site+"/credit", "asked", ""); err != nil {
		t.Fatal(err)
	}
	if err := s.executePlan(ctx, d); err != errMoved {
		t.Error(err)
	}
	if got := s.parts(a); got != nil {
		t.Errorf("parts %q", got)
	}
}

// TestTakenDownInFlight checks a required resource that is taken down while the page is received.
// No data made from that resource may be stored.
func TestTakenDownInFlight(t *testing.T) {
	s := withParts(t, "")
	both := credited + "ACAP-allow-index: /a must-use-resource=" + site + "/lead\n"
	fetches := 0
	s.web.fails = func(rawurl string) (*page.Page, error) {
		if fetches++; fetches == 2 {
			s.web.says(both + "ACAP-request-take-down: /credit\nACAP-request-take-down: /lead")
			for _, x := range []string{"/credit", "/lead"} {
				if _, err := s.Erase(context.Background(), site+x, takenDown, ""); err != nil {
					t.Error(err)
				}
			}
		}
		return pageOf("tables", rawurl), nil
	}
	s.receive(pageOf(article+"<p>again", a))
	if got := s.parts(a); got != nil || s.found("tables") != "" {
		t.Errorf("after %d fetches parts %q, found %q", fetches, got, s.found("tables"))
	}
}

// TestEntryNotMistaken checks an index entry made from the page itself, after one made from another
// resource. When a fetch of that resource fails, the new entry must not be treated as made from the
// resource.
func TestEntryNotMistaken(t *testing.T) {
	robots := "ACAP-disallow-preserve: /a\n" + credited
	w := newWeb(robots + "ACAP-allow-index: /a must-use-resource=" + site + "/lead\n")
	w.parts[site+"/credit"], w.parts[site+"/lead"] = "Photograph by Guillemot", "tables"
	s := open(t, t.TempDir(), w, Options{})
	s.receive(pageOf(article, a))
	w.says("ACAP-composite-usage: shy follow\n" + robots)
	w.fails = func(rawurl string) (*page.Page, error) { return answer(503, rawurl), nil }
	s.receive(pageOf(`<title>T</title><p class="the-acap:disallow-(shy)">The pilot secret.<p>other`, a))
	if s.found("secret") != "/a" {
		t.Fatal("not found as it is now")
	}
	w.says("ACAP-composite-usage: shy index\n" + robots)
	s.sweep(SweepOptions{})
	if s.found("secret") != "" {
		t.Error("a part that may not be indexed is found")
	}
}

// TestThumbnailAloneIsLeft checks that title and excerpt are erased when only a thumbnail of the
// page may stay.
func TestThumbnailAloneIsLeft(t *testing.T) {
	w := newWeb(cover + "ACAP-disallow-preserve: /a\n")
	w.parts[site+"/cover.png"] = imageOf(16)
	s := open(t, t.TempDir(), w, Options{})
	s.receive(pageOf(article, a))
	w.says(cover + "ACAP-disallow-preserve: /a\nACAP-disallow-index: /a\n")
	s.sweep(SweepOptions{})
	r := s.resource(a)
	if kept := r.Kept; kept.Title != "" || len(kept.Texts) > 0 || s.pictures(a) == "" {
		t.Errorf("%+v, pictures %q", kept, s.pictures(a))
	}
	if again := s.sweep(SweepOptions{}); again != nil {
		t.Errorf("swept again: %q", again)
	}
}

// TestTombstoneNamesItsOwnLine checks a page that is erased by a rule for the page while a required
// credit is taken down. The page must not be reported as taken down.
func TestTombstoneNamesItsOwnLine(t *testing.T) {
	w := newWeb("ACAP-disallow-index: /a\n" + credited)
	w.parts[site+"/credit"] = "Photograph by Guillemot"
	s := open(t, t.TempDir(), w, Options{})
	s.receive(pageOf(article, a))
	w.says("ACAP-disallow-index: /a\nACAP-disallow-preserve: /a\n" + credited + "ACAP-request-take-down: /credit")
	s.sweep(SweepOptions{})
	stones, err := s.archive.Tombstones(a)
	if err != nil || len(stones) == 0 {
		t.Fatal(stones, err)
	}
	for _, stone := range stones {
		if !strings.Contains(stone.Line, "disallow-preserve") {
			t.Errorf("%+v", stone)
		}
	}
}

// TestReceiptNamesDerivedData checks that the receipt for an erased resource reports data of other
// pages made from that resource, if an interruption left this data in place.
func TestReceiptNamesDerivedData(t *testing.T) {
	s := withParts(t, "")
	if _, err := s.archive.Erase(context.Background(),
		archive.Tombstone{URL: site + "/credit", Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	r, err := s.archive.Receipt(site + "/credit")
	if err != nil || !slices.ContainsFunc(r.Left, func(p archive.Problem) bool { return p.Where == a }) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := s.Erase(context.Background(), site+"/credit", "asked", ""); err != nil {
		t.Fatal(err)
	}
	if r, err = s.archive.Receipt(site + "/credit"); err != nil || len(r.Left) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
