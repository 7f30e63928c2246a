package page

import (
	"slices"
	"strings"
	"testing"
)

func TestRequisites(t *testing.T) {
	for body, want := range map[string]string{ // want: paths relative to the site, separated by blanks
		`<img src=/a.png><img src="/a.png#x"><IMG SRC=" /b.png ">`:            "/a.png /b.png",
		`<img srcset="/1.png, /2.png 2x,/3.png" src=/0.png>`:                  "/0.png /1.png /2.png /3.png",
		`<picture><source srcset="/w.webp 640w"><img src=/a.png></picture>`:   "/w.webp /a.png",
		`<video poster=/p.jpg src=/v.mp4><track src=/v.vtt></video>`:          "/p.jpg /v.mp4 /v.vtt",
		`<audio><source src=/a.ogg></audio><audio src=/b.ogg></audio>`:        "/a.ogg /b.ogg",
		`<input type=IMAGE src=/go.png><input src=/no.png>`:                   "/go.png",
		`<script src=/a.js></script><script>"/b.js"</script>`:                 "/a.js",
		`<iframe src=/f.html></iframe><embed src=/e.swf><object data=/o.svg>`: "/f.html /e.swf /o.svg",
		`<frameset><frame src=/menu.html><frame src=/main.html></frameset>`:   "/menu.html /main.html",
		`<link rel=stylesheet href=/a.css><link rel="shortcut icon" href=/i.ico>` +
			`<link rel=preload imagesrcset="/1x.png 1x"><link rel=manifest href=/m>
<link rel=modulepreload href=/m.js><link rel="alternate stylesheet" href=/b.css>` +
			`<link rel=next href=/2><link rel="icon nofollow" href=/j.ico>`: "/a.css /i.ico /1x.png /m /m.js /b.css",
		`<body background=/bg.gif><table background=/t.gif>` +
			`<tr><td background=/d.gif></table><p background=/no.gif>`: "/bg.gif /t.gif /d.gif",
		`<p style="background: url(/p.png)"><p style="color:red">`:       "/p.png",
		`<style>@import "/a.css"; p { background: url(/b.png) }</style>`: "/a.css /b.png",
		`<svg><image href=/a.svg /><use xlink:href="/icons.svg#tide"/><use href="#own"/><script href=/s.js></script>
<feImage href=/f.png /><a href=/no><style>p{fill:url(#g)}` +
			`circle{fill:url(/g.svg#g)}</style></a></svg>`: "/a.svg /icons.svg /s.js /f.png /g.svg",
		`<img src=""><img src="#x"><img src="data:image/png;base64,AA=="><img src="` + address + `">`: "",
		`<noscript><img src=/plain.png></noscript><template><img src=/never.png></template>`:          "/plain.png",
		`<p><template shadowrootmode=Open><style>p{background:url(/in.png)}</style>` +
			`<img src=/shadow.png><template><img src=/never.png></template></template>` +
			`<p><template shadowrootmode=closed><img src=/closed.png></template>` +
			`<p><template shadowrootmode><img src=/never.png></template>`: "/in.png /shadow.png /closed.png",
		`<base href=/base/><img src=a.png><p style='background:url("b.png")'>`:          "/base/a.png /base/b.png",
		`<a href=/no>x</a><area href=/no><form action=/no></form><blockquote cite=/no>`: "",
	} {
		got := strings.ReplaceAll(strings.Join(htmlPage(body).Requisites(Cut{}), " "), site, "")
		if got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestRequisitesUnderMarks(t *testing.T) {
	p := htmlPage(`<link rel=stylesheet href=/1>` +
		`<p class=the-acap:disallow-follow style="background:url(/2)"><img src=/3></p>
<p class=the-acap:allow-follow><img src=/4></p>
<p class=the-acap:disallow-follow><template shadowrootmode=open><img src=/5></template>` +
		`<p><template shadowrootmode=open><img class=the-acap:disallow-follow src=/6></template>`)
	if got := p.Requisites(without("follow", true)); !slices.Equal(got, []string{site + "/1", site + "/4"}) {
		t.Errorf("permitted page: %q", got)
	}
	if got := p.Requisites(without("follow", false)); !slices.Equal(got, []string{site + "/4"}) {
		t.Errorf("prohibited page: %q", got)
	}
}

func TestRequisitesOfStyleSheet(t *testing.T) {
	p := fetched("text/css", `@import url(print.css) print; p { background: url("/a.png") }`)
	if got := p.Requisites(Cut{}); !slices.Equal(got, []string{site + "/news/print.css", site + "/a.png"}) {
		t.Errorf("requisites %q", got)
	}
	if got := p.Requisites(without("follow", false)); got != nil {
		t.Errorf("requisites that may not be followed: %q", got)
	}
	if got := p.Links(Cut{}); got != nil {
		t.Errorf("links %q", got)
	}
}

func collect(read func(string, func(string)), s string) (refs []string) {
	read(s, func(ref string) { refs = append(refs, ref) })
	return refs
}

func TestCandidates(t *testing.T) {
	for in, want := range map[string][]string{
		"a":                        {"a"},
		"a, b 2x, c 100w":          {"a", "b", "c"},
		" ,, a 1x ,\n b\t2x,,":     {"a", "b"},
		"a,b":                      {"a,b"},
		"a,, b":                    {"a", "b"},
		"data:image/png,x== 1x, b": {"data:image/png,x==", "b"},
		"a x(1, 2), b":             {"a", "b"},
		"a x(1, 2":                 {"a"},
		"":                         nil,
	} {
		if got := collect(candidates, in); !slices.Equal(got, want) {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestStyleRefs(t *testing.T) {
	for in, want := range map[string][]string{
		`url(a.png)`:                  {"a.png"},
		`URL( "a b.png" ) , url('c')`: {"a b.png", "c"},
		`@import 'a.css';@IMPORT url(b.css) layer("x") screen;`:      {"a.css", "b.css"},
		`@import "a.css" supports(content: "x");p{content:"y"}`:      {"a.css"},
		`/* url(no) */ url(a) /* "`:                                  {"a"},
		`content: "url(no)" url(a)`:                                  {"a"},
		`@namespace svg url(http://www.w3.org/2000/svg); p{b:url(a)`: {"a"},
		`@namespace "http://no.example/"; @import "late.css"`:        {"late.css"},
		`@document url(http://no.example/) { p { b: url(a) } }`:      {"a"},
		`url(a\)b\.png) url(\26 \000063  d)`:                         {"a)b.png", "&c d"},
		"url(\"a\\\nb\") url('c\nd') url(e":                          {"ab", "", "e"},
		`curl(no) url_(no) -url(no)`:                                 nil,
		`\url(no) url (no)`:                                          nil,
		`u`:                                                          nil,
		`@`:                                                          nil,
		`"`:                                                          nil,
		`url(`:                                                       {""},
		`\`:                                                          nil,
	} {
		if got := collect(styleRefs, in); !slices.Equal(got, want) {
			t.Errorf("%s: %q", in, got)
		}
	}
}

func FuzzSrcset(f *testing.F) {
	for _, s := range []string{"a 1x, b 2x", "a,b (,) c,,d", ",(", "a\f(b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := 0
		for _, ref := range collect(candidates, s) {
			n += len(ref)
			if ref == "" || strings.ContainsAny(ref, blanks) || !strings.Contains(s, ref) {
				t.Errorf("%q: %q", s, ref)
			}
		}
		if n > len(s) {
			t.Errorf("%q: %d bytes", s, n)
		}
	})
}

func FuzzStyle(f *testing.F) {
	for _, s := range []string{`@import "a"; p{b:url(c)}`, `url('\`, `/**/url(/**/)`, `@namespace url(x);@\import"y"`,
		"url(\\26 x\"\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, css string) {
		n := 0
		for _, ref := range collect(styleRefs, css) {
			n += len(ref)
		}
		if n > 3*len(css) { // the escape \1 may become the three bytes of U+FFFD
			t.Errorf("%q: %d bytes", css, n)
		}
		// A comment in front must not change the result.
		if !slices.Equal(collect(styleRefs, "/* url(x) */"+css), collect(styleRefs, css)) {
			t.Errorf("%q reads otherwise behind a comment", css)
		}
	})
}
