package present

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/thumbnail"
)

// picture is an image w pixels wide and half as high.
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
		old       bool   // an earlier version is held, 100 pixels wide
		body      string // "": an image 640 pixels wide
		which     Which
		who       Reader
		width     int
		want      string // reason of the refusal after "!"; "!" where nothing is held, "-" where none can be made
	}{
		{name: "the current one", old: true, width: 320},
		{name: "version 1", old: true, which: Which{Version: 1}, width: 100},
		{name: "version 3", old: true, which: Which{Version: 3}, want: "!"},
		{name: "none", now: "ACAP-disallow-present-thumbnail: /", want: "!prohibition"},
		{name: "none, old ones", now: "ACAP-disallow-present-thumbnail: /", old: true, which: Which{Version: 1}, width: 100},
		{name: "no old ones", now: "ACAP-disallow-present-oldthumbnail: /", old: true, which: Which{Version: 1}, want: "!prohibition"},
		{name: "no copies, thumbnails", now: "ACAP-disallow-present-currentcopy: /", width: 320},
		{name: "present prohibited now", now: "ACAP-disallow-present: /", want: "!prohibition"},
		{name: "present prohibited, thumbnails not (F17)", now: "ACAP-disallow-present: /\nACAP-allow-present-thumbnail: /", width: 320},
		{name: "preserve prohibited now", now: "ACAP-disallow-preserve: /", want: "!prohibition"},
		{name: "appearance must stay (K02)", now: "ACAP-allow-present: / prohibited-modification=appearance", want: "!prohibition"},
		{name: "a translation alone is prohibited (K02)", now: "ACAP-allow-present: / prohibited-modification=translation", width: 320},
		{name: "too late", now: "ACAP-allow-present-thumbnail: / time-limit=2-days", who: Reader{AsOf: noon.AddDate(0, 0, 5)}, want: "!expired"},
		{name: "another country", now: "ACAP-allow-present: / target-condition=prohibitedcountrylist:FR", who: Reader{Target: acap.Target{Country: "FR"}}, want: "!target"},
		{name: "a credit that is missing (J12)", now: "ACAP-allow-present: / must-include-resource=the-acap:credit:id:nope", want: "!unfulfillable"},
		{name: "taken down, not yet erased", now: "ACAP-request-take-down: /a", want: "!prohibition"},
		{name: "of another resource, which is not at hand", now: "ACAP-allow-present-thumbnail: / must-use-resource=/b", want: "!unfulfillable"},
		{name: "of itself (I03)", now: "ACAP-allow-present-thumbnail: / must-use-resource=/a", width: 320},
		{name: "of a page", body: article, want: "-"},
		{name: "of a broken image", body: "\x89PNG\r\n\x1a\n", want: "-"},
		{name: "of a page that forbids it", body: `<meta name="robots" content="ACAP disallow-present-thumbnail">x`, want: "!prohibition"},
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
			s.says(c.now)
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
			if is != c.want || got.Width != c.width || (got.Body == nil) != (err != nil) || got.Current == (c.which.Version == 1) && err == nil {
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
		s.says("ACAP-allow-present: / must-include-resource=the-acap:credit:text:Ada%20Quill")
		got, err := s.Thumbnail(context.Background(), site+"/a", Which{}, Reader{})
		if err != nil || len(got.Include) != 1 || got.Include[0].Text != "Ada Quill" {
			t.Errorf("%+v, %v", got.Include, err)
		}
	})
}
