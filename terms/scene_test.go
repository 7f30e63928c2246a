package terms

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/kept"
	"github.com/acapcrawl/acapcrawl/page"
)

// TestDrawnThenAndNow checks that a drawing of a page is shown only while the page and all
// resources in the drawing may be shown.
func TestDrawnThenAndNow(t *testing.T) {
	const there = "http://other.example"
	body := `<link rel=stylesheet href="` + there + `/s.css"><img src="` + there +
		`/i.png"><p class="the-acap:disallow-present-thumbnail">shut</p>`
	for _, c := range []struct{ name, robots, others, want string }{
		{name: "nothing has changed"},
		{name: "the page may not be shown small", robots: "ACAP-disallow-present: /", want: "disallow-present"},
		{name: "of the page nothing may be missing", robots: "ACAP-allow-present: / prohibited-modification=structure",
			want: "shows what may not"},
		{name: "something else must be used", robots: "ACAP-allow-present-thumbnail: / must-use-resource=/cover.jpg",
			want: "not available until"},
		{name: "the image may not be crawled", others: "ACAP-disallow-crawl: /i.png", want: "other.example/i.png"},
		{name: "nor shown small", others: "ACAP-disallow-present-thumbnail: /i.png", want: "other.example/i.png"},
		{name: "nor without a credit",
			others: "ACAP-allow-present: /i.png must-include-resource=the-acap:credit:text:Gull",
			want:   "something else"},
		{name: "the image is taken down", others: "ACAP-request-take-down: /i.png", want: "taken down"},
		{name: "the style sheet may not be crawled", others: "ACAP-disallow-crawl: /s.css",
			want: "other.example/s.css"},
		{name: "the style sheet may not be shown", others: "ACAP-disallow-present: /s.css"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{robots: map[string]string{there: ""}, pages: map[string]string{there + "/s.css": "p{}", there +
				"/i.png": "image", site + "/cover.jpg": "cover"}}
			fresh := of(t, w, "", body)
			scene, err := fresh.Scene()
			if err != nil || strings.Contains(string(scene.Body), "shut") {
				t.Fatalf("%v, drawn of %s", err, scene.Body)
			}
			if _, err := scene.Sheet(t.Context(), there+"/s.css"); err != nil {
				t.Fatal(err)
			}
			if _, err := scene.Image(t.Context(), there+"/i.png"); err != nil {
				t.Fatal(err)
			}
			if _, err := scene.Image(t.Context(), there+"/j.png"); err == nil {
				t.Error("an image that the page does not name was fetched")
			}
			content, _ := fresh.Text()
			kept := fresh.Keep(true, content)
			scene.Note(&kept)
			w.robots[there] = "ACAP-version: 1.1\nACAP-crawler: *\n" + c.others
			tm := held(t, w, fresh, c.robots, true).Keeping(kept)
			p, d := tm.Picture(acap.PresentThumbnail)
			if d.Allowed != (c.want == "") || d.Allowed && (!p.Drawn || !p.Other()) ||
				!strings.Contains(d.Why(), c.want) {
				t.Errorf("shown: %+v, %s", p, d.Why())
			}
			if _, fits := tm.FitsPicture(acap.PresentThumbnail, kept, true); fits != (c.want == "") {
				t.Errorf("stays: %v", fits)
			}
		})
	}
}

// TestDrawnOfMore checks that a drawing is not shown if it contains an element that is prohibited
// now.
func TestDrawnOfMore(t *testing.T) {
	w := &world{pages: map[string]string{}}
	fresh := of(t, w, "", `<p class="the-acap:disallow-present-thumbnail">shut</p><p>open`)
	stored := Kept{Drawing: &kept.Drawing{}}
	tm := held(t, w, fresh, "", false).Keeping(stored)
	if _, d := tm.Picture(acap.PresentThumbnail); d.Allowed {
		t.Error("it is shown")
	}
	if d, fits := tm.FitsPicture(acap.PresentThumbnail, stored, true); fits || d.Because == nil {
		t.Errorf("it stays: %+v", d)
	}
	// X63: if no policy can be read, stored data is kept but not shown.
	w.robots = map[string]string{}
	stored = Kept{Drawing: &kept.Drawing{Aside: fresh.Aside(acap.PresentThumbnail), Part: true},
		Of: map[string][]string{kept.DrawnImages: {"http://other.example/i.png"}}}
	tm = held(t, w, fresh, "", false).Keeping(stored)
	if _, d := tm.Picture(acap.PresentThumbnail); d.Allowed {
		t.Error("it is shown although nobody knows whether it may be")
	}
	if _, fits := tm.FitsPicture(acap.PresentThumbnail, stored, true); !fits {
		t.Error("it ends although nobody says so")
	}
}

// watched records which policies are requested, and whether these requests keep the deadline.
type watched struct {
	*world
	asked []string
	late  bool // a policy was requested with another context than that of the request, and so with another deadline
}

func (w *watched) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	w.asked = append(w.asked, u.Host)
	w.late = w.late || ctx.Value(w) == nil
	return w.world.Policy(ctx, u)
}

// TestSceneAsks checks that only addresses named by the page are requested, and that the deadline
// of a request also applies to requests for policies.
func TestSceneAsks(t *testing.T) {
	const there = "http://other.example"
	w := &watched{world: &world{robots: map[string]string{there: ""}, pages: map[string]string{there + "/s.css": "p{}",
		there + "/i.png": "image"}}}
	fresh := of(t, w.world, "", `<link rel=stylesheet href="`+there+`/s.css"><img src="`+there+
		`/i.png"><img class="the-acap:disallow-follow" src="http://shut.example/i.png">`)
	fresh.sources.Policies = w
	scene, err := fresh.Scene()
	if err != nil {
		t.Fatal(err)
	}
	w.asked, w.late = nil, false
	ctx := context.WithValue(t.Context(), w, true)
	for _, obtain := range []func(context.Context, string) (*page.Page, error){scene.Image, scene.Sheet} {
		if _, err := obtain(ctx, "http://shut.example/i.png"); !errors.Is(err, errUnnamed) || w.asked != nil {
			t.Errorf("%v, asked %q", err, w.asked)
		}
	}
	if _, err := scene.Sheet(ctx, there+"/s.css"); err != nil {
		t.Error(err)
	}
	if _, err := scene.Image(ctx, there+"/i.png"); err != nil {
		t.Error(err)
	}
	if w.asked == nil || w.late {
		t.Errorf("asked %q, outside of the request: %v", w.asked, w.late)
	}
}

// TestSceneOfOneReading checks that a page is not drawn if a browser could parse the HTML
// differently from this program.
func TestSceneOfOneReading(t *testing.T) {
	for body, want := range map[string]bool{
		`<p>open<noscript><b>plain</b></noscript><p class="the-acap:disallow-present-thumbnail">shut`: true,
		`<p>open<noscript><div class="the-acap:disallow-present-thumbnail"></noscript>` +
			`<p>shut<noscript></div></noscript>`: false,
		`<p>open<iframe srcdoc="<p class='the-acap:disallow-present-thumbnail'>shut"></iframe>`: false,
	} {
		if scene, err := of(t, &world{}, "", body).Scene(); (scene != nil) != want || (err == nil) != want {
			t.Errorf("%s: %v, %v", body, scene != nil, err)
		}
	}
}

// TestSceneForATime checks that an image with a time limit of its own is not drawn as part of a
// page.
func TestSceneForATime(t *testing.T) {
	for _, c := range []struct {
		limit string
		drawn bool
	}{
		{"until-2100-01-01", true}, {"until-2020-01-01", false}, {"9-days", false}, {"0-days", false},
		{"until-recrawled", false},
		// a date so far in the future is replaced by the latest possible date
		{"200000-days", false}, {"9999999-days", true},
	} {
		w := &world{pages: map[string]string{site + "/i.png": "image"}}
		fresh := of(t, w, "ACAP-allow-present: /i.png time-limit="+c.limit, `<img src="/i.png">`)
		scene, err := fresh.Scene()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scene.Image(t.Context(), site+"/i.png"); (err == nil) != c.drawn {
			t.Errorf("%s: %v", c.limit, err)
		}
		held := *fresh
		if _, err := held.Keeping(Kept{Drawing: &kept.Drawing{},
			Of: map[string][]string{kept.DrawnImages: {site + "/i.png"}}}).checkDrawing(acap.PresentThumbnail,
			fresh.Decide(acap.PresentThumbnail)); (err == nil) != c.drawn {
			t.Errorf("%s, held: %v", c.limit, err)
		}
	}
}
