package page

import (
	"reflect"
	"testing"
)

func TestLinksOfHarbour(t *testing.T) {
	want := []string{
		"http://www.example.org/news/page2.html",
		"http://feeds.example.org/ships.xml",
		"http://www.example.org/news/tickets.html",
		"http://www.example.org/plain",
		"https://maps.example.org/harbour",
		"http://www.example.org/ARCHIVE/a%20b.html?q=%C3%B8",
		"http://quay.example.org/",
	}
	if got := fixture(t, "harbour.html").Links(Cut{}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestLinksUnderMarks(t *testing.T) {
	p := htmlPage(`<link rel=next href=1><a href=2>x</a>` +
		`<p class=the-acap:disallow-follow><a href=3>x</a><a href=2>x</a></p>
<p class=the-acap:allow-follow><a href=4>x</a><iframe src=5 class=the-acap:disallow-follow></iframe></p>`)
	at := func(names ...string) (links []string) {
		for _, n := range names {
			links = append(links, "http://www.example.org/news/"+n)
		}
		return links
	}
	if got := p.Links(without("follow", true)); !reflect.DeepEqual(got, at("1", "2", "4")) {
		t.Errorf("permitted page: %q", got)
	}
	if got := p.Links(without("follow", false)); !reflect.DeepEqual(got, at("4")) {
		t.Errorf("prohibited page: %q", got)
	}
}

func TestResolve(t *testing.T) {
	for ref, want := range map[string]string{
		"x.html":                      "http://www.example.org/news/x.html",
		"":                            address,
		"#part":                       address,
		"?page=2#x":                   address + "?page=2",
		" \n/a\tb/../c ":              "http://www.example.org/c",
		"//host.example":              "http://host.example/",
		"HTTPS://Host.Example:443/A":  "https://host.example/A",
		"http://host.example:8080":    "http://host.example:8080/",
		"http://bücher.example/ü?ü":   "http://xn--bcher-kva.example/%C3%BC?%C3%BC",
		"/100%":                       "http://www.example.org/100%25",
		"/a%2Fb?x=%2f&y=a b":          "http://www.example.org/a%2Fb?x=%2f&y=a%20b",
		"mailto:a@b.example":          "",
		"ftp://host.example/":         "",
		"data:text/html,x":            "",
		"http:":                       "",
		"http:///path":                "",
		"http://[::1":                 "",
		"http://host.example:port/":   "",
		"http://ex\u00a0ample.org/":   "",
		"tel:+100":                    "",
		"http://host.example/a?b#c?d": "http://host.example/a?b",
	} {
		got, ok := newBase(htmlPage("").URL(), &tree{}).resolve(ref)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q", ref, got)
		}
	}
}

func TestBase(t *testing.T) {
	for href, want := range map[string]string{
		"/dir/":                 "http://www.example.org/dir/x",
		"https://b.example/y/z": "https://b.example/y/x",
		"data:text/html,x":      "http://www.example.org/news/x",
		"javascript:1":          "http://www.example.org/news/x",
		"http://[::1":           "http://www.example.org/news/x",
	} {
		p := htmlPage(`<base target=_top><base href="` + href + `"><base href="/never/"><a href=x>x</a>`)
		if got := p.Links(Cut{}); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", href, got)
		}
	}
}
