package terms

import (
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// TestPicture checks the source of a thumbnail when the page is received, and later from stored
// data. Pages of other hosts contain their host name.
func TestPicture(t *testing.T) {
	const use = "ACAP-allow-present-thumbnail: / must-use-resource="
	for _, c := range []struct {
		name, robots, body string
		want               string // the expected body, or "!" and a part of the refusal's note
		of                 string
		held               string // the expected body when answering from stored data; "" means equal to want
	}{
		{name: "the page", body: article, want: article},
		{name: "prohibited", robots: "ACAP-disallow-present-thumbnail: /", body: article, want: "!"},
		{name: "less a part (N28)", body: `<p>Open <b class="the-acap:disallow-present-thumbnail">shut</b> quay.`,
			want: "<p>Open  quay."},
		{name: "another resource", robots: use + "/cover.jpg", body: article, want: "cover", of: site + "/cover.jpg",
			held: "-"},
		{name: "the page itself (I03)", robots: use + "/a.html", body: article, want: article},
		{name: "a text", robots: use + "the-acap:text:Quay", body: article, want: "!text"},
		{name: "an image of the page", robots: use + "the-acap:extract:id:i",
			body: `<img id=i src="//other.example/i.png">`, want: "image", of: "http://other.example/i.png", held: "-"},
		{name: "an image of the page that may not be crawled (I02)", robots: use + "the-acap:extract:id:i",
			body: `<img id=i src="/shut.png">`, want: "!shut", held: "!not available until"},
		{name: "a part without an image", robots: use + "the-acap:extract:id:by", body: article,
			want: "!no such image"},
		{name: "a part that is missing (I01)", robots: use + "the-acap:extract:id:nope", body: article,
			want: "!no such part", held: "!no such image"},
		{name: "an image that may not be shown", robots: use + "the-acap:extract:id:i",
			body: `<p id=i class="the-acap:disallow-present-thumbnail"><img src="/cover.jpg"></p>`,
			want: "!no such image"},
		{name: "what is gone", robots: use + "/gone.jpg", body: article, want: "!404", held: "!not available until"},
		{name: "a credit that is missing",
			robots: "ACAP-allow-present: / must-include-resource=the-acap:credit:id:nope", body: article,
			want: "!no such part"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{robots: map[string]string{"http://other.example": ""},
				pages: map[string]string{site + "/cover.jpg": "cover", "http://other.example/i.png": "image"}}
			robots := "ACAP-disallow-crawl: /shut\n" + c.robots
			fresh := of(t, w, robots, c.body)
			is := func(what string, tm *Terms, want string) Picture {
				t.Helper()
				p, d := tm.Picture(acap.PresentThumbnail)
				got := string(p.Body)
				if !d.Allowed {
					got = "!" + d.Note
				} else if p.Body == nil {
					got = "-"
				}
				if strings.HasPrefix(want, "!") != !d.Allowed || !strings.Contains(got, strings.TrimPrefix(want, "!")) {
					t.Errorf("%s: %q, want %q", what, got, want)
				}
				return p
			}
			p := is("received", fresh, c.want)
			if strings.Join(p.Of, " ") != c.of {
				t.Errorf("of %q, want %q", p.Of, c.of)
			}
			content, _ := fresh.Text()
			kept := fresh.Keep(true, content)
			if p.Of != nil {
				kept.SetPicture(p.From, p.Of)
			}
			if c.held == "" {
				c.held = c.want
			}
			asked := len(w.fetched)
			tm := held(t, w, fresh, robots, true)
			is("held", tm.Keeping(kept), c.held)
			if len(w.fetched) != asked {
				t.Errorf("fetched %q to show what is held", w.fetched[asked:])
			}
			if p.Of == nil {
				return
			}
			if !slices.Contains(kept.Sources(), c.of) {
				t.Errorf("sources %q", kept.Sources())
			}
			less, changed, _ := kept.Without(c.of)
			if !changed || slices.Contains(less.Sources(), c.of) {
				t.Errorf("without it: %+v", less)
			}
			is("withdrawn", held(t, w, fresh, robots, true).Keeping(less), "!not available until")
			w.robots["http://other.example"] = "ACAP-crawler: *\nACAP-disallow-crawl: /"
			is("no longer to be crawled", held(t, w, fresh, robots+"\nACAP-disallow-crawl: /cover", true).Keeping(kept),
				"!crawl")
			is("another one is required now",
				held(t, w, fresh, strings.ReplaceAll(robots, "must-use-resource=", "must-use-resource=/x"),
					true).Keeping(kept), "!")
		})
	}
}
