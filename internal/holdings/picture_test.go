package holdings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/thumbnail"
)

// imageOf returns an image w pixels wide and half as high.
func imageOf(w int) string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, w, w/2))); err != nil {
		panic(err)
	}
	return b.String()
}

// pictures lists the stored thumbnails of an address: version, width, and whether it was made from
// another resource.
func (s *store) pictures(address string) string {
	s.Helper()
	pictured, err := s.archive.Pictured(address)
	if err != nil {
		s.Fatal(err)
	}
	var list []string
	for _, version := range slices.Sorted(maps.Keys(pictured)) {
		p, held, err := s.archive.Picture(address, version)
		if err != nil || !held {
			s.Errorf("%d: %v, %v", version, held, err)
		}
		list = append(list, strings.TrimSuffix(fmt.Sprintf("%d:%d other", version, p.Width),
			map[bool]string{true: "", false: " other"}[p.Other]))
	}
	return strings.Join(list, ", ")
}

const cover = "ACAP-allow-present-thumbnail: /a must-use-resource=/cover.png\n"

func TestReceivePicture(t *testing.T) {
	for _, c := range []struct {
		name, robots, body string
		o                  Options
		want               string
	}{
		{name: "an image: its copy gives it", body: imageOf(8)},
		{name: "an image that may not be preserved", robots: "ACAP-disallow-preserve: /", body: imageOf(8),
			want: "0:8"},
		{name: "nor indexed", robots: "ACAP-disallow-preserve: /\nACAP-disallow-index: /", body: imageOf(8),
			want: "0:8"},
		{name: "nor shown small", robots: "ACAP-disallow-preserve: /\nACAP-disallow-present-thumbnail: /",
			body: imageOf(8)},
		{name: "whose appearance must stay",
			robots: "ACAP-disallow-preserve: /\nACAP-allow-present: / prohibited-modification=appearance",
			body:   imageOf(8)},
		{name: "an image, where the operator keeps no copies", o: Options{NoPreserve: true}, body: imageOf(8)},
		{name: "an image for some readers alone",
			robots: "ACAP-disallow-preserve: /\nACAP-allow-present: / target-condition=permittedcountrylist:DE",
			body:   imageOf(8), want: "0:8"},
		{name: "a page", robots: "ACAP-disallow-preserve: /", body: article},
		{name: "of another resource (P1 2.5.5.3)", robots: cover, body: article, want: "1:16 other"},
		{name: "of another resource, no copy", robots: cover + "ACAP-disallow-preserve: /", body: article,
			want: "0:16 other"},
		{name: "of another resource, taken down", robots: cover + "ACAP-request-take-down: /cover.png", body: article},
		{name: "of a resource that is no image", robots: "ACAP-allow-present-thumbnail: / must-use-resource=/words",
			body: article},
		{name: "of one that is gone", robots: "ACAP-allow-present-thumbnail: / must-use-resource=/gone.png",
			body: article},
		{name: "of an image of the page",
			robots: "ACAP-allow-present-thumbnail: / must-use-resource=the-acap:extract:id:i",
			body:   `<img id=i src="/cover.png">`, want: "1:16 other"},
		// the permission for / and the permission for /a require two different resources, so no
		// thumbnail can be made
		{name: "of itself", robots: cover +
			"ACAP-disallow-preserve: /\nACAP-allow-present-thumbnail: /a must-use-resource=/a", body: imageOf(8)},
		{name: "taken down", robots: cover + "ACAP-request-take-down: /a", body: article},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWeb(c.robots)
			w.parts[site+"/cover.png"], w.parts[site+"/words"] = imageOf(16), "words"
			s := open(t, t.TempDir(), w, c.o)
			s.receive(pageOf(c.body, a))
			if got := s.pictures(a); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			r := s.resource(a)
			kept := r.Kept
			if other := strings.Contains(c.want, "other"); other != (kept.Picture != "") ||
				other != slices.Contains(r.Kept.Sources(), site+"/cover.png") {
				t.Errorf("kept %+v, of %q", kept, r.Kept.Sources())
			}
		})
	}
}

// TestEndPicture checks that a thumbnail is erased when it is no longer permitted, or when the
// resource it was made from may no longer be used.
func TestEndPicture(t *testing.T) {
	const bare = "ACAP-disallow-preserve: /\n"
	erase := func(path string) func(*store) {
		return func(s *store) {
			if _, err := s.Erase(context.Background(), site+path, "asked", ""); err != nil {
				s.Fatal(err)
			}
		}
	}
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
	again := func(body string) func(*store) {
		return func(s *store) { s.receive(pageOf(body, a)) }
	}
	for _, c := range []struct {
		name, robots, body string
		end                func(*store)
		want               string
	}{
		{"nothing has changed", bare, imageOf(8), sweep(bare, ""), "0:8"},
		{"the page is erased", bare, imageOf(8), erase("/a"), ""},
		{"it may not be shown", bare, imageOf(8), sweep(bare+"ACAP-disallow-present-thumbnail: /a", "thumbnail"), ""},
		{"to some readers alone", bare, imageOf(8),
			sweep(bare+"ACAP-allow-present: / target-condition=permittedcountrylist:DE", ""), "0:8"},
		{"another one must be used", bare, imageOf(8), sweep(bare+cover, "thumbnail"), ""},
		{"nothing else is held, and it may not be shown", bare + "ACAP-disallow-index: /", imageOf(8),
			sweep(bare+"ACAP-disallow-index: /\nACAP-disallow-present: /", "thumbnail"), ""},
		{"nothing else is held", bare + "ACAP-disallow-index: /", imageOf(8), sweep(bare+"ACAP-disallow-index: /", ""),
			"0:8"},
		{"the page is taken down", bare, imageOf(8), sweep(bare+"ACAP-request-take-down: /a", "entry"), ""},
		{"nothing else is held, and it is taken down", bare + "ACAP-disallow-index: /", imageOf(8),
			sweep("ACAP-request-take-down: /a", "thumbnail"), ""},
		{"an image that may be preserved now", bare, imageOf(8),
			func(s *store) { s.web.says(""); s.receive(pageOf(imageOf(8), a)) }, ""},
		{"it is no image now", bare, imageOf(8), again(article), ""},
		{"it is gone", bare, imageOf(8), func(s *store) { s.receive(answer(404, a)) }, ""},
		{"of another: the page is erased", cover, article, erase("/a"), ""},
		{"of another: what it is made of is erased (P04)", cover, article, erase("/cover.png"), ""},
		{"of another: something else is erased", cover, article, erase("/other.png"), "1:16 other"},
		{"of another: what it is made of is taken down", cover, article,
			sweep(cover+"ACAP-request-take-down: /cover.png", "excerpt thumbnail1"), ""},
		{"of another: the copy goes, the entry stays", cover, article, sweep(cover+bare, "copy1 entry!"), "0:16 other"},
		{"of another: the copy goes, and so does what it was made of", cover, article,
			sweep(cover+bare+"ACAP-request-take-down: /cover.png", "copy1 entry! excerpt"), ""},
		{"of another: the copy goes, and another one must be used", cover, article,
			sweep(bare+"ACAP-allow-present-thumbnail: /a must-use-resource=/other.png", "copy1 entry!"), ""},
		{"of another: the page may not be shown small", cover, article, sweep("ACAP-disallow-present-thumbnail: /",
			"thumbnail1"), ""},
		{"of another: it comes again", cover, article, again(article + "again"), "2:16 other"},
		{"of another: it comes without", cover, article,
			func(s *store) { delete(s.web.parts, site+"/cover.png"); again(article + "again")(s) }, ""},
		{"of another: unchanged, by a 304", cover, article, func(s *store) {
			s.web.parts[site+"/cover.png"] = imageOf(20)
			s.receive(answer(304, a))
		}, "1:20 other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWeb(c.robots)
			w.parts[site+"/cover.png"] = imageOf(16)
			s := open(t, t.TempDir(), w, Options{})
			s.receive(pageOf(c.body, a))
			if s.pictures(a) == "" {
				t.Fatal("no thumbnail is held")
			}
			c.end(s)
			if got := s.pictures(a); got != c.want {
				t.Errorf("%q is left, want %q", got, c.want)
			}
			if got := s.resource(a).Kept.Picture; (got != "") != strings.Contains(c.want, "other") {
				t.Errorf("kept of %q", got)
			}
		})
	}
}

// TestSavePicture checks that a thumbnail that may be shown stays when the copy of the page may no
// longer be stored (X09). It also checks that the thumbnail shows nothing prohibited.
func TestSavePicture(t *testing.T) {
	const bare = "ACAP-disallow-preserve: /\n"
	for _, c := range []struct {
		name, body  string
		before, now string
		swept, want string
	}{
		{"the copy stays", imageOf(8), "", "", "", ""},
		{"the copy goes", imageOf(8), "", bare, "copy1 entry!", "0:8"},
		{"the copy goes, and the entry with it", imageOf(8), "", bare + "ACAP-disallow-index: /", "copy1 entry", "0:8"},
		{"it may not be shown small", imageOf(8), "", bare + "ACAP-disallow-present-thumbnail: /", "copy1 entry!", ""},
		{"it may not be shown", imageOf(8), "", bare + "ACAP-disallow-present: /", "copy1 entry!", ""},
		{"it may not be made smaller (X28)", imageOf(8), "", bare +
			"ACAP-allow-present: / prohibited-modification=appearance", "copy1 entry!", ""},
		{"another must be shown by now", imageOf(8), "", bare + cover, "copy1 entry!", ""},
		{"some readers may see it", imageOf(8), "", bare +
			"ACAP-allow-present: / target-condition=permittedcountrylist:DE", "copy1 entry!", "0:8"},
		{"it is no image", article, "", bare, "copy1 entry!", ""},
		{"it is broken", imageOf(8)[:60], "", bare, "copy1 entry!", ""},
		{"it is taken down", imageOf(8), "", bare + "ACAP-request-take-down: /a", "copy1 entry", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(c.before), Options{})
			s.receive(pageOf(c.body, a))
			s.web.says(c.now)
			for _, o := range []SweepOptions{{DryRun: true}, {}} {
				if got := brief(s.sweep(o)); got != c.swept {
					t.Errorf("swept %q, want %q", got, c.swept)
				}
			}
			if got := s.sweep(SweepOptions{}); got != nil {
				t.Errorf("and again %q", got)
			}
			if got := s.pictures(a); got != c.want {
				t.Errorf("%q is held, want %q", got, c.want)
			}
		})
	}
}

// TestSavePictureFails makes each write of a sweep fail in turn. The next sweep must complete the
// work, and no thumbnail may be lost.
func TestSavePictureFails(t *testing.T) {
	for _, c := range []struct{ body, robots, want string }{
		{imageOf(8), "ACAP-disallow-index: /\n", "0:8"},
		{article, "ACAP-disallow-index: /\n" + cover, "0:16 other"},
	} {
		for n := int32(1); ; n++ {
			var left atomic.Int32
			w := newWeb(c.robots)
			w.parts[site+"/cover.png"] = imageOf(16)
			s := openWith(t, t.TempDir(), w, Options{}, archive.Options{Fault: func(step archive.Step) error {
				if step == archive.Commit && left.Add(-1) == 0 {
					return errors.New("the disk is full")
				}
				return nil
			}})
			s.receive(pageOf(c.body, a))
			s.web.says(c.robots + "\nACAP-disallow-preserve: /")
			left.Store(n)
			_, failed := s.Sweep(context.Background(), SweepOptions{}, nil)
			left.Store(0)
			if _, err := s.Sweep(context.Background(), SweepOptions{}, nil); err != nil {
				t.Fatal(err)
			}
			if got := s.pictures(a); got != c.want || len(s.copies(a)) > 0 {
				t.Errorf("write %d: %q is held, want %q", n, got, c.want)
			}
			s.shut()
			if failed == nil {
				if n < 3 {
					t.Errorf("a sweep of %d writes", n-1)
				}
				break
			}
		}
	}
}

// TestEraseSourceFails makes each write of an erasure fail in turn, with all later ones. A repeated erasure must
// complete the work, and must leave no data without a record.
func TestEraseSourceFails(t *testing.T) {
	const many = 1000
	for n := int32(0); ; n++ {
		var left atomic.Int32
		left.Store(many)
		w := newWeb(cover)
		w.parts[site+"/cover.png"] = imageOf(16)
		s := openWith(t, t.TempDir(), w, Options{}, archive.Options{Fault: func(step archive.Step) error {
			if step == archive.Commit && left.Add(-1) < 0 {
				return errors.New("the disk is full")
			}
			return nil
		}})
		s.receive(pageOf(article, a))
		s.receive(pageOf(imageOf(16), site+"/cover.png"))
		left.Store(n)
		_, failed := s.Erase(context.Background(), site+"/cover.png", "asked", "")
		left.Store(many)
		if failed != nil {
			if _, err := s.Erase(context.Background(), site+"/cover.png", "asked", ""); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.pictures(a); got != "" || len(s.copies(site+"/cover.png")) > 0 ||
			s.resource(a).Kept.Sources() != nil {
			t.Errorf("after %d writes: %q is left, of %q", n, got, s.resource(a).Kept.Sources())
		}
		if failed == nil {
			if n < 3 {
				t.Errorf("an erasure of %d writes", n)
			}
			return
		}
		s.shut()
	}
}

// TestDrawingRemembers checks that an image used as thumbnail by many pages is decoded only once.
func TestDrawingRemembers(t *testing.T) {
	var d drawing
	for i := range 2 * mostDrawn {
		src := []byte(imageOf(2 + 2*i))
		first, err := d.make(src)
		again, failed := d.make(src)
		if err != nil || failed != nil || first.Width != min(2+2*i, 320) || &first.Body[0] != &again.Body[0] ||
			len(d.made) > mostDrawn {
			t.Fatalf("%d: %d wide, %d remembered, %v, %v", i, first.Width, len(d.made), err, failed)
		}
	}
	if _, err := d.make([]byte("no image")); !errors.Is(err, thumbnail.ErrNone) {
		t.Error(err)
	}
}
