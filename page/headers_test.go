package page

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// withHeader returns an HTML page with additional header lines, written as in HTTP.
func withHeader(body string, lines ...string) *Page {
	h := Hop{URL: address, Status: 200, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body: []byte(body)}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Header.Add(name, value)
	}
	return New([]Hop{h})
}

const site = "http://www.example.org"

func TestRefresh(t *testing.T) {
	for in, want := range map[string]string{ // want "-": no address
		"5; url=/tide":           "/tide",
		"0;URL='/tide'":          "/tide",
		`0; url="/tide" x`:       "/tide",
		"0; url='/tide":          "/tide",
		"0; Url = /tide":         "/tide",
		"0;/tide":                "/tide",
		"0, /tide":               "/tide",
		"0 /tide":                "/tide",
		"0 url=/tide":            "/tide",
		"  12.5.1 ;\turl=/tide ": "/tide ",
		".5; url=/tide":          "/tide",
		"0; uri=/tide":           "uri=/tide",
		"0; urls/tide":           "urls/tide",
		"0; '/tide'":             "/tide",
		"0; url=url=/tide":       "url=/tide",
		"5":                      "-",
		"5;":                     "-",
		"5; url=":                "-",
		"5; url=''":              "-",
		"":                       "-",
		"url=/tide":              "-",
		"; url=/tide":            "-",
		"5x; url=/tide":          "-",
		"-1; url=/tide":          "-",
	} {
		got, ok := refresh(in)
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestParseLinkHeader(t *testing.T) {
	for in, want := range map[string][]headerLink{
		`</2>; rel=next`: {{ref: "/2", rel: "next"}},
		`</2>;rel="next last"; title="a, b; c \" d", < /1 > ; Rel = prev`: {{ref: "/2", rel: "next last"},
			{ref: " /1 ", rel: "prev"}},
		`</2>; rel=next; rel=prev`:                  {{ref: "/2", rel: "next"}},
		`</2>; crossorigin; rel="next", </3>`:       {{ref: "/2", rel: "next"}, {ref: "/3"}},
		`</2>; crossorigin, </3>; rel=next`:         {{ref: "/2"}, {ref: "/3", rel: "next"}},
		`/2; rel=next, </3>; rel=next`:              {{ref: "/3", rel: "next"}},
		`</2>; anchor="#x"; rel=next`:               {{ref: "/2", rel: "next", anchor: "#x"}},
		`</2>; title="never closed, </3>; rel=next`: {{ref: "/2"}},
		`<http://h/?a,b;c>; rel=next`:               {{ref: "http://h/?a,b;c", rel: "next"}},
		`<>; rel=preload; imagesrcset="a 1x, b 2x"`: {{rel: "preload", srcset: "a 1x, b 2x"}},
		`</2`: nil,
		`, ,`: nil,
		`</2>; rel*=UTF-8''next; rel="next" x, </3>; rel=prev; a=b=c`: {{ref: "/2", rel: "next"},
			{ref: "/3", rel: "prev"}},
	} {
		if got := parseLinkHeader(in); !slices.Equal(got, want) {
			t.Errorf("%s: %+v", in, got)
		}
	}
}

func TestLinksOfHeaders(t *testing.T) {
	p := withHeader(`<base href="/base/"><a href=a>x</a>`,
		"Link: <2>; rel=next, <style.css>; rel=stylesheet", "Link: </feed>; rel=alternate, <3>; rel=\"next nofollow\"",
		`Link: <4>; rel=next; anchor="/other", <5>; rel=prev; anchor="#end", <2>; rel=next`, "Refresh: 5; url=0")
	want := []string{site + "/news/0", site + "/news/2", site + "/feed", site + "/news/5", site + "/base/a"}
	if got := p.Links(Cut{}); !slices.Equal(got, want) {
		t.Errorf("links %q", got)
	}
	if got := p.Links(without("follow", false)); got != nil {
		t.Errorf("links of a page that may not be followed: %q", got)
	}
	if got := p.Requisites(Cut{}); !slices.Equal(got, []string{site + "/news/style.css"}) {
		t.Errorf("requisites %q", got)
	}
	h := Hop{URL: site + "/a.pdf", Header: http.Header{"Content-Type": {"application/pdf"},
		"Link": {"<b.pdf>; rel=next"}}}
	if got := New([]Hop{h}).Links(Cut{}); !slices.Equal(got, []string{site + "/b.pdf"}) {
		t.Errorf("links of another document: %q", got)
	}
}

func TestMetaRefresh(t *testing.T) {
	for body, want := range map[string][]string{
		`<meta http-equiv=refresh content="0; url=tide#high">`: {site +
			"/news/tide"},
		`<base href=/x/><META HTTP-EQUIV="Refresh" CONTENT="0;URL='tide'">`: {site +
			"/x/tide"},
		`<noscript><meta http-equiv=refresh content="0; url=/plain"></noscript>`: {site +
			"/plain"},
		`<body><a href=/1>x</a><meta http-equiv=refresh content="0; url=/2"><a href=/3>x</a>`: {site + "/1",
			site + "/2", site + "/3"},
		`<meta http-equiv=refresh content=300>`:                                                     nil,
		`<meta http-equiv=refresh content="0; url=javascript:x()">`:                                 nil,
		`<meta name=refresh content="0; url=/x">`:                                                   nil,
		`<html class=the-acap:disallow-follow><meta http-equiv=refresh content="0; url=/x">`:        nil,
		`<body><p class=the-acap:disallow-follow><meta http-equiv=refresh content="0; url=/x"></p>`: nil,
		// the parser ends the SVG element before META
		`<svg><style><meta http-equiv=refresh content="0; url=/x"></style></svg><link rel=next href=/y>`: {site + "/x",
			site + "/y"},
	} {
		if got := htmlPage(body).Links(without("follow", true)); !slices.Equal(got, want) {
			t.Errorf("%s: %q", body, got)
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ body, header, want string }{
		{`<link rel=canonical href="/a#b">`, "", site + "/a"},
		{`<base href="https://b.example/x/"><link rel="canonical nofollow" href=a>`, "", "https://b.example/x/a"},
		{`<link rel=canonical href="/a">`, "Link: </a>; rel=canonical", site + "/a"},
		{``, `Link: <a>; rel="canonical"`, site + "/news/a"},
		{`<link rel=canonical href="/a"><link rel=canonical href="/b">`, "", ""},
		{`<link rel=canonical href="/a">`, "Link: </b>; rel=canonical", ""},
		{`<body><p>x<link rel=canonical href="/a">`, "", ""},
		{`<link rel=canonical href="">`, "", ""},
		{`<link rel=canonical href="mailto:desk@quay.example">`, "", ""},
		{`<link rel=alternate href="/a">`, "", ""},
	} {
		p := withHeader(c.body)
		if c.header != "" {
			p = withHeader(c.body, c.header)
		}
		if got := p.Canonical(); got != c.want {
			t.Errorf("%s, %s: %q", c.body, c.header, got)
		}
	}
}

func FuzzRefresh(f *testing.F) {
	for _, s := range []string{"5; url=/a", "0;URL='a'", ".5,\"a", "1 u", "0;url"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, ok := refresh(s)
		if ok != (ref != "") || !strings.Contains(s, ref) {
			t.Errorf("%q: %q, %t", s, ref, ok)
		}
	})
}

func FuzzLinkHeader(f *testing.F) {
	for _, s := range []string{`</2>; rel="next"; title="a, \"b", <3>`, `<;>;=;,`, `<a>;rel=;,<b`, `x<a>`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		links := parseLinkHeader(s)
		for _, l := range links {
			if strings.Contains(l.ref, ">") || !strings.Contains(s, "<"+l.ref+">") {
				t.Errorf("%q: %+v", s, l)
			}
		}
		// Parsing the same text after another link must give the same links.
		if again := parseLinkHeader(`<0>; title="a,b" , ` + s); len(again) != len(links)+1 ||
			!slices.Equal(again[1:], links) {
			t.Errorf("%q: %+v, later %+v", s, links, again)
		}
	})
}
