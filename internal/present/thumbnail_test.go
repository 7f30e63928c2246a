package present

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/thumbnail"
	"github.com/acapcrawl/acapcrawl/terms"
)

// picture returns an image that is w pixels wide and half as high.
func picture(t *testing.T, w int) string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, w, w/2))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestThumbnail(t *testing.T) {
	for _, c := range []struct {
		name, now string
		old       bool   // also store an earlier version, an image 100 pixels wide
		body      string // body of the page; "": an image 640 pixels wide
		which     Which
		who       Reader
		width     int
		// the expected failure: "!" and the reason of the refusal; "!" if nothing is stored; "-" if
		// no thumbnail can be made
		want string
	}{
		{name: "the current one", old: true, width: 320},
		{name: "version 1", old: true, which: Which{Version: 1}, width: 100},
		{name: "version 3", old: true, which: Which{Version: 3}, want: "!"},
		{name: "none", now: "ACAP-disallow-present-thumbnail: /", want: "!prohibition"},
		{name: "none, old ones", now: "ACAP-disallow-present-thumbnail: /", old: true, which: Which{Version: 1},
			width: 100},
		{name: "no old ones", now: "ACAP-disallow-present-oldthumbnail: /", old: true, which: Which{Version: 1},
			want: "!prohibition"},
		{name: "no copies, thumbnails", now: "ACAP-disallow-present-currentcopy: /", width: 320},
		{name: "present prohibited now", now: "ACAP-disallow-present: /", want: "!prohibition"},
		{name: "present prohibited, thumbnails not (F17)",
			now: "ACAP-disallow-present: /\nACAP-allow-present-thumbnail: /", width: 320},
		{name: "preserve prohibited now", now: "ACAP-disallow-preserve: /", want: "!prohibition"},
		{name: "appearance must stay (K02)", now: "ACAP-allow-present: / prohibited-modification=appearance",
			want: "!prohibition"},
		{name: "a translation alone is prohibited (K02)",
			now: "ACAP-allow-present: / prohibited-modification=translation", width: 320},
		{name: "too late", now: "ACAP-allow-present-thumbnail: / time-limit=2-days",
			who: Reader{AsOf: noon.AddDate(0, 0, 5)}, want: "!expired"},
		{name: "another country", now: "ACAP-allow-present: / target-condition=prohibitedcountrylist:FR",
			who: Reader{Target: acap.Target{Country: "FR"}}, want: "!target"},
		{name: "a credit that is missing (J12)",
			now: "ACAP-allow-present: / must-include-resource=the-acap:credit:id:nope", want: "!unfulfillable"},
		{name: "taken down, not yet erased", now: "ACAP-request-take-down: /a", want: "!prohibition"},
		{name: "of another resource, which is not at hand", now: "ACAP-allow-present-thumbnail: / must-use-resource=/b",
			want: "!unfulfillable"},
		{name: "of itself (I03)", now: "ACAP-allow-present-thumbnail: / must-use-resource=/a", width: 320},
		{name: "of a page", body: article, want: "-"},
		{name: "of a broken image", body: "\x89PNG\r\n\x1a\n", want: "-"},
		{name: "of a page that forbids it", body: `<meta name="robots" content="ACAP disallow-present-thumbnail">x`,
			want: "!prohibition"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			if c.old {
				s.hold("/a", picture(t, 100))
			}
			if c.body == "" {
				c.body = picture(t, 640)
			}
			s.hold("/a", c.body)
			s.setRobots(c.now)
			got, err := s.Thumbnail(context.Background(), site+"/a", c.which, c.who)
			var refused *acap.Refused
			is := ""
			switch {
			case errors.As(err, &refused):
				is = "!" + string(refused.Decision.Reason)
			case errors.Is(err, ErrNotHeld):
				is = "!"
			case errors.Is(err, thumbnail.ErrNone):
				is = "-"
			case err != nil:
				t.Fatal(err)
			}
			if is != c.want || got.Width != c.width || (got.Body == nil) != (err != nil) ||
				got.Current == (c.which.Version == 1) && err == nil {
				t.Errorf("%q, %d wide, current %v, want %q, %d", is, got.Width, got.Current, c.want, c.width)
			}
			if r, _, _ := s.archive.Resource(site + "/a"); r.FirstPresented.IsZero() != (err != nil) {
				t.Errorf("first presented %v, %v", r.FirstPresented, err)
			}
		})
	}
	t.Run("a credit stands beside it (J07)", func(t *testing.T) {
		s := open(t)
		s.hold("/a", picture(t, 8))
		s.setRobots("ACAP-allow-present: / must-include-resource=the-acap:credit:text:Ada%20Quill")
		got, err := s.Thumbnail(context.Background(), site+"/a", Which{}, Reader{})
		if err != nil || len(got.Include) != 1 || got.Include[0].Text != "Ada Quill" {
			t.Errorf("%+v, %v", got.Include, err)
		}
	})
}

// TestKeptThumbnail checks that a stored thumbnail is shown only if the current terms still permit
// its source. The source is an image of which no copy is stored, or another resource such as a
// cover.
func TestKeptThumbnail(t *testing.T) {
	const use = "ACAP-allow-present-thumbnail: /a must-use-resource=/cover.png\n"
	for _, c := range []struct {
		name, now   string
		other, copy bool
		which       Which
		want        string // format as in TestThumbnail; "": the thumbnail is shown
	}{
		{name: "of an image"},
		{name: "of an image, not now", now: "ACAP-disallow-present-thumbnail: /", want: "!prohibition"},
		{name: "of an image, with a copy to come", now: "ACAP-disallow-preserve: /"},
		{name: "of an image, a version", which: Which{Version: 1}, want: "!"},
		{name: "of an image, another one is required now", now: use, want: "!unfulfillable"},
		{name: "of an image, taken down", now: "ACAP-request-take-down: /a", want: "!prohibition"},
		{name: "of a cover", now: use, other: true, copy: true},
		{name: "of a cover, no copy", now: use + "ACAP-disallow-preserve: /", other: true},
		{name: "of a cover, by the number of its version", now: use, other: true, copy: true, which: Which{Version: 1}},
		{name: "of a cover, and none is required now", other: true, copy: true, want: "-"},
		{name: "of a cover, and none is required now, no copy", other: true, want: "!unfulfillable"},
		{name: "of a cover, which may not be crawled now (I02)", now: use + "ACAP-disallow-crawl: /cover", other: true,
			copy: true, want: "!unfulfillable"},
		{name: "of a cover that is taken down", now: use + "ACAP-request-take-down: /cover.png", other: true,
			copy: true, want: "!unfulfillable"},
		{name: "of a cover, preserve prohibited now", now: use + "ACAP-disallow-preserve: /", other: true, copy: true,
			want: "!prohibition"},
		{name: "of a cover, and another one is required now",
			now: "ACAP-allow-present-thumbnail: /a must-use-resource=/other.png", other: true, copy: true,
			want: "!unfulfillable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			kept := terms.Kept{}
			if c.other {
				kept.SetPicture("/cover.png", []string{site + "/cover.png"})
			}
			d := archive.Deposit{Resource: archive.Resource{URL: site + "/a", Status: 200, MIME: "text/html",
				Kept: kept},
				Fetched: noon, Index: true, Picture: &archive.Picture{MIME: "image/png", Width: 7, Height: 5,
					Body: []byte("small"), Other: c.other}}
			if c.copy {
				d.Body = []byte(article)
			}
			if _, err := s.archive.Receive(context.Background(), d); err != nil {
				t.Fatal(err)
			}
			if err := s.index.Put(index.Document{URL: site + "/a", Title: "Low water", Text: "The pilot",
				Host: "quay.example", Fetched: noon}); err != nil {
				t.Fatal(err)
			}
			s.setRobots(c.now)
			got, err := s.Thumbnail(context.Background(), site+"/a", c.which, Reader{})
			var refused *acap.Refused
			is := ""
			switch {
			case errors.As(err, &refused):
				is = "!" + string(refused.Decision.Reason)
			case errors.Is(err, ErrNotHeld):
				is = "!"
			case errors.Is(err, thumbnail.ErrNone):
				is = "-"
			case err != nil || string(got.Body) != "small" || got.Width != 7 || got.Height != 5 ||
				!got.Fetched.Equal(noon):
				t.Fatalf("%+v, %v", got, err)
			}
			if is != c.want {
				t.Errorf("%q, want %q: %v", is, c.want, err)
			}
			for _, r := range s.search("pilot", Reader{}) {
				if told := r.Thumbnail != nil; told != (c.want == "" || c.which != Which{}) || told &&
					*r.Thumbnail != (Size{7, 5}) {
					t.Errorf("the result tells of %+v", r.Thumbnail)
				}
			}
		})
	}
}
