package page

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// Limits on what is read of a Markdown text. For each sign in a paragraph that may open emphasis, a
// link or a tag, the Markdown parser examines all other such signs, which takes quadratic time.
const (
	longestMarkdown = 256 << 10 // bytes of text; of a longer text the beginning is read
	mostSigns       = 256       // such signs in one paragraph; a paragraph with more is divided
	deepestMarkdown = 16        // quotations and lists that begin on one line
	mostIndented    = 32        // columns of indentation; further indentation is ignored
	mostCells       = 10_000    // table cells, counting each row as wide as the widest
)

// readMarkdown converts src from Markdown (CommonMark, with the tables and lists of GitHub) to
// HTML, and reads the HTML.
func readMarkdown(src string) reading {
	title, src := frontMatter(strings.ReplaceAll(src, "\r\n", "\n"))
	cut := ""
	if len(src) > longestMarkdown {
		src = strings.ToValidUTF8(src[:longestMarkdown], "")
		cut = fmt.Sprintf("only its first %d KiB are read", longestMarkdown>>10)
	}
	flat := flattened(src)
	bounded := parted(flat)
	if bounded != flat && mentions(src) { // an element with marks might be divided, so nothing is read
		return reading{}
	}
	extensions := []goldmark.Extender{extension.Strikethrough, extension.TaskList}
	if cells(bounded) <= mostCells {
		extensions = append(extensions, extension.Table)
	}
	var made strings.Builder
	m := goldmark.New(goldmark.WithExtensions(extensions...),
		goldmark.WithRendererOptions(html.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(unlinked{}, 1))))
	if m.Convert([]byte(bounded), &made) != nil {
		return reading{}
	}
	w := newWriter(len(src))
	w.parts = true
	w.markup(made.String(), false)
	w.end()
	r := reading{title: title, text: w.String(), blocks: w.blocks, cut: cut}
	for _, b := range r.blocks {
		if r.title == "" && b.Kind == Heading {
			r.title = r.text[b.Start:b.End]
		}
	}
	return r
}

// unlinked replaces links and pictures with their texts. Otherwise a text could define a long
// address once and refer to it from every word.
type unlinked struct{}

func (unlinked) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	words := func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkContinue, nil }
	r.Register(ast.KindLink, words)
	r.Register(ast.KindImage, words)
}

// frontMatter removes the metadata lines at the beginning of a text, and returns the title that
// they contain.
func frontMatter(src string) (title, rest string) {
	head, found := strings.CutPrefix(src, "---\n")
	if !found {
		return "", src
	}
	head, rest, found = strings.Cut(head, "\n---\n")
	if !found {
		return "", src
	}
	for line := range strings.Lines(head) {
		if key, value, _ := strings.Cut(line, ":"); key == "title" {
			title = strings.Join(strings.Fields(strings.Trim(strings.TrimSpace(value), `"'`)), " ")
		}
	}
	return title, rest
}

// flattened returns src with two changes. It joins consecutive blank lines, because the parser
// processes all open lists again for each blank line. It changes lines that begin too many
// quotations and lists to plain text.
func flattened(src string) string {
	var b strings.Builder
	blank := false
	for line := range strings.Lines(src) {
		rest := strings.TrimLeft(line, " \t")
		if rest == "\n" || rest == "" {
			if !blank {
				b.WriteByte('\n')
			}
			blank = true
			continue
		}
		blank = false
		indent := line[:len(line)-len(rest)]
		if columns := strings.ReplaceAll(indent, "\t", "    "); len(columns) > mostIndented {
			indent = columns[:mostIndented]
		}
		b.WriteString(indent)
		if opens(rest) > deepestMarkdown {
			b.WriteByte('\\')
		}
		b.WriteString(rest)
	}
	return b.String()
}

// opens returns the number of quotations and lists that a line begins.
func opens(line string) (n int) {
	for i := 0; i < len(line) && strings.IndexByte(" \t>-+*.)0123456789", line[i]) >= 0; i++ {
		if strings.IndexByte(">-+*.)", line[i]) >= 0 &&
			(i+1 == len(line) || line[i] == '>' || strings.IndexByte(" \t\n>", line[i+1]) >= 0) {
			n++
		}
	}
	return n
}

// cells returns an upper limit for the number of table cells in src: it counts each row as wide as
// the widest row.
func cells(src string) int {
	rows, widest := 0, 0
	for line := range strings.Lines(src) {
		if n := strings.Count(line, "|"); n > 0 {
			rows, widest = rows+1, max(widest, n)
		}
	}
	return rows * widest
}

// parted returns src. It divides paragraphs with too many signs that may open emphasis, a link or a
// tag.
func parted(src string) string {
	var b strings.Builder
	signs, last := 0, 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '*', '_', '~', '`', '[', '<':
			signs++
		case '\n':
			if i > 0 && src[i-1] == '\n' {
				signs = 0
			}
		}
		if signs > mostSigns && src[i] == '\n' || signs > 2*mostSigns {
			b.WriteString(src[last : i+1])
			b.WriteString("\n\n")
			last, signs = i+1, 0
		}
	}
	b.WriteString(src[last:])
	return b.String()
}
