package page

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

const list = `<meta name=robots content="ACAP allow-index id-list= a b">`

func TestFragmentMarks(t *testing.T) { // PILOT 1.3.1: META tags name elements by their ids
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"no list", `<meta name=robots content="ACAP allow-index a b"><p id=a>x`, nil},
		{"elements", list + "\n<p id=a>x\n <p id=c>y<p id=b>z", []string{"#a 2:1 1", "#b 3:11 2"}},
		{"letter case", list + "\n<p id=A>x", nil},
		{"for any crawler", strings.Replace(list, "robots", "otherbot", 1) + "\n<p id=a>x", []string{"#a 2:1 1"}},
		{"beside a class", list + "\n<p class=acap:allow-follow>w<p id=a class=acap:disallow-index>x",
			[]string{"acap:allow-follow 2:10 1", "acap:disallow-index 2:43 2", "#a 2:29 2"}},
		{"the whole page", list + "\n<body id=a><p id=b>x", []string{"#a 2:1 1", "#b 2:12 2"}},
		{"the root", "<html id=a>" + list + "\n<p>x", []string{"#a 1:1 1 head"}},
		{"twice", list + "\n<p id=a>x<p id=a>y", []string{"#a 2:1 1", "#a 2:10 2"}},
		{"opened again by the parser", list + "\n<p><b id=a>x<p>y", []string{"#a 2:4 1"}},
		{"in noscript", list + "\n<body><noscript>\n<p id=a>x</noscript>", []string{"#a 3:1 1"}},
		{"without an element", list + "\n<table><tr><td>x</table><tr id=a>y", []string{"#a 2:25 1"}},
		{"a list in the body", "<body>" + list + "\n<p id=a>x", nil},
	} {
		var got []string
		for _, m := range htmlPage(c.body).Own().Marks {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %d:%d %d %s", m.Token, m.Line, m.Column, m.Element,
				m.Place)))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestFragmentsAreCut(t *testing.T) {
	p := htmlPage(list + `<title>Tides</title><p id=a>one<p id=b>two <b>three</b><p>four`)
	cut := Cut{Keep: func(chain []acap.Mark) bool { return len(chain) == 0 || chain[0].Token != "#b" }}
	if got := p.Text(cut); got != "Tides one four" {
		t.Errorf("the text is %q", got)
	}
	body, changed := p.Copy(cut)
	if !changed || strings.Contains(string(body), "two") || !strings.Contains(string(body), "id-list= a b") {
		t.Errorf("the copy is %q", body)
	}
	again := htmlPage(string(body))
	if got := again.Text(Cut{}); got != "Tides one four" {
		t.Errorf("the text of the copy is %q", got)
	}
	if marks := again.Own().Marks; len(marks) != 1 || marks[0].Token != "#a" {
		t.Errorf("the copy has the marks %v", marks)
	}
	if body, changed := p.Copy(Cut{}); changed || string(body) != p.Source() {
		t.Errorf("where nothing is cut the copy is %q", body)
	}
}

func TestDefinitionTags(t *testing.T) { // PILOT 1.3.4: META tags contain definitions
	for _, c := range []struct {
		body, want string
		column     int
	}{
		{`<META name="ACAP-qualified-usage" value="q index time-limit=1-days">`,
			"ACAP-qualified-usage=q index time-limit=1-days", 42},
		{`<meta name=acap-composite-usage content="ACAP c index follow">`, "acap-composite-usage=ACAP c index follow",
			42},
		{`<meta name=ACAP-qualified-usage content="one" value="two">`, "ACAP-qualified-usage=one", 42},
		{`<meta name=”ACAP-qualified-usage” value="q index">`, "ACAP-qualified-usage=q index", 42},
		{`<meta name=robots value=noindex>`, "", 0},
		{`<meta name=ACAP-qualified-usage>`, "", 0},
		{`<body><meta name=ACAP-qualified-usage value="q index">`, "", 0},
	} {
		got := ""
		for _, tag := range htmlPage("<!-- a -->\n" + c.body).Own().Tags {
			if tag.Line != 2 || tag.Column != c.column {
				t.Errorf("%s is found at %d:%d", c.body, tag.Line, tag.Column)
			}
			got += tag.Name + "=" + tag.Content
		}
		if got != c.want {
			t.Errorf("%s: %q", c.body, got)
		}
	}
}
