package page

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// writer collects text with its white space collapsed, none at the ends, and the blocks of the text
// where parts is set.
type writer struct {
	strings.Builder
	due   parting    // what comes before the next word
	pre   *html.Node // the outermost element around it whose line ends are kept
	parts bool
	most  int  // bytes that are enough
	full  bool // there was more

	blocks  []Block
	open    bool       // the last of blocks has not ended
	broken  bool       // nothing follows the last line break
	titles  bool       // the next word is of a title that is no element
	link    *html.Node // the outermost one around the next word
	linked  int        // bytes of the last of blocks that are in links
	other   int        // bytes of its other words: numbers and what parts the links are none
	heading *html.Node // the outermost one around the next word
	aside   *html.Node // likewise
}

// parting is what parts two words.
type parting uint8

const (
	blank parting = 1 << iota // white space
	line                      // a line end of the source
	firm                      // white space that parts words of any script
)

func newWriter(size int) *writer {
	w := &writer{most: maxText}
	w.Grow(min(size, maxText))
	return w
}

// missing returns why w did not take all, "" if it did or if the caller wanted no more.
func (w *writer) missing() string {
	switch {
	case !w.full:
	case w.most == maxTitle:
		return fmt.Sprintf("only the first %d KiB of its title are read", maxTitle>>10)
	case w.most == maxText:
		return fmt.Sprintf("only the first %d MiB of its text are read, and no more than %d blocks", maxText>>20,
			maxBlocks)
	}
	return ""
}

// gap asks for a blank before what follows.
func (w *writer) gap() { w.due |= blank | firm }

// cut asks for a blank where the text s, which is left out, holds white space: no words are joined
// that the page did not join (X89).
func (w *writer) cut(s string) {
	if strings.ContainsFunc(s, unicode.IsSpace) {
		w.gap()
	}
}

// end ends the current block. A block that consists of links is navigation.
func (w *writer) end() {
	if !w.open {
		return
	}
	b := &w.blocks[len(w.blocks)-1]
	b.End = w.Len()
	if b.Kind == Prose && w.linked > mostlyLinks*w.other {
		b.Kind = Aside
	}
	w.open = false
}

// mostlyLinks is how many times as long as its other words the links of a block are that consists
// of links.
const mostlyLinks = 4

// part parts what is before the start or the end of n from what is behind it.
func (w *writer) part(n *html.Node) {
	if !separates(n) {
		return
	}
	w.gap()
	switch n.DataAtom {
	case atom.Button:
	case atom.Br: // two of them end a paragraph
		if w.broken {
			w.end()
		}
	default:
		w.end()
	}
}

// enter notes what n means for the words in it, until leave.
func (w *writer) enter(n *html.Node) {
	switch n.DataAtom {
	case atom.Pre, atom.Listing, atom.Xmp, atom.Plaintext:
		w.pre = first(w.pre, n)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading = first(w.heading, n)
	case atom.A:
		if has(n.Attr, "href") {
			w.link = first(w.link, n)
		}
	}
	if w.parts && w.aside == nil && standsAside(n) {
		w.aside = n
	}
}

func (w *writer) leave(n *html.Node) {
	if n == w.pre {
		w.pre = nil
	}
	if n == w.link {
		w.link = nil
	}
	if n == w.heading {
		w.heading = nil
	}
	if n == w.aside {
		w.aside = nil
	}
	if n.DataAtom == atom.Br {
		w.broken = true
	}
}

func (w *writer) text(s string) {
	for len(s) > 0 && !w.full {
		start := 0
		for start < len(s) {
			size := space(s[start:])
			if size == 0 {
				break
			}
			w.due |= w.parting(s[start])
			start += size
		}
		// Words parted by single blanks are taken as they are.
		end := start
		for end < len(s) {
			if c := s[end]; c > ' ' && c < 0xC2 || c > 0xE3 {
				end++
				continue
			}
			if space(s[end:]) > 0 && !(s[end] == ' ' && end+1 < len(s) && space(s[end+1:]) == 0) {
				break
			}
			end++
		}
		if end > start {
			w.word(s[start:end])
		}
		s = s[end:]
	}
}

// word adds what begins and ends with no white space.
func (w *writer) word(s string) {
	if w.Len()+len(s) >= w.most || len(w.blocks) >= maxBlocks {
		if s, w.full = upTo(s, w.most-w.Len()-1), true; s == "" {
			return
		}
	}
	if w.due != 0 && w.Len() > 0 && !(w.due == blank|line && joined(w.String(), s)) {
		w.WriteByte(' ')
	}
	w.due, w.broken = 0, false
	if w.parts && !w.open {
		w.blocks = append(w.blocks, Block{Kind: w.kind(), Start: w.Len()})
		w.open, w.linked, w.other = true, 0, 0
	}
	switch {
	case w.link != nil:
		w.linked += len(s)
	case strings.ContainsFunc(s, unicode.IsLetter):
		w.other += len(s)
	}
	w.WriteString(s)
}

// parting is what the white space character that begins with c does.
func (w *writer) parting(c byte) parting {
	switch {
	case c == ' ' || c == '\t' || c == '\f':
		return blank
	case (c == '\n' || c == '\r') && w.pre == nil:
		return blank | line
	}
	return blank | firm
}

// joined reports whether a line end in the source between before and after separates no words, as
// in scripts without blanks (CSS Text 3, 4.1.3).
func joined(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return wide(last) && wide(next)
}

// wide reports whether r is an ideograph, kana or punctuation set among them.
func wide(r rune) bool {
	switch {
	case r < 0x2E80:
		return false
	case r <= 0x30FF, r >= 0x31F0 && r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF,
		r >= 0xFF01 && r <= 0xFF9F,
		r >= 0x20000 && r <= 0x3FFFF:
		return true
	}
	return false
}

// space is the length of the white space character that s begins with, or 0.
func space(s string) int {
	if b := s[0]; b < utf8.RuneSelf {
		if b == ' ' || b >= '\t' && b <= '\r' {
			return 1
		}
		return 0
	}
	if s[0] < 0xC2 || s[0] > 0xE3 { // no white space begins with such a byte
		return 0
	}
	if r, size := utf8.DecodeRuneInString(s); unicode.IsSpace(r) {
		return size
	}
	return 0
}
