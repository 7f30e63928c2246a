package index

import (
	"fmt"
	"strings"
	"testing"
)

// TestBound checks that the limit on a document counts its words, however long they are, and that
// Bound describes what is left out.
func TestBound(t *testing.T) {
	var distinct strings.Builder
	for i := range 5 * maxDistinct {
		fmt.Fprintf(&distinct, "w%x ", i)
	}
	for name, c := range map[string]struct {
		text string
		cut  bool
	}{
		"an ordinary text": {strings.Repeat("The ferry to Gull Island sails again. ", 20_000), false},
		"few words":        {"one two", false},
		"different words":  {distinct.String(), true},
		"many words":       {strings.Repeat("a b ", maxWords), true},
		"many characters":  {strings.Repeat("舟", maxWords+wordsAtOnce), true},
		"long characters":  {strings.Repeat("\uFDFA", maxWords/2), true},
		"no words":         {strings.Repeat("–", maxWords), false},
	} {
		d := Document{URL: "http://h.example/", Text: c.text}
		why := d.Bound()
		if (why != "") != c.cut || (len(d.Text) < len(c.text)) != c.cut || !strings.HasPrefix(c.text, d.Text) {
			t.Errorf("%s: %d bytes of %d are left: %q", name, len(d.Text), len(c.text), why)
		}
		if again := d.Bound(); again != "" {
			t.Errorf("%s: what was bounded is bounded again: %s", name, again)
		}
	}
	d := Document{Headings: strings.Repeat("heading\n", maxHeadings)}
	if why := d.Bound(); why == "" || len(d.Headings) > maxHeadings {
		t.Errorf("%d bytes of headings: %q", len(d.Headings), why)
	}
}
