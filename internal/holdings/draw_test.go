package holdings

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/render"
	"github.com/acapcrawl/acapcrawl/page"
)

// artist is a fake browser. It requests the resources in asks and records what it receives.
type artist struct {
	asks  []string // paths to request, in this order, style sheets first
	given []string // the document and the resources that the browser received
	fails error
}

func (a *artist) Draw(ctx context.Context, p render.Page, get render.Fetch) ([]byte, error) {
	a.given = []string{string(p.Body)}
	for _, path := range a.asks {
		kind := render.Image
		if strings.HasSuffix(path, ".css") {
			kind = render.Sheet
		}
		if part, err := get(ctx, site+path, kind); err == nil {
			a.given = append(a.given, strings.TrimPrefix(part.URL, site))
		}
	}
	return []byte(imageOf(64)), a.fails
}

// gallery returns a publisher with a page, its style sheet and images.
func gallery(robots string) *web {
	w := newWeb(robots)
	w.fails = func(rawurl string) (*page.Page, error) {
		kind, body, urls := "image/png", imageOf(8), []string{rawurl}
		h := http.Header{}
		switch path := strings.TrimPrefix(rawurl, site); path {
		case "/style.css":
			kind, body = "text/css", "body { background: url(/back.png) }"
		case "/moved.png":
			urls = append(urls, site+"/there.png")
		case "/quiet.png":
			h.Set("X-Robots-Tag", "noimageindex, unavailable_after: 2030-01-01T00:00:00Z")
		case "/gone.png":
			return answer(404, rawurl), nil
		}
		h.Set("Content-Type", kind)
		return pageWith(h, 200, body, urls...), nil
	}
	return w
}

const shown = `<html><link rel=stylesheet href=/style.css><img src=/one.png><img src=/moved.png>` +
	`<img src=/quiet.png><img src=/gone.png>` +
	`<p class="the-acap:disallow-follow"><img src=/unfollowed.png></p>` +
	`<p class="the-acap:disallow-present-thumbnail">private</p>`

var wanted = []string{"/style.css", "/other.css", "/back.png", "/one.png", "/moved.png", "/quiet.png", "/gone.png",
	"/unfollowed.png", "/unnamed.png"}

func TestDrawPage(t *testing.T) {
	const all = "/style.css /back.png /one.png /there.png"
	for _, c := range []struct {
		name, robots string
		body         string // the body that may be shown
		o            Options
		fails        error
		given        string // paths of the resources that the browser must receive; "-" if the page must not be drawn
		want         string
	}{
		{name: "a page", given: all, want: "1:64 other"},
		{name: "that may not be preserved", robots: "ACAP-disallow-preserve: /a", given: all, want: "0:64 other"},
		{name: "nor shown small", robots: "ACAP-disallow-present-thumbnail: /a", given: "-"},
		{name: "nor changed in style", robots: "ACAP-allow-present: /a prohibited-modification=style", given: "-"},
		{name: "of which nothing may be cut out", robots: "ACAP-allow-present: /a prohibited-modification=structure",
			given: "-"},
		{name: "in which nothing has to be", robots: "ACAP-allow-present: /a prohibited-modification=structure",
			body: `<img src=/one.png>`, given: "/one.png", want: "1:64 other"},
		{name: "for some readers alone", robots: "ACAP-allow-present: /a target-condition=permittedcountrylist:DE",
			given: all, want: "1:64 other"},
		{name: "that must be shown by another resource (P1 2.5.5.3)",
			robots: "ACAP-allow-present-thumbnail: /a must-use-resource=/one.png", given: "-", want: "1:8 other"},
		{name: "that must be shown by what is gone",
			robots: "ACAP-allow-present-thumbnail: /a must-use-resource=/gone.png", given: "-"},
		{name: "that is taken down", robots: "ACAP-request-take-down: /a", given: "-"},
		{name: "where the operator keeps nothing", o: Options{NoPreserve: true}, given: "-"},
		{name: "when the browser fails", fails: errors.New("it is tired"), given: all},
		{name: "that may not be followed", robots: "ACAP-disallow-follow: /a", given: "", want: "1:64 other"},
		{name: "with an image that may not be crawled", robots: "ACAP-disallow-crawl: /one.png",
			given: "/style.css /back.png /there.png", want: "1:64 other"},
		{name: "nor where it leads", robots: "ACAP-disallow-crawl: /there.png", given: "/style.css /back.png /one.png",
			want: "1:64 other"},
		{name: "with images that may not be shown small",
			robots: "ACAP-disallow-present-thumbnail: /back.png\nACAP-disallow-present: /there.png",
			given:  "/style.css /one.png", want: "1:64 other"},
		{name: "with an image that may be shown to some",
			robots: "ACAP-allow-present: /one.png target-condition=permittedcountrylist:DE",
			given:  "/style.css /back.png /there.png", want: "1:64 other"},
		{name: "with an image that needs its credit",
			robots: "ACAP-allow-present: /one.png must-include-resource=the-acap:credit:text:Gull",
			given:  "/style.css /back.png /there.png", want: "1:64 other"},
		{name: "with an image that may not be made smaller",
			robots: "ACAP-allow-present: /one.png prohibited-modification=format",
			given:  "/style.css /back.png /there.png", want: "1:64 other"},
		{name: "with an image that is taken down", robots: "ACAP-request-take-down: /one.png",
			given: "/style.css /back.png /there.png", want: "1:64 other"},
		{name: "with a style sheet that may not be shown", robots: "ACAP-disallow-present: /style.css", given: all,
			want: "1:64 other"},
		{name: "with a style sheet that may not be crawled", robots: "ACAP-disallow-crawl: /style.css",
			given: "/one.png /there.png", want: "1:64 other"},
		{name: "with a style sheet that may not be followed", robots: "ACAP-disallow-follow: /style.css",
			given: "/style.css /one.png /there.png", want: "1:64 other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			artist := &artist{asks: wanted, fails: c.fails}
			c.o.Drawer = artist
			if c.body == "" {
				c.body = shown
			}
			s := open(t, t.TempDir(), gallery(c.robots), c.o)
			r := s.receive(pageOf(c.body, a))
			given := "-"
			if artist.given != nil {
				given = strings.Join(artist.given[1:], " ")
			}
			if given != c.given || s.pictures(a) != c.want {
				t.Errorf("given %q, want %q; held %q, want %q", given, c.given, s.pictures(a), c.want)
			}
			if given == "-" {
				return
			}
			if strings.Contains(artist.given[0], "private") {
				t.Errorf("drawn of %s", artist.given[0])
			}
			if (r.Undrawn != nil) != (c.fails != nil) || r.Stored != (s.copies(a) != nil) {
				t.Errorf("%+v", r)
			}
			for _, path := range artist.given[1:] {
				if !slices.Contains(s.resource(a).Kept.Sources(), site+path) == (c.want != "") {
					t.Errorf("%s is no source: %q", path, s.resource(a).Kept.Sources())
				}
			}
		})
	}
}

// again receives pg, which must not be drawn a second time.
func (s *store) again(pg *page.Page, fails error) {
	s.Helper()
	artist := s.o.Drawer.(*artist)
	artist.given, artist.fails = nil, fails
	if r := s.receive(pg); artist.given != nil || r.Undrawn != nil {
		s.Errorf("drawn with %q, %v", artist.given, r.Undrawn)
	}
}

// TestEndDrawn checks that a drawing is erased when it is no longer permitted, or when a resource
// that it shows may no longer be used.
func TestEndDrawn(t *testing.T) {
	sweep := func(robots, swept string) func(*store) {
		return func(s *store) {
			s.web.says(robots)
			for _, o := range []SweepOptions{{DryRun: true}, {}} {
				if got := brief(s.sweep(o)); got != swept {
					s.Errorf("swept %q, want %q", got, swept)
				}
			}
			if got := s.sweep(SweepOptions{}); got != nil {
				s.Errorf("and again %q", got)
			}
		}
	}
	erase := func(path string) func(*store) {
		return func(s *store) {
			if _, err := s.Erase(context.Background(), site+path, "asked", ""); err != nil {
				s.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name, robots string
		end          func(*store)
		want         string
	}{
		{"nothing has changed", "", sweep("", ""), "1:64 other"},
		{"something else is prohibited", "", sweep("ACAP-disallow-present: /c", ""), "1:64 other"},
		{"the page may not be shown small", "", sweep("ACAP-disallow-present-thumbnail: /a", "thumbnail1"), ""},
		{"nor changed in structure", "", sweep("ACAP-allow-present: /a prohibited-modification=structure",
			"thumbnail1"), ""},
		{"it must be shown by something else", "",
			sweep("ACAP-allow-present-thumbnail: /a must-use-resource=/cover.png", "thumbnail1"), ""},
		{"an image may not be shown small", "", sweep("ACAP-disallow-present-thumbnail: /one.png", "thumbnail1"), ""},
		{"what led to an image may not be crawled", "", sweep("ACAP-disallow-crawl: /moved.png", "thumbnail1"), ""},
		{"an image is taken down", "", sweep("ACAP-request-take-down: /one.png", "excerpt thumbnail1"), ""},
		{"an image is erased (P04)", "", erase("/one.png"), ""},
		{"a style sheet may not be shown", "", sweep("ACAP-disallow-present: /style.css", ""), "1:64 other"},
		{"a style sheet may not be crawled", "", sweep("ACAP-disallow-crawl: /style.css", "thumbnail1"), ""},
		{"a style sheet is erased", "", erase("/style.css"), ""},
		{"the page is erased", "", erase("/a"), ""},
		{"no copy is held, and it may not be shown", "ACAP-disallow-preserve: /a",
			sweep("ACAP-disallow-preserve: /a\nACAP-disallow-present-thumbnail: /a", "thumbnail"), ""},
		{"its copy is erased (X09)", "", sweep("ACAP-disallow-preserve: /a", "copy1 entry!"), "0:64 other"},
		{"its copy is erased, and an image may not be shown small", "",
			sweep("ACAP-disallow-preserve: /a\nACAP-disallow-present-thumbnail: /one.png", "copy1 entry!"), ""},
		{"it comes again", "", func(s *store) { s.receive(pageOf(shown+"again", a)) }, "2:64 other"},
		{"it comes again, and the browser fails", "", func(s *store) {
			s.o.Drawer.(*artist).fails = render.ErrBusy
			s.receive(pageOf(shown+"again", a))
		}, ""},
		{"it comes unchanged, and is not drawn again", "", func(s *store) { s.again(pageOf(shown, a), render.ErrBusy) },
			"1:64 other"},
		{"nor by a 304", "", func(s *store) { s.again(answer(304, a), render.ErrBusy) }, "1:64 other"},
		{"nor without a browser", "", func(s *store) {
			s.o.Drawer = nil
			s.receive(answer(304, a))
		}, "1:64 other"},
		{"it comes unchanged, and an image may not be shown small any more", "", func(s *store) {
			s.web.says("ACAP-disallow-present-thumbnail: /one.png")
			s.o.Drawer.(*artist).given = nil
			s.receive(pageOf(shown, a))
			if !slices.Contains(s.o.Drawer.(*artist).given, "/back.png") ||
				slices.Contains(s.o.Drawer.(*artist).given, "/one.png") {
				s.Errorf("drawn with %q", s.o.Drawer.(*artist).given)
			}
		}, "1:64 other"},
		{"nor the page", "", func(s *store) {
			s.web.says("ACAP-disallow-present-thumbnail: /a")
			s.again(answer(304, a), nil)
		}, ""},
		{"an image is another one", "", func(s *store) {
			if err := s.eraseDrawing(s.Context(), a, site+"/two.png"); err != nil || s.pictures(a) == "" {
				s.Fatalf("%v, %q", err, s.pictures(a))
			}
			if err := s.remake(s.Context(), a, site+"/one.png", s.sources); err != nil {
				s.Fatal(err)
			}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), gallery(c.robots), Options{Drawer: &artist{asks: wanted}})
			s.receive(pageOf(shown, a))
			if s.pictures(a) == "" {
				t.Fatal("no thumbnail is held")
			}
			c.end(s)
			if got := s.pictures(a); got != c.want {
				t.Errorf("%q is left, want %q", got, c.want)
			}
			if kept := s.resource(a).Kept; (kept.Drawing == nil) != (c.want == "") ||
				(len(kept.Sources()) == 0) != (c.want == "") {
				t.Errorf("kept %+v", kept)
			}
		})
	}
}
