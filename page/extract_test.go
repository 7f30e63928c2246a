package page

import "testing"

func TestExtract(t *testing.T) {
	p := fixture(t, "harbour.html")
	for _, c := range []struct {
		locator, want string
		found         bool
	}{
		{"id:lead", "After three years of dredging, the first ferry left. Crowds cheered.", true},
		{"id:Lead", "", false}, // X21: ids are case-sensitive
		{"id:nope", "", false}, // I01: no element has this id
		{"idlist:nope,lead", "After three years of dredging, the first ferry left. Crowds cheered.", true},
		{"class:abstract", "After three years of dredging, the first ferry left. Crowds cheered. Outer words inner " +
			"words", true},
		{"class:Abstract", "", false},      // I05: class tokens are case-sensitive
		{"class:abstract lead", "", false}, // I05: a class token is compared, not the whole attribute
		{"classlist:note,lead",
			"After three years of dredging, the first ferry left. Crowds cheered. Ferries cost twelve crowns.", true},
		{"meta:LICENCE", "Free for harbours", true},
		{"meta:robots", "ACAP disallow-preserve noindex ACAP disallow-follow ACAP allow-index", true},
		{"meta:author", "", false},
		{"taglist:H1,title", "The harbour opens again The harbour opens again", true},
		{"taglist:table,td", "Ship Berth Alma 4", true}, // I06: nested matches are not repeated
		{"taglist:script,template,textarea", "", false},
		{"taglist:img", "the ferry Alma", true},
		{"lead", "", false},
		{"id:", "", false},
		{"text:words", "", false},
	} {
		got, found := p.Extract(c.locator, Cut{})
		if got != c.want || found != c.found {
			t.Errorf("%s: %q, %v", c.locator, got, found)
		}
	}
}

func TestExtractUnderCut(t *testing.T) {
	p := htmlPage(`<meta name=a content=A><p id=a class=the-acap:disallow-index>1</p>` +
		`<p class=x>2<b class="x the-acap:disallow-index">3</b>4</p>
<p id=b data-nosnippet>5</p><div hidden><p id=c>6</p></div>` +
		`<div class=the-acap:allow-index>7<p id=d>8</p></div><p id=b>9</p><p id=e></p>`)
	for _, c := range []struct {
		locator string
		cut     Cut
		want    string
		found   bool
	}{
		{"id:a", without("index", true), "", false},
		{"class:x", without("index", true), "24", true},
		{"id:b", Cut{Snippet: true}, "", false},
		{"id:b", Cut{}, "5", true}, // the first element with that id
		{"id:c", Cut{}, "", false}, // X10: the element is not part of the text
		{"id:d", without("index", false), "8", true},
		{"id:e", Cut{}, "", true},
		{"id:e", without("index", false), "", false},
		{"meta:a", Cut{}, "A", true},
		{"meta:a", without("index", false), "", false},
		{"taglist:div,p", without("index", false), "7 8", true},
	} {
		got, found := p.Extract(c.locator, c.cut)
		if got != c.want || found != c.found {
			t.Errorf("%s: %q, %v", c.locator, got, found)
		}
	}
}

func TestLink(t *testing.T) {
	p := htmlPage(`<head><meta name=terms content="See our terms"><link id=licence href="/licence">` +
		`<base href="http://other.example/dir/">
<body><p id=para>Read <b>the <a name=x>old</a> <a href="terms.html#part">terms</a></b></p>` +
		`<a id=a href="HTTP://WWW.Example.org:80"> Us </a>
<p id=words>No link</p><a class="c x" href="1">one</a><a class=c href=2>two</a><a id=js href="javascript:go()">run</a>`)
	for _, c := range []struct {
		locator, href, text string
		found               bool
	}{
		{"id:a", "http://www.example.org/", "Us", true},
		{"id:para", "http://other.example/dir/terms.html#part", "Read the old terms", true},
		{"id:licence", "http://other.example/licence", "", true},
		{"id:words", "", "No link", true},
		{"class:c", "http://other.example/dir/1", "one", true},
		{"meta:Terms", "", "See our terms", true},
		{"id:js", "", "run", true},
		{"id:nope", "", "", false},
	} {
		href, text, found := p.Link(c.locator)
		if href != c.href || text != c.text || found != c.found {
			t.Errorf("%s: %q %q %v", c.locator, href, text, found)
		}
	}
}
