package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestCuts checks that the beginning of a page that is too large is read, and that Cuts reports the
// limit.
func TestCuts(t *testing.T) {
	var links strings.Builder
	for i := range maxLinks + 10 {
		fmt.Fprintf(&links, "<a href=/%d>", i)
	}
	for name, c := range map[string]struct {
		body string
		why  string // the only expected cut; "" for none
	}{
		"ordinary":        {newspaper(), ""},
		"many tags":       {strings.Repeat("<i>x</i>", maxTags/2+10), "tags are read"},
		"many attributes": {strings.Repeat("<p a b c d e f g h>x", maxAttrs/8+10), "attributes are read"},
		"long source": {strings.Repeat("<p>"+strings.Repeat("x", 1000), maxSource/1003+10),
			"MiB are read as markup"},
		"long title": {"<title>" + strings.Repeat("Title ", maxTitle/6+10) + "</title>x", "KiB of its title"},
		"long text":  {strings.Repeat("<p>"+strings.Repeat("a word ", 1000), maxText/7000+10), "MiB of its text"},
		"many blocks": {strings.Repeat("x<br><br>", maxBlocks/2) + strings.Repeat("<p>x", maxTags-maxBlocks-10),
			""},
		"many links": {links.String(), "links are followed"},
	} {
		p := htmlPage(c.body)
		p.Blocks(Cut{})
		p.Title(Cut{})
		p.Links(Cut{})
		p.Language()
		if got := strings.Join(p.Cuts(), "; "); (got == "") != (c.why == "") || !strings.Contains(got, c.why) {
			t.Errorf("%s: %q", name, got)
		}
		if why := p.Own().Unread; why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}

// TestCutPageStillSpeaks checks that prohibitions in the part of a page that is not parsed are
// still found.
func TestCutPageStillSpeaks(t *testing.T) {
	p := htmlPage(strings.Repeat("<i>x</i>", maxTags/2+10) + "<p class=the-acap:disallow-preserve>secret")
	if own := p.Own(); len(own.Marks) != 1 {
		t.Errorf("own %+v", own)
	}
	if got, cut := p.Copy(without("preserve", true)); got != nil || !cut {
		t.Errorf("copy %.60q", got)
	}
}

// TestUnread checks that a page whose statements cannot be read is not used for anything.
func TestUnread(t *testing.T) {
	many := strings.Repeat("a ", maxTagAttr+1)
	for name, body := range map[string]string{
		"attributes": "<p " + many + strings.Repeat("b ", maxAttrs) + ">x",
		"quoted":     "<p a='>' " + strings.Repeat("c='>'", maxAttrs) + ">x",
		"behind what is cut": strings.Repeat("<i>x</i>", maxTags/2+10) + "<p class=acap:x><p " +
			strings.Repeat("b ", longTag*4) + ">x",
		"META tags":        strings.Repeat("<meta name=robots content=all>", maxSaid+1),
		"class statements": strings.Repeat("<p class=the-acap:allow-index>", maxSaid+1),
		"lost statements": strings.Repeat("<object>", 600) + strings.Repeat("<p class=the-acap:allow-index>",
			maxSaid+1),
		"long statements": "<meta name=robots content='" + strings.Repeat("all, ", maxSaidBytes/5+1) + "'>",
	} {
		p := htmlPage(body)
		own := p.Own()
		if own.Unread == "" || len(own.Tags)+len(own.Marks) > 0 {
			t.Errorf("%s: %d tags, %d marks, unread for %q", name, len(own.Tags), len(own.Marks), own.Unread)
		}
		if !slices.Contains(p.Cuts(), own.Unread) {
			t.Errorf("%s: cuts %q", name, p.Cuts())
		}
	}
	for name, body := range map[string]string{
		"in a script":     "<script>a <b " + many + many + many + many + "</script><p>x",
		"in a comment":    "<!-- <b " + many + many + many + many + "--><p>x",
		"a long value":    "<img src='data:" + strings.Repeat(" x", 4*longTag) + "'><p>x",
		"a long text":     "<p>" + strings.Repeat("< x y ", 4*longTag) + "<p>x",
		"attributes that": "<p " + many[:2*maxTagAttr-2] + ">x",
	} {
		body += strings.Repeat(" ", maxAttrs) // many blanks, so that the attributes are counted with the tokenizer
		if p := htmlPage(body); p.Own().Unread != "" || p.Cuts() != nil {
			t.Errorf("%s: %q, %q", name, p.Own().Unread, p.Cuts())
		}
	}
}

// TestTreeStaysWithinWeight checks that the memory of a parsed page does not exceed the estimate of
// Weight, for many kinds of markup.
func TestTreeStaysWithinWeight(t *testing.T) {
	for name, part := range map[string]string{
		"tags": "<a>", "texts": "<i>x</i>", "formatting": "<b a=1><p>x", "tables": "<table><td>", "nested": "<div>",
		"fixed":      "<object>",
		"attributes": "<p a b c d e f=1 g h>", "comments": "<!---->", "noscript": "<noscript><p>x</noscript>",
		"options": "<select><option>",
	} {
		p := htmlPage(formattingTags(500) + strings.Repeat(part, 4<<20/len(part)))
		nodes, attrs := 0, 0
		walk(p.tree().root, func(n *html.Node) bool {
			nodes, attrs = nodes+1, attrs+len(n.Attr)
			return true
		}, func(*html.Node) {})
		weight, _ := p.Weight()
		if most := 3*maxTags + moreNodes + 10; nodes > most || attrs > 2*maxAttrs ||
			int64(nodes*120+attrs*50) > 2*weight+moreNodes*170 {
			t.Errorf("%s: %d nodes and %d attributes of a page that weighs %d", name, nodes, attrs, weight)
		}
	}
}

func formattingTags(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<b a=%d>", i)
	}
	return b.String()
}
