package view

import (
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

// TestAddressQuery checks that a query that is a whole address leads to its versions, without a search, whether or not
// the page is archived or hidden, and that other words which may be an address lead there by a link.
func TestAddressQuery(t *testing.T) {
	s, h := searchable(t)
	for _, c := range []struct{ q, to string }{
		{stock.Site + "/full", stock.Site + "/full"},
		{" HTTP://Quay.example:80/a?b=(c)'d ", stock.Site + "/a?b=(c)'d"},
		{stock.Site + "/hidden", stock.Site + "/hidden"},
		{stock.Site + "/never", stock.Site + "/never"},
	} {
		w := lookUp(h, Anyone, "q", c.q)
		if w.Code != 302 || w.Header().Get("Location") != "/versions/"+c.to || s.searches > 0 {
			t.Errorf("%q: %d %v, %d searches", c.q, w.Code, w.Header(), s.searches)
		}
	}
	for _, c := range []struct {
		parameters []string
		want       []string
	}{
		{[]string{"q", "other.example/a?b"}, []string{`href="/versions/https://other.example/a?b"`,
			`href="/versions/http://other.example/a?b"`}},
		{[]string{"q", "other.example:8080"}, []string{`href="/versions/http://other.example:8080/"`}},
		{[]string{"q", stock.Site + "/full", "lang", "de"}, []string{`href="/versions/` + stock.Site + `/full"`}},
		{[]string{"q", `"` + stock.Site + `/x"`}, []string{"!Is this an address?"}},
		{[]string{"q", stock.Site + "/x xyzzyxyz"}, []string{"!Is this an address?"}},
		{[]string{"q", "xyzzyxyz"}, []string{"!Is this an address?"}},
		{[]string{"q", "xyzzyxyz."}, []string{"!Is this an address?"}},
		{[]string{"q", "lang:fr"}, []string{"!Is this an address?"}},
	} {
		w := lookUp(h, Anyone, c.parameters...)
		if w.Code != 200 {
			t.Errorf("%q: %d", c.parameters, w.Code)
		}
		contains(t, w.Body.String(), append(c.want, "No page that you may see matches")...)
	}
}

// TestWrongField checks that the message about a bad value names the field as the form does, and that the field is
// connected with the message.
func TestWrongField(t *testing.T) {
	_, h := searchable(t)
	const mark = ` aria-invalid="true" aria-describedby="wrong"`
	for _, c := range []struct{ name, value, message string }{
		{"site", "a b", "“Site” takes the name of a host, such as example.org, not “a b”."},
		{"lang", "deutsch", "“Language” takes the code of a language"},
		{"type", "nonsense", "“Type” takes html, text"},
		{"after", "yesterday", "“Fetched since” takes a day, a month or a year"},
		{"before", "2026-13", "“Fetched before” takes a day, a month or a year"},
		{"for", "index", "The parameter for must be"},
	} {
		body := lookUp(h, Anyone, "q", "ferry", c.name, c.value).Body.String()
		contains(t, body, c.message, ` name="`+c.name+`"`+mark, `<details class="filters" open>`)
		if strings.Count(body, "aria-invalid") != 1 || strings.Count(body, `id="wrong"`) != 1 {
			t.Errorf("%s: another field is marked", c.name)
		}
	}
	contains(t, lookUp(h, Anyone, "q", `"open`).Body.String(), `aria-describedby="q-hint wrong" aria-invalid="true"`,
		"the quotation mark at character 1 is not closed", `<details class="filters">`)
	contains(t, lookUp(h, Anyone, "q", "ferry").Body.String(), "!aria-invalid", "!wrong")
}

// TestCounted checks what is said about the number of results.
func TestCounted(t *testing.T) {
	for _, c := range []struct {
		count        int
		more         bool
		first, shown int
		want         string
	}{
		{0, false, 1, 0, ""},
		{1, false, 1, 1, "1 result"},
		{10, false, 1, 10, "10 results"},
		{51, false, 11, 10, "11 to 20 of 51 results"},
		{49, true, 1, 10, "1 to 10 of more than 40 results"},
		{25, true, 21, 5, "21 to 25 of more than 25 results"},
		{51, false, 61, 0, "There are no more than 51 results."},
	} {
		got := counted(present.Found{Count: c.count, More: c.more}, c.first, c.shown)
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
