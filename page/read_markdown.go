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

// Bounds of what is read of a text in Markdown. Its parser looks at all that opens emphasis, a link
// or a tag in a paragraph again for each other such sign.
const (
	longestMarkdown = 256 << 10 // bytes; of a longer one the beginning is read
	mostSigns       = 256       // in one paragraph; the next ones are of another
	deepestMarkdown = 16        // quotations and lists that begin on one line
	mostIndented    = 32        // columns; what stands further right is read as if it did not
	mostCells       = 10_000    // of tables, each row as wide as the widest
)

// readMarkdown reads what Markdown makes of src as if that were the page (CommonMark, with the
// tables and lists of GitHub).
func readMarkdown(src string) reading {
	title, src := frontMatter(strings.ReplaceAll(src, "\r\n", "\n"))
	cut := ""
	if len(src) > longestMarkdown {
		src = strings.ToValidUTF8(src[:longestMarkdown], "")
		cut = fmt.Sprintf("only its first %d KiB are read", longestMarkdown>>10)
	}
	flat := flattened(src)
	bounded := parted(flat)
	if bounded != flat && mentions(src) { // an element with marks might be parted
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

// unlinked has links and pictures made to their texts: an address that is given once may be
// referred to in each word.
type unlinked struct{}

func (unlinked) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	words := func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkContinue, nil }
	r.Register(ast.KindLink, words)
	r.Register(ast.KindImage, words)
}

// frontMatter cuts off the lines at the begin of a text that are meant for tools, and returns the
// title that they contain.
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

// flattened is src with blank lines folded, since each of them keeps all lists open, and with lines
// that begin too many quotations and lists as plain text.
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

// opens counts the quotations and lists that a line begins.
func opens(line string) (n int) {
	for i := 0; i < len(line) && strings.IndexByte(" \t>-+*.)0123456789", line[i]) >= 0; i++ {
		if strings.IndexByte(">-+*.)", line[i]) >= 0 &&
			(i+1 == len(line) || line[i] == '>' || strings.IndexByte(" \t\n>", line[i+1]) >= 0) {
			n++
		}
	}
	return n
}

// cells is how many cells tables in src may come to: a row is as wide as its head.
func cells(src string) int {
	rows, widest := 0, 0
	for line := range strings.Lines(src) {
		if n := strings.Count(line, "|"); n > 0 {
			rows, widest = rows+1, max(widest, n)
		}
	}
	return rows * widest
}

// parted is src with its paragraphs parted where they hold too many signs.
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
