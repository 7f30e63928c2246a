package snippet

import (
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/page"
)

// Room keeps memory, and which words of texts count as words of the query, from one call of Build
// to the next. It is for one goroutine at a time.
type Room struct {
	left   []span // of the joined text, the extra parts of the kind that was added last
	places []found
	spare  []found // for texts of which the places do not matter
	counts [maxTerms]int
	query  query // parsed from asked
	asked  string
	known  map[string]uint32 // terms of the query that a word of a text counts as
}

// extra names the parts of a page that are searched only for words that no other part has.
type extra struct {
	titles bool // headings that repeat the title
	asides bool // navigation and the like
}

// kindOf returns which extra part a block is, if it is one.
func kindOf(b page.Block, text, title string) extra {
	return extra{titles: b.Kind == page.Heading && title != "" && strings.Contains(title, Plain(text)),
		asides: b.Kind == page.Aside}
}

// joined returns text with an ellipsis before and behind headings and extra parts, unless a
// sentence ends there. Of the extra parts it has those that are wanted.
func (r *Room) joined(text, title string, blocks []page.Block, wanted extra) (out string, chars int) {
	out = r.join(text, title, blocks, wanted, trimmed)
	if chars, ok := countPlain(out); ok { // as a whole, since most texts are
		return out, chars
	}
	out = r.join(text, title, blocks, wanted, Plain)
	return out, utf8.RuneCountInString(out)
}

// join joins the blocks of text and what is between them, each prepared by plain.
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

// maxKnown bounds the words that a Room remembers.
const maxKnown = 1 << 14

// remember stores the terms as which a word of a text is found.
func (r *Room) remember(word string, terms uint32) {
	if r.known == nil || len(r.known) >= maxKnown {
		r.known = map[string]uint32{}
	}
	r.known[strings.Clone(word)] = terms
}
