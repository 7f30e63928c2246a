package page

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

func TestOwnOfHarbour(t *testing.T) {
	own := fixture(t, "harbour.html").Own()
	want := acap.Own{URL: address,
		Tags: []acap.Tag{
			{Source: acap.Meta, Name: "Robots", Content: "ACAP disallow-preserve", Line: 9, Column: 30},
			// N14: typographic quotation marks around the value
			{Source: acap.Meta, Name: "robots", Content: "noindex", Line: 10, Column: 31},
			{Source: acap.Meta, Name: "searchbot", Content: "max-snippet:20", Line: 11, Column: 33},
			{Source: acap.Meta, Name: "robots", Content: "ACAP disallow-follow", Line: 17, Column: 76},
			{Source: acap.Meta, Name: "robots", Content: "ACAP allow-index", Line: 18, Column: 30},
		}, // N11: the META in the body has no effect
		Marks: []acap.Mark{
			{Token: "the-acap:disallow-index", Line: 24, Column: 16, Element: 1},
			{Token: "acap:Disallow-Present", Line: 38, Column: 11, Element: 2},
		},
	}
	if !reflect.DeepEqual(own, want) {
		t.Errorf("got\n%+v\nwant\n%+v", own, want)
	}
}

func TestStrays(t *testing.T) { // TestStrays checks that rules in META tags outside the head are reported (N11).
	p := htmlPage("<title>x</title><meta name=robots content=noindex>\n<noscript><meta name=robots " +
		"content=nofollow></noscript>" +
		"<img src=a.gif>\n <meta name=robots content=noindex><meta name=Robots content='ACAP disallow-index'><meta " +
		"name=keywords content=index>\n" +
		"<noscript><meta name=googlebot content=none></noscript></head><body><meta itemprop=robots content=noindex>")
	want := []acap.Tag{
		{Source: acap.Meta, Name: "robots", Content: "noindex", Line: 3, Column: 28},
		{Source: acap.Meta, Name: "Robots", Content: "ACAP disallow-index", Line: 3, Column: 63},
		{Source: acap.Meta, Name: "googlebot", Content: "none", Line: 4, Column: 40},
	}
	if got := p.Strays(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := p.Own().Tags; len(got) != 2 {
		t.Errorf("in the head: %+v", got)
	}
}

func TestHeaderLines(t *testing.T) {
	p := New([]Hop{{URL: address, Header: http.Header{"Content-Type": {"image/png"},
		"X-Robots-Tag": {"noindex", "searchbot: nofollow"}, "Robots-Tag": {"*;noarchive"}}}})
	want := []acap.Tag{
		{Source: acap.Header, Name: "X-Robots-Tag", Content: "noindex", Line: 1, Column: 1},
		{Source: acap.Header, Name: "X-Robots-Tag", Content: "searchbot: nofollow", Line: 2, Column: 1},
		{Source: acap.Header, Name: "Robots-Tag", Content: "*;noarchive", Line: 1, Column: 1},
	}
	if got := p.Own().Tags; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestPlaceOfMeta(t *testing.T) {
	for _, c := range []struct {
		name, body   string
		line, column int
		loose        bool
	}{
		{"quoted", `<meta name="robots" content="noindex">`, 1, 30, false},
		{"in single quotes, content first, in capitals", `<META CONTENT = 'noindex' NAME=robots>`, 1, 18, false},
		{"without quotes", `<meta name=robots content=noindex>`, 1, 27, false},
		{"without quotes, closed", `<meta name=robots content=noindex />`, 1, 27, false},
		{"the same word elsewhere", `<meta name="robots" title="content=noindex" content="noindex">`, 1, 54, false},
		{"on another line", "<title>é</title><meta\n name=robots\n é='' content='noindex'>", 3, 16, false},
		{"beside a class", `<meta class="the-acap:allow-index" name=robots content=noindex>`, 1, 56, false},
		{"character references", `<meta name="robots" content="no&#105;ndex">`, 1, 1, true},
		{"in noscript", `<noscript><meta name="robots" content="noindex"></noscript>`, 1, 40, false},
	} {
		tags := htmlPage(c.body).Own().Tags
		if len(tags) != 1 || tags[0].Line != c.line || tags[0].Column != c.column || tags[0].Loose != c.loose {
			t.Errorf("%s: %+v", c.name, tags)
		}
	}
}

func TestMetaTags(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string // expected names and contents
	}{
		{"head implied (N11)", `<meta name=robots content=noindex><p>x`, []string{"robots", "noindex"}},
		{"after text", `words <meta name=robots content=noindex>`, nil},
		{"after an image in noscript", `<head><noscript><img src=x></noscript><meta name=robots content=noindex>`,
			[]string{"robots", "noindex"}},
		{"in a comment", `<!-- <meta name=robots content=noindex> -->`, nil},
		{"in a script", `<script>"<meta name=robots content=noindex>"</script>`, nil},
		{"character references", `<meta name="robots" content="ACAP&#32;disallow&#45;index">`,
			[]string{"robots", "ACAP disallow-index"}},
		{"curly quotes with a blank (N14)", `<meta name=”robots” content=”ACAP disallow-index”>`,
			[]string{"robots", "”ACAP"}},
		{"curly quotes in straight ones", `<meta name="‘robots’" content="“noindex”">`, []string{"robots", "noindex"}},
		{"named crawler", `<meta name=Newsbot content="ACAP news allow-index">`,
			[]string{"Newsbot", "ACAP news allow-index"}},
		{"named crawler, conventional", `<meta name=newsbot content="unavailable_after: 1 Jan 2030">`,
			[]string{"newsbot", "unavailable_after: 1 Jan 2030"}},
		{"several names (X20)", `<meta name="robots, newsbot" content=new-rule>`,
			[]string{"robots, newsbot", "new-rule"}},
		{"what describes the page",
			`<meta name=description content="all of the index"><meta name=author content="ACAP">`, nil},
		{"what says nothing to crawlers", `<meta name=theme-color content="#fff">`, nil},
		{"without content", `<meta name=robots>`, nil},
	} {
		var got []string
		for _, tag := range htmlPage(c.body).Own().Tags {
			got = append(got, tag.Name, tag.Content)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestMarks(t *testing.T) {
	mark := func(element int, token string, line, column int, place acap.Place) acap.Mark {
		return acap.Mark{Element: element, Token: token, Line: line, Column: column, Place: place}
	}
	for _, c := range []struct {
		name, body string
		want       []acap.Mark
	}{
		{"none", `<p class="acap the-acap">x`, nil},
		{"tokens (N10)", `<p class="x The-ACAP:Disallow-Index&#9;acap:allow-index">x`,
			[]acap.Mark{mark(1, "The-ACAP:Disallow-Index", 1, 1, ""), mark(1, "acap:allow-index", 1, 1, "")}},
		{"curly quotes", `<div class=”the-acap:allow-index”>x</div>`,
			[]acap.Mark{mark(1, "the-acap:allow-index", 1, 13, "")}},
		{"on lines of their own", "<p class='x\n the-acap:allow-index\n  the-acap:disallow-follow'>x",
			[]acap.Mark{mark(1, "the-acap:allow-index", 2, 2, ""), mark(1, "the-acap:disallow-follow", 3, 3, "")}},
		{"places (N27)", "<html class=the-acap:disallow-index>\r\n<title " +
			"class=the-acap:disallow-follow>x</title>\r\r é<body class=the-acap:disallow-present>",
			[]acap.Mark{mark(1, "the-acap:disallow-index", 1, 13, acap.OnHead),
				mark(2, "the-acap:disallow-follow", 2, 14, acap.OnHead),
				mark(3, "the-acap:disallow-present", 4, 15, acap.OnElement)}},
		{"frameset", `<frameset class=acap:disallow-index>`,
			[]acap.Mark{mark(1, "acap:disallow-index", 1, 17, acap.OnElement)}},
		{"in noscript", "<body>\n<noscript>\n <p class=the-acap:disallow-index>x</noscript>",
			[]acap.Mark{mark(1, "the-acap:disallow-index", 3, 11, "")}},
		{"opened again by the parser", "<p><b class=acap:disallow-index>x<p>y",
			[]acap.Mark{mark(1, "acap:disallow-index", 1, 13, "")}},
		{"fostered out of a table",
			"<p class=acap:one>1</p><table>\n<p class=acap:two>2<tr class=acap:three><td>3</table>",
			[]acap.Mark{mark(1, "acap:one", 1, 10, ""), mark(2, "acap:two", 2, 10, ""),
				mark(3, "acap:three", 2, 30, "")}},
		{"without an element", "<table><tr><td>x</table><tr class=acap:disallow-index>y",
			[]acap.Mark{mark(1, "acap:disallow-index", 1, 35, "")}},
	} {
		if got := htmlPage(c.body).Own().Marks; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestTangled checks that a page with an element under too many marks is not used for anything, and
// reports why.
func TestTangled(t *testing.T) {
	around := strings.Repeat("<div class='the-acap:allow-index the-acap:allow-follow'>", 100)
	for n, want := range map[int]string{maxChain - 200: "a b", maxChain - 199: "a"} {
		p := htmlPage("<p>a</p>" + around + "<p class='" + strings.Repeat("the-acap:x ", n) + "'>b</p>")
		if got := p.Text(without("follow", true)); got != want {
			t.Errorf("%d marks more: %q", n, got)
		}
		if m := p.Own().Tangled; (m == nil) != (want == "a b") || m != nil && m.Token != "the-acap:x" {
			t.Errorf("%d marks more: %+v", n, m)
		}
	}
}
