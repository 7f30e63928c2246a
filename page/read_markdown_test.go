package page

import (
	"strings"
	"testing"
	"time"
)

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ name, body, title, want string }{
		{"headings and paragraphs", "Alma\n====\n\nShe came *in* at\ndawn, [late](http://no.example/).\n\n## Berth\n\n- one\n- two\n", "Alma",
			"heading|Alma\n|She came in at dawn, late.\nheading|Berth\n|one\n|two"},
		{"tables and code", "| a | b |\n|---|---|\n| c | `d` |\n\n    e\n    f\n\n```go\ng\n```\n", "", "|a\n|b\n|c\n|d\n|e f\n|g"},
		{"pictures", "![the quay](no.png)", "", "|the quay"},
		{"front matter", "---\ntitle: \"Low  water\"\ndate: no\n---\n# High water\n", "Low water", "heading|High water"},
		{"a rule is no front matter", "---\na\n", "", "|a"},
		{"HTML in it", "a <b>c</b> <span class=the-acap:disallow-index>x</span>\n\n<div hidden>x</div>\n<script>x</script>", "", "|a c"},
		{"ideographs", "東\n京", "", "|東京"},
		{"nothing", "", "", ""},
	} {
		for _, mime := range []string{"text/markdown; charset=utf-8", "text/x-markdown"} {
			p := fetched(mime, c.body)
			if got := told(p.Blocks(Cut{})); got != c.want {
				t.Errorf("%s: %q", c.name, got)
			}
			if got := p.Title(Cut{}); got != c.title {
				t.Errorf("%s: title %q", c.name, got)
			}
			if got := p.Text(without("index", false)) + p.Title(without("index", false)); got != "" {
				t.Errorf("%s: prohibited %q", c.name, got)
			}
		}
	}
}

// What parts a text for the parser loses none of its words.
func TestLongMarkdown(t *testing.T) {
	for name, line := range map[string]string{
		"list":  "- the [ferry](http://no.example/) *Alma*\n",
		"table": "the | ferry [ | Alma\n",
		"prose": "the ferry_ *Alma* ",
	} {
		got := readMarkdown(strings.Repeat(line, 1000)).text
		if n := strings.Count(got, "Alma"); n != 1000 {
			t.Errorf("%s: %d of 1000", name, n)
		}
	}
}

func TestHostileMarkdown(t *testing.T) {
	for _, part := range []string{"[a](", "[a](<", "[a]: b\n", "_a*", "[a](b \"c\n", ">", "- ", "[a]:", "![a"} {
		start := time.Now()
		readMarkdown(strings.Repeat(part, longestMarkdown/len(part)))
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q: %v", part, took)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("---\ntitle: a\n---\n# b\n\nc *d* [e](f)\n")
	f.Add("| a |\n|---|\n| b |\n\n> - [ ] c\n\n<p class=\"acap:x\">d</p>\n")
	f.Fuzz(func(t *testing.T, body string) {
		p := fetched("text/markdown", body)
		if err := apart(p, Cut{}); err != nil {
			t.Error(err)
		}
	})
}
