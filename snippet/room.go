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
	places []found
	counts [maxTerms]int
	query  query // what asked says
	asked  string
	known  known
}

// joined is text with its headings told apart from what stands before and behind them: by an ellipsis, where no sentence ends there.
// Headings that say no more than title are left out, and what stands aside unless it is asked for. It is good until the room is used
// for another text.
func (r *Room) joined(text, title string, blocks []page.Block, aside bool) (out string, chars int) {
	out = r.join(text, title, blocks, aside, trimmed)
	if chars, ok := countPlain(out); ok { // as a whole, since most texts are
		return out, chars
	}
	out = r.join(text, title, blocks, aside, Plain)
	return out, runes(out)
}

// join joins the pieces of text that plain makes of its blocks and of what stands between them.
func (r *Room) join(text, title string, blocks []page.Block, aside bool, plain func(string) string) string {
	start := len(r.text)
	out := slices.Grow(r.text, len(text)+len(text)/16)
	heading := false
	add := func(piece string, kind page.Kind) {
		if piece = plain(piece); piece == "" {
			return
		}
		if len(out) > start {
			if (heading || kind == page.Heading) && !endsSentence(view(out[start:])) {
				out = append(out, ellipsis...)
			}
			out = append(out, ' ')
		}
		out = append(out, piece...)
		heading = kind == page.Heading
	}
	at := 0
	for _, block := range blocks {
		add(text[at:block.Start], page.Prose)
		at = block.End
		piece := text[block.Start:block.End]
		if block.Kind == page.Aside && !aside || block.Kind == page.Heading && title != "" && strings.Contains(title, Plain(piece)) {
			continue
		}
		add(piece, block.Kind)
	}
	add(text[at:], page.Prose)
	r.text = out
	return view(out[start:])
}

// view is b as a string, as long as nothing is written there.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
