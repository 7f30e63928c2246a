package page

import (
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
)

func encoded(t testing.TB, label, s string) string {
	t.Helper()
	enc, _ := charset.Lookup(label)
	out, err := enc.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCharset(t *testing.T) {
	russian := "<p>" + strings.Repeat("Первый паром покинул гавань, и толпа ликовала. ", 20)
	japanese := "<p>" + strings.Repeat("最初の船が港を出ていくと、人々は歓声を上げました。", 20)
	for _, c := range []struct{ name, header, body, want string }{
		{"utf-8", "text/html; charset=UTF-8", "<p>Ærø", "Ærø"},
		{"utf-8, broken", "text/html; charset=utf-8", "<p>a\xffb", "a\uFFFDb"},
		{"mark before header", "text/html; charset=windows-1252", "\xef\xbb\xbf<p>Ærø", "Ærø"},
		{"utf-16 by mark", "text/html", "\xff\xfe" + encoded(t, "utf-16le", "<p>Ærø"), "Ærø"},
		{"header", "text/html; Charset = 'iso-8859-1'", "<meta charset=utf-8><p>\xc6r\xf8", "Ærø"},
		{"unknown header, meta", "text/html; charset=none-such", "<meta charset='windows-1251'><p>" +
			encoded(t, "windows-1251", "паром"), "паром"},
		{"meta content-type", "text/html", `<META http-equiv=Content-Type content="text/html; charset=Shift_JIS"><p>` +
			encoded(t, "shift_jis", "港"), "港"},
		{"xml declaration", "application/xhtml+xml", `<?xml version="1.0" encoding="iso-8859-2"?><p>` +
			encoded(t, "iso-8859-2", "Łódź") + "</p>", "Łódź"},
		{"undeclared, late utf-8", "text/html", "<p>" + strings.Repeat("a", 5000) + "ø", strings.Repeat("a", 5000) +
			"ø"},
		{"undeclared windows-1251", "text/html", encoded(t, "windows-1251", russian), strings.TrimSpace(russian[3:])},
		{"undeclared euc-jp", "text/html", encoded(t, "euc-jp", japanese), japanese[3:]},
		{"plain text, latin", "text/plain; charset=latin1", "\xc6r\xf8", "Ærø"},
		{"meta in plain text is text", "text/plain", "<meta charset=windows-1251> ø", "<meta charset=windows-1251> ø"},
	} {
		if got := fetched(c.header, c.body).Text(Cut{}); got != c.want {
			t.Errorf("%s: %.80q", c.name, got)
		}
		// a browser that obeys Charset reads the same
		p := fetched(c.header, c.body)
		enc, _ := charset.Lookup(p.Charset())
		if text, err := enc.NewDecoder().String(c.body); err != nil ||
			strings.TrimPrefix(text, "\ufeff") != p.Source() {
			t.Errorf("%s: %s does not read the same: %v", c.name, p.Charset(), err)
		}
	}
}

func TestGuessIsStable(t *testing.T) {
	body := []byte("caf\xe9 na\xefve \x93so\x94")
	want := guess(body, false)
	for range 50 {
		if got := guess(body, false); got != want {
			t.Fatalf("%s, then %s", want, got)
		}
	}
}
