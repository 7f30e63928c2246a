package view

import (
	"net/http"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/rewrite"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

// FuzzCopies checks answers to arbitrary paths: no fault of the archive, and no page of an archived site outside the
// sandbox.
func FuzzCopies(f *testing.F) {
	s, h := stocked(f)
	s.Hold("/a", "<p>inside", noon)
	s.Hold("/a", "<p>inside, later", noon.AddDate(0, 0, 1))
	for _, path := range []string{"", "/x/../a", "/%61#b", "?\x00", "//\\", "/\u202e"} {
		f.Add("/raw/20260105120000/" + stock.Site + path)
		f.Add("/compare/20260105120000/20260106120000/" + stock.Site + path)
		f.Add("/copy/20260105120000/" + stock.Site + path)
		f.Add("/thumbnail/20260105120000/" + stock.Site + path)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		w := ask(h, "GET", sent)
		if w.Code >= 500 || w.Code == 200 && strings.HasPrefix(sent, "/raw/") &&
			w.Header().Get("Content-Security-Policy") != copyPolicy {
			t.Errorf("%q: %d %v", sent, w.Code, w.Header())
		}
	})
}

// FuzzSent checks that a browser shows HTML without changes only if nothing in it contacts other hosts, in the
// encoding that the answer names.
func FuzzSent(f *testing.F) {
	f.Add("text/html", "<link rel=preconnect href=//evil.example>", false)
	f.Add("text/html; charset=gb18030", "\x81\x30<iframe src=//evil.example>", false)
	f.Add("", "<html><meta charset=euc-jp>\x8f", true)
	f.Fuzz(func(t *testing.T, kind, body string, change bool) {
		c := present.Copy{URL: stock.Site + "/a", Status: 200, Header: http.Header{"Content-Type": {kind}},
			Body: []byte(body), Rewritable: change}
		p := pageOf(c)
		how := sentOf(p, c)
		got, err := how.body(t.Context(), p, c, noon)
		if err != nil {
			t.Fatal(err)
		}
		if !change && string(got) != body || change && how.change && p.HTML() &&
			how.kind != "text/html; charset=utf-8" {
			t.Fatalf("%s: %q", how.kind, got)
		}
		if how.inline && strings.HasPrefix(how.kind, "text/html") {
			text := string(got)
			if !how.change {
				text = p.Source()
			}
			if found, err := rewrite.Foreign(strings.NewReader(text)); err != nil || !how.change && len(found) > 0 {
				t.Errorf("%s: %v, %v in %q", how.kind, found, err, text)
			}
		}
		if how.kind == "" || !printable(how.kind) {
			t.Errorf("%q", how.kind)
		}
	})
}
