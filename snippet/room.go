package snippet

import (
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/page"
)

// Room is a cache for several calls of Build: it reuses memory, and stores which words of texts
// match the query. Only one goroutine may use it at a time.
type Room struct {
	left   []span // ranges in the joined text of the extra parts, of the kind that was added last
	places []found
	spare  []found // memory for texts whose places are not needed
	counts [maxTerms]int
	query  query // the parsed form of asked
	asked  string
	known  map[string]uint32 // maps a word of a text to the terms that it matches
}

// extra selects parts of a page that are searched only for words that no other part contains.
type extra struct {
	titles bool // headings that repeat the title
	asides bool // navigation and similar blocks
}

// kindOf returns the kind of extra part to which a block belongs. It returns the zero value if the
// block is not an extra part.
func kindOf(b page.Block, text, title string) extra {
	return extra{titles: b.Kind == page.Heading && title != "" && strings.Contains(title, Plain(text)),
		asides: b.Kind == page.Aside}
}

// joined returns text with an ellipsis before and after headings and extra parts, unless a sentence
// ends there. It includes only the extra parts selected by wanted.
func (r *Room) joined(text, title string, blocks []page.Block, wanted extra) (out string, chars int) {
	out = r.join(text, title, blocks, wanted, trimmed)
	if chars, ok := countPlain(out); ok { // check the whole text first, since most texts need no change
		return out, chars
	}
	out = r.join(text, title, blocks, wanted, Plain)
	return out, utf8.RuneCountInString(out)
}

// join joins the blocks of text and the text between them, each processed by plain.
func (r *Room) join(text, title string, blocks []page.Block, wanted extra, plain func(string) string) string {
	var out strings.Builder
	out.Grow(len(text) + len(text)/16)
	r.left = r.left[:0]
	last := page.Prose
	add := func(piece string, kind page.Kind) {
		if piece = plain(piece); piece == "" {
			return
		}
		if out.Len() > 0 {
			if (last != kind || kind == page.Heading) && !endsSentence(out.String()) {
				out.WriteString(ellipsis)
			}
			out.WriteByte(' ')
		}
		out.WriteString(piece)
		last = kind
	}
	at := 0
	for _, block := range blocks {
		add(text[at:block.Start], page.Prose)
		at = block.End
		piece := text[block.Start:block.End]
		kind := kindOf(block, piece, title)
		if kind.asides && !wanted.asides || kind.titles && !wanted.titles {
			continue
		}
		before := out.Len()
		if add(piece, block.Kind); kind.asides || kind.titles && !wanted.asides {
			r.left = append(r.left, span{before, out.Len()})
		}
	}
	add(text[at:], page.Prose)
	return out.String()
}

// maxKnown is the maximum number of words that a Room caches.
const maxKnown = 1 << 14

// remember caches the terms that a word of a text matches.
func (r *Room) remember(word string, terms uint32) {
	if r.known == nil || len(r.known) >= maxKnown {
		r.known = map[string]uint32{}
	}
	r.known[strings.Clone(word)] = terms
}
