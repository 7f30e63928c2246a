package rewrite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/internal/test/growth"
)

// original is the address of the pages in these tests.
const original = "http://a.example/dir/page.html?q"

func address(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse(original)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// archive is the replacement of addresses in these tests.
func archive(address string, kind Kind) string {
	return "https://archive.example/" + string(kind) + "/" + address
}

// short is the replacement in tables: the kind in brackets, and the address without its scheme.
func short(address string, kind Kind) string {
	_, rest, _ := strings.Cut(address, "://")
	return "/" + string(kind) + ":" + rest
}

func rewritten(t testing.TB, page string, to Func) string {
	t.Helper()
	var b strings.Builder
	if err := HTML(context.Background(), &b, strings.NewReader(page), address(t), to); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestElements: the addresses of each element, and what else remains.
func TestElements(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		// links
		{`<a href=b.html>`, `<a href="/page:a.example/dir/b.html">`},
		{`<A  HREF = '/b#c'  Class=x >`, `<A  HREF="/page:a.example/b#c"  Class=x >`},
		{`<a href="http://b.example/?a=1&amp;b=2&copy=3" ping="/p  //c.example/q,r">`,
			`<a href="/page:b.example/?a=1&amp;b=2&amp;copy=3" ping="/other:a.example/p /other:c.example/q,r">`},
		{`<area href=//b.example><map>`, `<area href="/page:b.example/"><map>`},
		{`<form action=go><button formaction=/x><input type=submit formaction="y">`,
			`<form action="/page:a.example/dir/go"><button formaction="/page:a.example/x">` +
				`<input type=submit formaction="/page:a.example/dir/y">`},
		{`<q cite=s><img longdesc=d>`, `<q cite="/page:a.example/dir/s"><img longdesc="/page:a.example/dir/d">`},
		// what stays
		{`<a href="#top"><a href=""><a href="mailto:a@b.example"><a href="javascript:go()"><a href="tel:1">`, ""},
		{`<img src="data:image/png;base64,AA=="><img src=" "><img src="blob:http://b.example/1">`, ""},
		{`<a href="ftp://b.example/">`, ""},
		{`<p title="http://b.example/" data-src="//b.example" ` +
			`onclick="open('http://b.example/')">http://b.example/ &copy`, ""},
		{"<!doctype html public \"http://b.example/\">\r\n<!-- <img src=//b.example> --><?x <?></ x></p>", ""},
		{`<script>var a = "<img src=//b.example>"; a<b</script>`, ""},
		{`<textarea><img src="//b.example"></textarea><title><a href=x></title>`, ""},
		{`<meta property="og:image" content="http://b.example/i.png">` +
			`<meta name=refresh content="1;url=http://b.example">`, ""},
		{`<meta http-equiv=refresh content="5"><meta http-equiv=refresh content="url=http://b.example">` +
			`<meta http-equiv=refresh content="1x;http://b.example">`, ""},
		{"<p>a < b <3 &lt;img src=//b.example&gt;", ""},
		// images
		{`<img src=i.png srcset="i2.png 2x, //b.example/i3.png, /i,4.png 4x" sizes=1px>`,
			`<img src="/image:a.example/dir/i.png" srcset="/image:a.example/dir/i2.png 2x, /image:b.example/i3.png, ` +
				`/image:a.example/i,4.png 4x" sizes=1px>`},
		{`<source srcset=",, a.png, ,b.png 1x(,),c.png">`,
			`<source srcset=",, /image:a.example/dir/a.png, ,/image:a.example/dir/b.png ` +
				`1x(,),/image:a.example/dir/c.png">`},
		{`<img srcset="data:,a 1x, b.png">`, `<img srcset="data:,a 1x, /image:a.example/dir/b.png">`},
		{`<image src=i.png><input type=image src=j.png>`,
			`<image src="/image:a.example/dir/i.png"><input type=image src="/image:a.example/dir/j.png">`},
		{`<body background=b.gif><td background=c.gif>`,
			`<body background="/image:a.example/dir/b.gif"><td background="/image:a.example/dir/c.gif">`},
		{`<img lowsrc=l.gif dynsrc=d.avi>`,
			`<img lowsrc="/image:a.example/dir/l.gif" dynsrc="/image:a.example/dir/d.avi">`},
		{`<video poster=p.png src=v.mp4><source src=s.ogg><track src=t.vtt></video><audio src=a.mp3>`,
			`<video poster="/image:a.example/dir/p.png" src="/other:a.example/dir/v.mp4">` +
				`<source src="/other:a.example/dir/s.ogg"><track src="/other:a.example/dir/t.vtt"></video>` +
				`<audio src="/other:a.example/dir/a.mp3">`},
		// frames and objects
		{`<iframe src=//b.example/f></iframe><frame src=g><embed src=h>`,
			`<iframe src="/frame:b.example/f"></iframe><frame src="/frame:a.example/dir/g">` +
				`<embed src="/frame:a.example/dir/h">`},
		{`<object data=o.swf codebase=/c/ classid="clsid:1" archive="a.jar /b.jar">`,
			`<object data="/frame:a.example/dir/o.swf" codebase="/other:a.example/c/" classid="clsid:1" ` +
				`archive="/other:a.example/dir/a.jar /other:a.example/b.jar">`},
		{`<applet code=A.class codebase=c><param name=Movie value=m.swf><param name=n value=m.swf>`,
			`<applet code="/other:a.example/dir/A.class" codebase="/other:a.example/dir/c">` +
				`<param name=Movie value="/other:a.example/dir/m.swf"><param name=n value=m.swf>`},
		{`<iframe srcdoc="<p title='&quot;'><img src=x>&lt;">`,
			`<iframe srcdoc="&lt;p title=&#39;&#34;&#39;&gt;&lt;img src=&#34;/image:a.example/dir/x&#34;&gt;&lt;">`},
		{`<iframe srcdoc="<p>x</p>">`, ""},
		// LINK
		{`<link rel=stylesheet href=s.css integrity="sha256-x" crossorigin>`,
			`<link rel=stylesheet href="/style:a.example/dir/s.css" integrity="" crossorigin>`},
		{`<link rel="shortcut ICON" href=i.ico><link rel=preconnect href=//b.example>` +
			`<link rel=dns-prefetch href=https://c.example>`,
			`<link rel="shortcut ICON" href="/image:a.example/dir/i.ico">` +
				`<link rel=preconnect href="/other:b.example/"><link rel=dns-prefetch href="/other:c.example/">`},
		{`<link rel=preload as=font href=f.woff2><link rel=preload as=IMAGE imagesrcset="i.png 1x">` +
			`<link rel=modulepreload href=m.js><link rel=manifest href=w.json>`,
			`<link rel=preload as=font href="/font:a.example/dir/f.woff2">` +
				`<link rel=preload as=IMAGE imagesrcset="/image:a.example/dir/i.png 1x">` +
				`<link rel=modulepreload href="/other:a.example/dir/m.js">` +
				`<link rel=manifest href="/other:a.example/dir/w.json">`},
		{`<link rel=canonical href=http://a.example/><link rel=unheard-of href=x>`,
			`<link rel=canonical href="/page:a.example/"><link rel=unheard-of href="/other:a.example/dir/x">`},
		{`<link rel=dns-prefetch href="foo://b.example"><link rel=dns-prefetch href="ftp:b.example">` +
			`<link rel=icon href="data:,x">`,
			`<link rel=dns-prefetch href="about:blank"><link rel=dns-prefetch href="about:blank">` +
				`<link rel=icon href="data:,x">`},
		// BASE
		{`<a href=x><base href=http://b.example/d/e><a href=x><base href=http://c.example/><img src=/y><a href=#z>`,
			`<a href="/page:a.example/dir/x"><base href=""><a href="/page:b.example/d/x"><base href="">` +
				`<img src="/image:b.example/y"><a href=#z>`},
		{`<base target=_top><base href=../up/><a href=x>`,
			`<base target=_top><base href=""><a href="/page:a.example/up/x">`},
		{`<base href="data:,x"><a href=x>`, `<base href=""><a href="/page:a.example/dir/x">`},
		// META refresh
		{`<meta http-equiv=Refresh content="0; URL='n.html'">`,
			`<meta http-equiv=Refresh content="0; URL=/page:a.example/dir/n.html">`},
		{`<meta content=".5,n.html" http-equiv=" refresh ">`,
			`<meta content=".5,/page:a.example/dir/n.html" http-equiv=" refresh ">`},
		{`<meta http-equiv=refresh content='1 "//b.example/&quot; x'>`,
			`<meta http-equiv=refresh content="1 /page:b.example/">`},
		{`<meta http-equiv=refresh content="1;urx">`, `<meta http-equiv=refresh content="1;/page:a.example/dir/urx">`},
		// styles
		{`<p style="background:url(&quot;b.png&quot;)">`,
			`<p style="background:url(&#34;/image:a.example/dir/b.png&#34;)">`},
		{`<style>@import "i.css"; p > a { background: url(b.png) }</style>`,
			`<style>@import "/style:a.example/dir/i.css"; ` +
				`p > a { background: url("/image:a.example/dir/b.png") }</style>`},
		{`<style type=text/css><!-- a{} --></style>`, ""},
		{`<link rel=stylesheet href="data:text/css,@import '//b.example'"><iframe src=" DATA:text/html,<p>"></iframe>` +
			`<style>@import "data:,x";a{b:url(data:,x)}</style>`,
			`<link rel=stylesheet href="about:blank"><iframe src="about:blank"></iframe>` +
				`<style>@import "about:blank";a{b:url(data:,x)}</style>`},
		{"<p a\xff=1 A\xff=2 style='b:url(c)'\xff>\xff",
			"<p a\xff=1 A\xff=2 style=\"b:url(&#34;/image:a.example/dir/c&#34;)\"\xff>\xff"},
		// SVG
		{`<svg><image xlink:href=i.png /><use href="s.svg#x"/><use href="#y"/><a xlink:href=/b>` +
			`<path fill="url(#g)" mask="url(m.svg#m)"/></svg>`,
			`<svg><image xlink:href="/image:a.example/dir/i.png" /><use href="/image:a.example/dir/s.svg#x"/>` +
				`<use href="#y"/><a xlink:href="/page:a.example/b">` +
				`<path fill="url(#g)" mask="url(&#34;/image:a.example/dir/m.svg#m&#34;)"/></svg>`},
		{`<svg xml:base="http://b.example/"><set attributeName=href to=//b.example/x>` +
			`<animate attributename="xlink:href" values="a.png; #b;c.png"/><set attributeName=fill to="url(f.svg)">`,
			`<svg xml:base=""><set attributeName=href to="/image:b.example/x">` +
				`<animate attributename="xlink:href" ` +
				`values="/image:a.example/dir/a.png; #b;/image:a.example/dir/c.png"/>` +
				`<set attributeName=fill to="url(&#34;/image:a.example/dir/f.svg&#34;)">`},
		{`<svg><style>.a{fill:url(a.svg#b)}</style></svg>`,
			`<svg><style>.a{fill:url("/image:a.example/dir/a.svg#b")}</style></svg>`},
		{`<svg><style><![CDATA[ .a>.b{fill:url(a.svg)} ]]></style></svg>`,
			`<svg><style> .a>.b{fill:url("/image:a.example/dir/a.svg")} </style></svg>`},
		{`<svg><title>a &amp; b</title><text>x</text></svg><script>a<b</script>`, ""},
		{`<svg><g></g></svg><style>a{}</style><textarea><img src=//b.example></textarea>`, ""},
		{`<svg><style>.a{fill:url(&quot;a.svg&quot;)} .b>.c{} & d{}</style></svg>`,
			`<svg><style>.a{fill:url("/image:a.example/dir/a.svg")} .b>.c{} &  d{}</style></svg>`},
		{`<select><option>a<style>a{b:"<c&d"} @media (width<9px){/*<!-- <e*/}</style></select>`,
			`<select><option>a<style>a{b:"\3c c\26 d"} @media (width< 9px){/*  < e*/}</style></select>`},
		// scripts
		{`<script src=s.js integrity=x async></script>`,
			`<script src="/other:a.example/dir/s.js" integrity="" async></script>`},
		{`<script type=importmap>{"imports": {"lib": "/lib.js", "x/": "https://b.example/x/"}, ` +
			`"scopes": {"./s/": {"a": "\u002e/b"}}}</script>`,
			`<script type=importmap>{"imports": {"lib": "/other:a.example/lib.js", "x/": "/other:b.example/x/"}, ` +
				`"scopes": {"/other:a.example/dir/s/": {"a": "/other:a.example/dir/b"}}}</script>`},
		{`<noscript><img src=n.png></noscript><template><img src=t.png></template>`,
			`<noscript><img src="/image:a.example/dir/n.png"></noscript>` +
				`<template><img src="/image:a.example/dir/t.png"></template>`},
		// comments (HTML 13.2.5.43 to 13.2.5.52)
		{`<!--><img src=a>--><!---><img src=b><!--c--!><img src=c><!-- <!-- --><img src=d>`,
			`<!--><img src="/image:a.example/dir/a">--><!---><img src="/image:a.example/dir/b">` +
				`<!--c--!><img src="/image:a.example/dir/c"><!-- <!-- --><img src="/image:a.example/dir/d">`},
		{`<!--a-- ><img src=a>--><!--a-><img src=b>`, ""},
		// tags with odd attributes
		{`<img src=a src=b SRC=c>`, `<img src="/image:a.example/dir/a" src=b SRC=c>`},
		{`<img/src=a/alt=x>`, `<img/src="/image:a.example/dir/a/alt=x">`},
		{`<img alt="x"src='a'/>`, `<img alt="x"src="/image:a.example/dir/a"/>`},
		{"<img\n=src=a src\f=\r\nb>", "<img\n=src=a src=\"/image:a.example/dir/b\">"},
		{`<img src><img src=><img alt=">" src=a>`, `<img src><img src=><img alt=">" src="/image:a.example/dir/a">`},
		{`<img src=a`, ""}, // a tag without end is ignored
	} {
		if c.want == "" {
			c.want = c.page
		}
		if got := rewritten(t, c.page, short); got != c.want {
			t.Errorf("%s\nbecomes %s\nnot     %s", c.page, got, c.want)
		}
	}
}

// TestReferences: references are resolved as browsers do (URL Standard 4.4).
func TestReferences(t *testing.T) {
	for ref, want := range map[string]string{
		"x":                      "http://a.example/dir/x",
		"":                       "",
		" \x00\x1f ":             "",
		"#x":                     "",
		" # ":                    "",
		"?x":                     "http://a.example/dir/page.html?x",
		"../../x":                "http://a.example/x",
		"/x?y#z":                 "http://a.example/x?y #z",
		"  /x\t\n/y ":            "http://a.example/x/y",
		"h\nttp://b.example":     "http://b.example/",
		"//b.example":            "http://b.example/",
		"///b.example/x":         "http://b.example/x",
		`\\b.example\x?y\z`:      `http://b.example/x?y\z`,
		`/\b.example`:            "http://b.example/",
		"/\t/b.example":          "http://b.example/",
		"http:x":                 "http://a.example/dir/x",
		"http:/x":                "http://a.example/x",
		"http:":                  "http://a.example/dir/page.html?q",
		"http:?x":                "http://a.example/dir/page.html?x",
		"HTTP://B.example":       "http://B.example/",
		"https:b.example/x":      "https://b.example/x",
		"https:/b.example/x":     "https://b.example/x",
		"https:///b.example/x":   "https://b.example/x",
		`https:\b.example`:       "https://b.example/",
		"http://u:p@b.example/":  "http://b.example/",
		"http://b.example:8080/": "http://b.example:8080/",
		"http://[::1]/":          "http://[::1]/",
		"a:b/c":                  "opaque",
		"1:2":                    "http://a.example/dir/1:2",
		"./a:b":                  "http://a.example/dir/a:b",
		"%":                      "http://a.example/dir/%25",
		"%zz%41":                 "http://a.example/dir/%25zz%41",
		"a b?c d":                "http://a.example/dir/a%20b?c%20d",
		"x\x01y":                 "http://a.example/dir/x%01y",
		"http://":                "broken",
		"//":                     "broken",
		"http://b example/":      "broken",
		"http://b.example:x/":    "broken",
		"javascript:x":           "opaque",
		" JaVa\nScript:x":        "opaque",
		"data:,x":                "opaque",
		"ws://b.example":         "special",
		"WSS:b.example":          "special",
		"ftp://b.example/":       "special",
		"file:///x":              "special",
		"-a:b":                   "http://a.example/dir/-a:b",
	} {
		got, fragment, what := (base{address(t)}).resolve(ref)
		switch what {
		case opaque:
			got = "opaque"
		case special:
			got = "special"
		case broken:
			got = "broken"
		}
		if fragment != "" {
			got += " " + fragment
		}
		if got != want {
			t.Errorf("%q is %q, not %q", ref, got, want)
		}
	}
}

// TestCSS: which parts of a style sheet are addresses (CSS Syntax 3, CSS Values 4, CSS Images 4).
func TestCSS(t *testing.T) {
	for _, c := range []struct{ sheet, want string }{
		{`a{b:url(c)}`, `a{b:url("/image:a.example/dir/c")}`},
		{`a{b:URL( 'c' )}`, `a{b:URL( "/image:a.example/dir/c" )}`},
		{"a{b:url(\n\"c\\\nd\")}", "a{b:url(\n\"/image:a.example/dir/cd\")}"},
		{`a{b:url( c\29 d )}`, `a{b:url("/image:a.example/dir/c)d")}`},
		{`a{b:u\72 l(c)}`, `a{b:url("/image:a.example/dir/c")}`},
		{`a{b:\000075r\l(c)}`, `a{b:url("/image:a.example/dir/c")}`},
		{`a{b:src("c")}`, `a{b:src("/image:a.example/dir/c")}`},
		{`a{b:url(c`, `a{b:url("/image:a.example/dir/c")`},
		{`a{b:url("c`, `a{b:url("/image:a.example/dir/c"`},
		{`a{b:url(#c) url(data:,x) url("") url()}`, ""},
		{`a{b:url(//b.example/"c)}`, ""}, // not valid
		{`a{b:url(c d) url(e)}`, `a{b:url(c d) url("/image:a.example/dir/e")}`},
		{`a{b:url(c(d) url(e)}`, `a{b:url(c(d) url("/image:a.example/dir/e")}`},
		{"a{b:\"c\nurl(d)\"}", "a{b:\"c\nurl(\"/image:a.example/dir/d\")\"}"}, // the string ends with the line
		{`a{b:"url(c)" 'url(d)'}`, ""},
		{`/* url(c) */ a{b:url(/**/c)}`, `/* url(c) */ a{b:url("/image:a.example/**/c")}`},
		{`/* url(c)`, ""},
		{`@import "c";@import 'd' screen;@IMPORT url(e);@import url("f") layer(x) supports(background:url("g"))`,
			`@import "/style:a.example/dir/c";@import "/style:a.example/dir/d" screen;` +
				`@IMPORT url("/style:a.example/dir/e");` +
				`@import url("/style:a.example/dir/f") layer(x) supports(background:url("/image:a.example/dir/g"))`},
		{`@\69mport/**/"c"`, `@\69mport/**/"/style:a.example/dir/c"`},
		{`@import src("c");@import "c`, `@import src("/style:a.example/dir/c");@import "/style:a.example/dir/c"`},
		{`@import "blob:x" "c";`, ""},
		{`@import x{} "c"`, ""},
		{`@charset "utf-8";@namespace url(http://b.example/);@namespace x "http://b.example/"; a{b:url(c)}`,
			`@charset "utf-8";@namespace url(http://b.example/);@namespace x "http://b.example/"; ` +
				`a{b:url("/image:a.example/dir/c")}`},
		{`@document url(http://b.example/),url("c"){a{b:url(c)}}`,
			`@document url(http://b.example/),url("c"){a{b:url("/image:a.example/dir/c")}}`},
		{`@font-face{font-family:"c";src:local("d"),url(e) format("woff2"),url("f")} a{b:url(g)}`,
			`@font-face{font-family:"c";src:local("d"),url("/font:a.example/dir/e") format("woff2"),` +
				`url("/font:a.example/dir/f")} a{b:url("/image:a.example/dir/g")}`},
		{`a{b:image-set("c" 1x type("image/png"), url(d) 2x)}`,
			`a{b:image-set("/image:a.example/dir/c" 1x type("image/png"), url("/image:a.example/dir/d") 2x)}`},
		{`a{b:-webkit-image-set((var(--c, "d")) 1x)}`,
			`a{b:-webkit-image-set((var(--c, "/image:a.example/dir/d")) 1x)}`},
		{`a{--b:"http://b.example/";--c:"\\\\b.example";--d:"e";f:"http://b.example"}`,
			`a{--b:"/image:b.example/";--c:"/image:b.example/";--d:"e";f:"http://b.example"}`},
		{`--b:{c:"//b.example";d:"//b.example"};e:"//b.example"`,
			`--b:{c:"/image:b.example/";d:"/image:b.example/"};e:"//b.example"`},
		{`a{content:"x" attr(href);b:c("d")}`, ""},
		// url is part of a longer token, or of a shorter one
		{`a{b:1url(//b.example/*)*/) #url(//c) @url(//d) -url(e) xurl(f)}`, ""},
		{`a{b:.5e3\75rl(//b.example/*)*/) +1url(//c) 1.url(c)}`,
			`a{b:.5e3\75rl(//b.example/*)*/) +1url(//c) 1.url("/image:a.example/dir/c")}`},
		{`a{b:1eurl(//c) 1e+url(c)}`, `a{b:1eurl(//c) 1e+url("/image:a.example/dir/c")}`},
		{`<!--url(c)-->url(d)`, `<!--url("/image:a.example/dir/c")-->url("/image:a.example/dir/d")`},
		{`a{b:url(ws://b.example) url(http://)}`, `a{b:url("about:blank") url("about:blank")}`},
		{"a{b:url(c\\\n)} d{e:url(f)}", "a{b:url(c\\\n)} d{e:url(\"/image:a.example/dir/f\")}"},
		{`a{b:url("c\")d")}`, `a{b:url("/image:a.example/dir/c%22%29d")}`},
		{`a{b:url("c\`, `a{b:url("/image:a.example/dir/c"`},
		{"a{b:url(\x00c)}", `a{b:url("/image:a.example/dir/%EF%BF%BDc")}`},
		{`a{b:url(\110000 \d800 c)}`, `a{b:url("/image:a.example/dir/%EF%BF%BD%EF%BF%BDc")}`},
		{`)]}};@import "c"`, `)]}};@import "/style:a.example/dir/c"`},
	} {
		if c.want == "" {
			c.want = c.sheet
		}
		got, err := CSS(context.Background(), c.sheet, address(t), short)
		if got != c.want || err != nil {
			t.Errorf("%s\nbecomes %s\nnot     %s (error %v)", c.sheet, got, c.want, err)
		}
	}
}

// hostile are pages in which readers of HTML disagree about what is a tag.
var hostile = []string{
	`<svg><style><img src=//evil.example></style></svg>`,
	`<svg><style><!--</style><a title="--><img src=//evil.example>">`,
	`<svg></svg><style><!--</style><img src=//evil.example>-->`,
	`<svg></svg><style> a[b="<a href='] {} </style><img src=//evil.example alt='>`,
	`<svg><![CDATA[>]]<a title="]]><img src=//evil.example>">`,
	`<p><![CDATA[<img src=//evil.example>]]>`,
	`<svg><desc><![CDATA[>]]<a title="]]><img src=//evil.example>">`,
	`<svg><style/><img src=//evil.example></svg>`,
	`<svg><title><img src=//evil.example></title>`,
	`<svg><title></svg><style><img src=//evil.example></style>`,
	`<svg><desc></title><div></desc></svg><style><img src=//evil.example></style>`,
	`<svg><g><foreignObject><div></div></g><style><img src=//evil.example></style>`,
	`<svg><g><svg><foreignObject><svg><br><svg></svg></svg><style><img src=//evil.example></style>`,
	`<svg><desc></title><div></div></desc><style><img src=//evil.example></style>`,
	`<math></svg><style><img src=//evil.example></style>`,
	`<div><svg></div><style/><a title="</style><img src=//evil.example>">`,
	`<svg><script><img src=//evil.example></script>`,
	`<math><mtext><svg></mtext><style><img src=//evil.example></style>`,
	`<math><annotation-xml encoding=text/html><style><img src=//evil.example></style>`,
	`<math><mi><mglyph><style><img src=//evil.example></style>`,
	`<math><style><iframe src=//evil.example></style>`,
	`<svg></p><style><img src=//evil.example></style>`,
	`<select><style></select><img src=//evil.example></style>`,
	`<select><template></select><style><img src=//evil.example></style></template>` +
		`<style></select><img src=//evil.example></style>`,
	`<select><iframe></select><img src=//evil.example></iframe>`,
	`<frameset><style><frame src=//evil.example></style>`,
	`<frameset><script></script><frame src=//evil.example>`,
	`<frameset><xmp><frame src=//evil.example></xmp>`,
	`<template><col><style></template><img src=//evil.example></style>`,
	`<template><col><title></template><img src=//evil.example></title>`,
	`<noscript><style></noscript><img src=//evil.example></style>`,
	`<head><noscript><title></noscript><img src=//evil.example></title>`,
	`<textarea></textarea/><img src=//evil.example>`,
	`<script><!--<script></script><img src=//evil.example></script>--></script><img src=//evil.example>`,
	`<plaintext><img src=//evil.example>`,
	`<svg><plaintext><img src=//evil.example>`,
	`<a title='<svg>'><style>a{background:url(//evil.example)}</style>`,
	`<svg><style>a{b:url&#40;//evil.example)}</style>`,
	`<svg><style>a{b:u<!-- -->rl(//evil.example)}</style>`,
	`<svg><style>a{b:"<b title='";c:url(//evil.example)}</style><img src=//evil.example alt=''>`,
	`<base href=//evil.example><img src=x><svg xml:base=//evil.example><image href=y>`,
	`<iframe srcdoc="<base href=//evil.example><iframe srcdoc='&lt;img src=//evil.example>'>">`,
	`<meta http-equiv=refresh content="0;url=//evil.example">`,
	`<link rel=preconnect href=\\evil.example><link rel=dns-prefetch href="x://evil.example">`,
	`<svg><image href=ht&#9;tp://evil.example><use xlink:href="https:evil.example"><feImage href=///evil.example>`,
	`<img src=&#x2f;&sol;evil.example srcset="//evil.example,//evil.example 2x, //evil.example">`,
	"<img sr\x00c=//evil.example src=\x01//evil.example>",
	`<object data=//evil.example><param name=src value=//evil.example><embed src=//evil.example>`,
	`<p style="background:url(&#x2f/evil.example);--a:'//evil.example'">`,
	`<style>@import'//evil.example';a{background:image-set(var(--a) 1x);--a:"//evil.example"}</style>`,
	`<svg><animate attributeName=href values="//evil.example;x"><set attributeName=fill to="url(//evil.example)">`,
	`<svg><font color=red><style><img src=//evil.example></style>`,
	`<body ping=//evil.example background=//evil.example><a ping="//evil.example" attributionsrc="//evil.example">`,
}

// TestHostile: whoever reads the page, no address of another host is left.
func TestHostile(t *testing.T) {
	for _, page := range hostile {
		if got := rewritten(t, page, archive); left(t, got) != "" {
			t.Errorf("%s\nbecomes %s\nwhich requests %s", page, got, left(t, got))
		}
	}
}

// TestIgnoredTags: where browsers ignore start tags (HTML 13.2.6), no text has tags. The parser of
// the other tests does not read it so.
func TestIgnoredTags(t *testing.T) {
	for _, around := range []string{"<select>%s</select>", "<select><template></select>%s", "<frameset>%s",
		"<template><col>%s</template>", "<template></template><col>%s"} {
		for _, text := range []string{"<style>%s</style>", "<script>%s</script>", "<title>%s</title>", "<xmp>%s</xmp>",
			"<textarea>%s</textarea>", "<iframe>%s</iframe>", "<noembed>%s</noembed>", "<noframes>%s</noframes>",
			"<plaintext>%s"} {
			page := fmt.Sprintf(around, fmt.Sprintf(text, "<img src=//evil.example>"))
			if got := rewritten(t, page, archive); strings.Contains(got, "<img") {
				t.Errorf("%s\nbecomes %s", page, got)
			}
			if found, err := Foreign(strings.NewReader(page)); len(found) == 0 || err != nil {
				t.Errorf("%s passes, error %v", page, err)
			}
		}
	}
}

// left parses a page as a browser without scripts does, and returns an address of another host that
// the browser would request, or "".
func left(t testing.TB, page string) string {
	root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		return "" // nested too deep
	}
	found := ""
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			if s := requested(t, n, a); s != "" {
				found = n.Data + " " + a.Key + "=" + s
			}
		}
		if n.Data != "style" {
			continue
		}
		var text strings.Builder
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.TextNode {
				text.WriteString(c.Data)
			}
		}
		if s := inCSS(t, text.String()); s != "" {
			found = "style: " + s
		}
	}
	return found
}

// requested returns an address of another host in an attribute, or "".
func requested(t testing.TB, n *html.Node, a html.Attribute) string {
	switch a.Key {
	case "style", "fill", "stroke", "filter", "mask", "clip-path", "marker", "cursor":
		return inCSS(t, a.Val)
	case "srcdoc":
		return left(t, a.Val)
	case "srcset", "imagesrcset":
		for _, ref := range candidate.FindAllStringSubmatch(a.Val, -1) {
			if elsewhere(n, ref[1]) {
				return ref[1]
			}
		}
	case "ping", "attributionsrc", "archive":
		for _, ref := range words(a.Val) {
			if elsewhere(n, ref) {
				return ref
			}
		}
	case "values", "to", "from", "by":
		for ref := range strings.SplitSeq(a.Val, ";") {
			animated := slices.ContainsFunc(n.Attr, func(a html.Attribute) bool {
				return strings.EqualFold(a.Key, "attributename") && strings.HasSuffix(strings.ToLower(a.Val), "href")
			})
			if (n.Data == "set" || n.Data == "animate") && animated && elsewhere(n, ref) {
				return ref
			}
		}
	case "content":
		refreshes := slices.ContainsFunc(n.Attr, func(a html.Attribute) bool {
			return a.Key == "http-equiv" && strings.EqualFold(a.Val, "refresh")
		})
		m := refreshed.FindStringSubmatch(a.Val)
		if n.Data == "meta" && refreshes && m != nil && elsewhere(n, m[1]) {
			return a.Val
		}
	case "src", "href", "data", "poster", "background", "action", "formaction", "codebase", "classid", "lowsrc":
		if a.Key == "data" && n.Data != "object" || a.Key == "href" && n.Data == "a" &&
			strings.HasPrefix(a.Val, "ftp:") {
			return ""
		}
		if elsewhere(n, a.Val) {
			return a.Val
		}
	}
	return ""
}

// words splits a list of tokens as HTML does.
func words(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return strings.ContainsRune(" \t\r\n\f", c) })
}

var refreshed = regexp.MustCompile(`(?is)^[ \t\r\n\f]*[\d.]+[ \t\r\n\f]*[;,\s][ \t\r\n\f]*(?:url\s*=\s*)?['"]?(.*)`)

// candidate matches an address in srcset and its descriptors.
var candidate = regexp.MustCompile(`(?s)[ \t\r\n\f,]*([^ \t\r\n\f]*[^ \t\r\n\f,])` +
	`(?:,|(?:\([^)]*(?:\)|$)|[^,(])*(?:,|$))`)

var authority = regexp.MustCompile(`(?is)^(?:(?:https?|wss?|ftp|file):[/\\]*|[/\\][/\\]+)(?:[^/\\?#]*@)?([^/\\?#]*)`)

// elsewhere reports whether a reference leads to another host. It reads references otherwise than
// the package does.
func elsewhere(n *html.Node, ref string) bool {
	ref = strings.Trim(ref, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14"+
		"\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f ,")
	ref = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(ref)
	if n != nil && n.Data == "link" && regexp.MustCompile(`(?i)^[a-z][-+.a-z0-9]*:[/\\][/\\]`).MatchString(ref) {
		return !strings.HasPrefix(ref, "https://archive.example/")
	}
	m := authority.FindStringSubmatch(ref)
	return m != nil && m[1] != "archive.example" && m[1] != ""
}

// inCSS returns an address of another host in a style sheet, or "".
func inCSS(t testing.TB, sheet string) string {
	found := ""
	if _, err := CSS(context.Background(), sheet, address(t), func(address string, _ Kind) string {
		if elsewhere(nil, address) && !strings.HasPrefix(address, "http://a.example/") {
			found = address
		}
		return ""
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestLeft checks the check: in the pages as they are, addresses of another host are found.
func TestLeft(t *testing.T) {
	found := 0
	for _, page := range hostile {
		if left(t, page) != "" {
			found++
		}
	}
	if found < len(hostile)/2 {
		t.Errorf("%d of %d pages request another host", found, len(hostile))
	}
}

func TestForeign(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{`<p><a href=http://b.example/><img src=//b.example><link rel=stylesheet href=//b.example>` +
			`<script src=//b.example></script>`, ""},
		{"<p>\n<link rel='x PreConnect' href=//b.example>\n<link rel=dns-prefetch href='https://c.example'>",
			"2 link href //b.example; 3 link href https://c.example"},
		{`<link rel=preconnect href=/><link rel=prefetch href=x><link rel=prerender href=http:x>`,
			"1 link href http:x"},
		{`<link rel=dns-prefetch href=foo:\\b.example><link rel=dns-prefetch href=data:,x>`,
			`1 link href foo:\\b.example`},
		{`<iframe src=x></iframe><iframe src="\\b.example"></iframe><frame src=http://c.example>` +
			`<object data=//d.example><embed src=" &#47;/e.example">`,
			`1 iframe src \\b.example; 1 frame src http://c.example; 1 object data //d.example; ` +
				`1 embed src  //e.example`},
		{`<iframe src=about:blank></iframe><iframe src=data:,x></iframe><iframe src=#x></iframe><iframe></iframe>`, ""},
		{`<base href=//b.example><iframe src=x></iframe><iframe src=""></iframe>`, "1 iframe src x"},
		{`<base href=/x/><iframe src=x></iframe>`, ""},
		{"\n<iframe srcdoc=\"\n<link rel=preconnect href=//b.example>\">", "2 link href //b.example"},
		{`<img attributionsrc="/x //b.example">`, "1 img attributionsrc //b.example"},
		{`<noscript><iframe src=//b.example></iframe></noscript><template><iframe src=//b.example></template>`,
			"1 iframe src //b.example; 1 iframe src //b.example"},
		{`<!-- <iframe src=//b.example> --><script>"<iframe src=//b.example>"</script>` +
			`<textarea><iframe src=//b.example></textarea>`, ""},
		{`<svg><style><iframe src=//b.example></style></svg>`, "1 style  "},
		{`<svg><style><![CDATA[ a>b{} ]]></style><title>a</title><g/></svg><script>a<b</script>`, ""},
		{`<svg><style/></svg>`, "1 style  "},
		{`<svg><text><![CDATA[a]]></text><![CDATA[>]]<b]]></svg>`, "1 ![cdata[  "},
		{`<svg></svg><p><![CDATA[a]]><![CDATA[a>`, "1 ![cdata[  "},
		{`<select><option><script>a<b</script></select><script>a<b</script>`, "1 script  "},
	} {
		var got []string
		found, err := Foreign(strings.NewReader(c.page))
		for _, a := range found {
			got = append(got, fmt.Sprintf("%d %s %s %s", a.Line, a.Element, a.Attribute, a.Value))
		}
		if strings.Join(got, "; ") != c.want || err != nil {
			t.Errorf("%s\nhas %q, error %v", c.page, got, err)
		}
	}
	many, err := Foreign(strings.NewReader(strings.Repeat("<iframe src=//b.example></iframe>", 1000)))
	if len(many) != maxForeign || err != nil {
		t.Errorf("%d addresses, error %v", len(many), err)
	}
	nested := `<link rel=preconnect href=/>`
	for range 10 {
		nested = `<iframe srcdoc="` + html.EscapeString(nested) + `">`
	}
	if deep, _ := Foreign(strings.NewReader(nested)); len(deep) != 1 || deep[0].Attribute != "srcdoc" {
		t.Errorf("nested too deep: %v", deep)
	}
}

// contacts returns an element that contacts another host in spite of the policy, in a page that is
// parsed as a browser without scripts does.
func contacts(page string) string {
	root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		return ""
	}
	for n := range root.Descendants() {
		attrs := map[string]string{}
		for _, a := range n.Attr {
			attrs[a.Key] = a.Val
		}
		switch rel := strings.ToLower(attrs["rel"]); {
		case n.Type != html.ElementNode || n.Namespace != "":
		case n.Data == "link" && (strings.Contains(rel, "preconnect") || strings.Contains(rel, "dns-prefetch")) &&
			slices.ContainsFunc(words(rel),
				func(word string) bool { return word == "preconnect" || word == "dns-prefetch" }) &&
			elsewhere(n, attrs["href"]),
			n.Data == "iframe" && (elsewhere(n, attrs["src"]) || contacts(attrs["srcdoc"]) != ""),
			(n.Data == "frame" || n.Data == "embed") && elsewhere(n, attrs["src"]),
			n.Data == "object" && elsewhere(n, attrs["data"]):
			return n.Data
		}
	}
	return ""
}

// TestForeignHostile: no page that contacts another host passes.
func TestForeignHostile(t *testing.T) {
	for _, page := range hostile {
		for _, element := range []string{"<iframe src=//evil.example>", "<link rel=preconnect href=//evil.example>"} {
			page := strings.ReplaceAll(page, "<img src=//evil.example>", element)
			if found, err := Foreign(strings.NewReader(page)); len(found) == 0 && err == nil && contacts(page) != "" {
				t.Errorf("%s: passes, with %s", page, contacts(page))
			}
		}
	}
}

// TestErrors: an address that is not absolute, a reader or writer that fails, a text that is too
// long.
func TestErrors(t *testing.T) {
	for _, s := range []string{"", "/x", "mailto:x", "ftp://a.example/", "http:///x"} {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := HTML(context.Background(), io.Discard, strings.NewReader(""), u, short); err == nil {
			t.Errorf("HTML accepts the base %q", s)
		}
		if _, err := CSS(context.Background(), "", u, short); err == nil {
			t.Errorf("CSS accepts the base %q", s)
		}
	}
	if err := HTML(context.Background(), io.Discard, strings.NewReader(""), nil, short); err == nil {
		t.Error("HTML accepts no base")
	}
	broken := errors.New("broken")
	if err := HTML(context.Background(), io.Discard, iotest.ErrReader(broken), address(t),
		short); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	if _, err := Foreign(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	r, w := io.Pipe()
	r.CloseWithError(broken)
	if err := HTML(context.Background(), w, strings.NewReader("<p>"), address(t), short); !errors.Is(err, broken) {
		t.Errorf("a writer that fails: %v", err)
	}
	var out strings.Builder
	long := "<p><img src=//b.example alt='" + strings.Repeat("a", maxToken+1)
	if err := HTML(context.Background(), &out, strings.NewReader(long), address(t), short); err == nil ||
		strings.Contains(out.String(), "img") {
		t.Errorf("a tag that is too long: %d bytes, error %v", out.Len(), err)
	}
}

// TestBounds: the time grows with the size of the page, not with its square.
func TestBounds(t *testing.T) {
	for name, part := range map[string]string{
		"attributes":  " a b=c href=d srcset='e,f 1x'",
		"nesting":     "<div><svg><g><style>",
		"srcset":      ",a b(,",
		"css":         "url((a'b\\'(){[",
		"escapes":     `\75\72\6c(`,
		"custom":      `--a:"//b";{`,
		"srcdoc":      `<iframe srcdoc="<iframe srcdoc='&lt;img src=a>'>">`,
		"select":      "<select><style><",
		"cdata":       "<svg><![CDATA[>",
		"references":  "<a href=../../x?%&amp;><a href='\t//\\\\/b'>",
		"import maps": `<script type=importmap>{"/a":"\"`,
	} {
		text := strings.Repeat(part, (1<<18)/len(part))
		switch name {
		case "attributes":
			text = "<a" + text
		case "srcset":
			text = `<img srcset="` + text
		case "css", "escapes", "custom":
			text = "<style>" + text
		}
		growth.Linear(t, name, text, func(page string) {
			rewritten(t, page+`">`, short)
			if _, err := Foreign(strings.NewReader(page)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestManyAttributes: one of many attributes changes, and all others remain.
func TestManyAttributes(t *testing.T) {
	var b strings.Builder
	b.WriteString("<p")
	for i := range 100_000 {
		fmt.Fprintf(&b, " a%d='x'", i)
	}
	b.WriteString(" style='b:url(c)'>")
	want := strings.Replace(b.String(), `style='b:url(c)'`, `style="b:url(&#34;/image:a.example/dir/c&#34;)"`, 1)
	if got := rewritten(t, b.String(), short); got != want {
		t.Errorf("%d bytes become %d", b.Len(), len(got))
	}
}

// TestStreams: most of a page has been written before its end is read.
func TestStreams(t *testing.T) {
	page := strings.NewReader(strings.Repeat("<p>text <a href=x>link</a>\n", 20_000))
	written, before := 0, 0
	out := writerFunc(func(p []byte) (int, error) { written += len(p); return len(p), nil })
	end := readerFunc(func([]byte) (int, error) { before = written; return 0, io.EOF })
	err := HTML(context.Background(), out, io.MultiReader(page, end), address(t), short)
	if err != nil || before < written-64<<10 {
		t.Errorf("%d of %d bytes, error %v", before, written, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// FuzzHTML: whatever the page, nothing of another host is left, and a page in which Foreign finds
// nothing contacts no other host.
func FuzzHTML(f *testing.F) {
	for _, page := range hostile {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		if s := left(t, rewritten(t, page, archive)); s != "" {
			t.Errorf("%q\nbecomes %q\nwhich requests %s", page, rewritten(t, page, archive), s)
		}
		if found, err := Foreign(strings.NewReader(page)); len(found) == 0 && err == nil && contacts(page) != "" {
			t.Errorf("%q passes, with %s", page, contacts(page))
		}
	})
}

// FuzzCSS: the tokens together are the style sheet; all addresses in a style sheet that was changed
// are of the archive; changing it again changes no more.
func FuzzCSS(f *testing.F) {
	f.Add(`@import "a";@font-face{src:url(b)}c{d:image-set("e" 1x);--f:"//g"}/*`)
	f.Add("a{b:u\\72l( 'c\\\nd' ) url(e\\)f) 1url(/*)}")
	f.Fuzz(func(t *testing.T, sheet string) {
		var whole strings.Builder
		for l := (lexer{css: sheet}); ; {
			tok := l.next()
			if tok.kind == endOfSheet {
				break
			}
			if tok.end <= tok.start {
				t.Fatalf("an empty token at %d of %q", tok.start, sheet)
			}
			whole.WriteString(sheet[tok.start:tok.end])
		}
		if whole.String() != sheet {
			t.Fatalf("the tokens of %q are %q", sheet, whole.String())
		}
		once, err := CSS(context.Background(), sheet, address(t), archive)
		if err != nil {
			t.Fatal(err)
		}
		_, err = CSS(context.Background(), once, address(t), func(address string, _ Kind) string {
			if !strings.HasPrefix(address, "https://archive.example/") {
				t.Errorf("%q becomes %q with %s", sheet, once, address)
			}
			return address
		})
		if err != nil {
			t.Fatal(err)
		}
		if neutral := neutralCSS(once); tagged(neutral) || html.UnescapeString(neutral) != neutral {
			t.Errorf("%q can be read in two ways: %q", once, neutral)
		}
	})
}
