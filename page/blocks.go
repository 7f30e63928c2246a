package page

// Kind says what a block of a page is.
type Kind string

// The kinds of block. The zero value is what a page is read for.
const (
	Prose   Kind = ""
	Heading Kind = "heading" // H1 to H6
	Aside   Kind = "aside"   // what stands on every page: navigation, header and footer of the site
)

// Block is a part of a text that reads by itself, as a paragraph, a heading, a list item or a table cell does.
type Block struct {
	Kind       Kind
	Start, End int // bytes of the text
}

// Blocks is Text with its blocks, in order and apart. The title is no block.
func (p *Page) Blocks(c Cut) (text string, blocks []Block) {
	text = p.Text(c)
	if title := len(p.Title(c)); len(text) > title {
		blocks = append(blocks, Block{Start: title, End: len(text)})
	}
	return text, blocks
}
