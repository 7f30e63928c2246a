package page

import (
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/growth"
)

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ name, body, title, want string }{
		{"headings and paragraphs",
			"Alma\n====\n\nShe came *in* at\ndawn, [late](http://no.example/).\n\n## Berth\n\n- one\n- two\n", "Alma",
			"heading|Alma\n|She came in at dawn, late.\nheading|Berth\n|one\n|two"},
		{"tables and code", "| a | b |\n|---|---|\n| c | `d` |\n\n    e\n    f\n\n```go\ng\n```\n", "",
			"|a\n|b\n|c\n|d\n|e f\n|g"},
		{"pictures", "![the quay](no.png)", "", "|the quay"},
		{"front matter", "---\ntitle: \"Low  water\"\ndate: no\n---\n# High water\n", "Low water",
			"heading|High water"},
		{"a rule is no front matter", "---\na\n", "", "|a"},
		{"HTML in it", "a <b>c</b> <span class=the-acap:disallow-index>x</span>\n\n<div " +
			"hidden>x</div>\n<script>x</script>", "", "|a c"},
		{"ideographs", "東\n京", "", "|東京"},
		{"nothing", "", "", ""},
	} {
		for _, mime := range []string{"text/markdown; charset=utf-8", "text/x-markdown"} {
			p := fetched(mime, c.body)
			if got := formatBlocks(p.Blocks(Cut{})); got != c.want {
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

// TestLongMarkdownWithMarks checks that a text that must be divided for the parser is not read at
// all if it contains elements with marks.
func TestLongMarkdownWithMarks(t *testing.T) {
	for _, tail := range []string{`<span class="acap:disallow-index">SECRET</span> tail`,
		"<span\nclass=\"acap:disallow-index\">SECRET</span>",
		"<span class=\"acap:disallow-index\">SEC1\nSECRET</span>"} {
		for _, n := range []int{300, 512} {
			if got := readMarkdown(strings.Repeat("* a ", n) + tail).text; strings.Contains(got, "SECRET") {
				t.Errorf("%d: %q", n, got[max(0, len(got)-40):])
			}
		}
	}
}

// TestBoundedMarkdown checks that Markdown that would take long to parse is read as plain text.
func TestBoundedMarkdown(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"a wide table": {"|" + strings.Repeat("a|", 2000) + "\n|" + strings.Repeat("-|", 2000) + "\n" +
			strings.Repeat("|\n", 2000) + "\nAlma", "Alma"},
		"many lists":        {strings.Repeat("1. ", 63) + "\n" + strings.Repeat("\n", 200000) + "Alma", "Alma"},
		"lists within each": {deepLists() + strings.Repeat("\n", 200000) + "Alma", "Alma"},
		"a long rule":       {"Text\n\n" + strings.Repeat("- ", 70) + "\n\nAlma", "Alma"},
		"carriage returns":  {"---\r\ntitle: x\r\n---\r\nAlma", "Alma"},
	} {
		got := readMarkdown(c.body).text
		if !strings.HasSuffix(strings.TrimSpace(got), c.want) || strings.Contains(got, "title") {
			t.Errorf("%s: %q", name, got[max(0, len(got)-40):])
		}
	}
}

func deepLists() string {
	var b strings.Builder
	for i := range 24 {
		b.WriteString(strings.Repeat(" ", 126*i) + strings.Repeat("- ", 63) + "\n")
	}
	return b.String()
}

// TestLongMarkdown checks that dividing a text for the parser loses no words.
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
	size := longestMarkdown
	if testing.Short() {
		size /= 8
	}
	for _, part := range []string{"[a](", "[a](<", "[a]: b\n", "_a*", "[a](b \"c\n", ">", "- ", "[a]:", "![a"} {
		growth.Linear(t, part, strings.Repeat(part, size/len(part)), func(text string) { readMarkdown(text) })
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
