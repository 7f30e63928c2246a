package snippet

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/acapcrawl/acapcrawl/page"
)

// Room is memory that one call of Build leaves to the next, and what was found of words. It serves one goroutine.
type Room struct {
	text   []byte
	left   []span // of the joined text, the extra parts of the kind that was added last
	places []found
	spare  []found // for texts of which the places do not matter
	counts [maxTerms]int
	query  query // what asked says
	asked  string
	known  known
}

// extra says which parts of a page are searched only for words that no other part has.
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
// sentence ends there. Of the extra parts it has those that are wanted. The text is good until the
// room is used for another one.
func (r *Room) joined(text, title string, blocks []page.Block, wanted extra) (out string, chars int) {
	out = r.join(text, title, blocks, wanted, trimmed)
	if chars, ok := countPlain(out); ok { // as a whole, since most texts are
		return out, chars
	}
	out = r.join(text, title, blocks, wanted, Plain)
	return out, runes(out)
}

// join joins the pieces of text that plain makes of its blocks and of what stands between them.
func (r *Room) join(text, title string, blocks []page.Block, wanted extra, plain func(string) string) string {
	start := len(r.text)
	out := slices.Grow(r.text, len(text)+len(text)/16)
	r.left = r.left[:0]
	last := page.Prose
	add := func(piece string, kind page.Kind) {
		if piece = plain(piece); piece == "" {
			return
		}
		if len(out) > start {
			if (last != kind || kind == page.Heading) && !endsSentence(view(out[start:])) {
				out = append(out, ellipsis...)
			}
			out = append(out, ' ')
		}
		out = append(out, piece...)
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
		before := len(out)
		if add(piece, block.Kind); kind.asides || kind.titles && !wanted.asides {
			r.left = append(r.left, span{before - start, len(out) - start})
		}
	}
	add(text[at:], page.Prose)
	r.text = out
	return view(out[start:])
}

// view is b as a string, as long as nothing is written there.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
