package page

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// writer collects text with collapsed white space and without white space at the ends, and its
// blocks if parts is set.
type writer struct {
	strings.Builder
	due   parting    // separation before the next word
	pre   *html.Node // the outermost enclosing element in which line ends are kept
	parts bool
	most  int  // maximum number of bytes
	full  bool // text was left out because of the limit

	blocks  []Block
	open    bool       // the last block has not ended
	broken  bool       // no word follows the last line break
	titles  bool       // the next word belongs to a title that is not an element
	link    *html.Node // the outermost A around the next word
	linked  int        // bytes in links in the last block
	other   int        // bytes of other words in the last block, without numbers and separators between links
	heading *html.Node // the outermost heading around the next word
	aside   *html.Node // the outermost element around the next word that is not main content
}

// parting is a set of things that separate two words.
type parting uint8

const (
	blank parting = 1 << iota // white space
	line                      // a line end in the source
	firm                      // white space that separates words in every script
)

func newWriter(size int) *writer {
	w := &writer{most: maxText}
	w.Grow(min(size, maxText))
	return w
}

// missing returns why w did not accept all text. It returns "" if w accepted all text, or if the
// caller set the limit.
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

// gap adds a blank before the next word.
func (w *writer) gap() { w.due |= blank | firm }

// cut adds a blank before the next word if the text s, which is left out, contains white space, so
// that words are joined only if the page joined them (X89).
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

// mostlyLinks is the factor by which the links in a block must exceed its other words, in bytes,
// for the block to count as navigation.
const mostlyLinks = 4

// part separates the text before the start or the end of n from the text after it.
func (w *writer) part(n *html.Node) {
	if !separates(n) {
		return
	}
	w.gap()
	switch n.DataAtom {
	case atom.Button:
	case atom.Br: // two BR elements end a paragraph
		if w.broken {
			w.end()
		}
	default:
		w.end()
	}
}

// enter records the effect of n on the words inside it, until leave is called.
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
		// Copy words separated by single blanks together.
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

// word adds a text that begins and ends without white space.
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

// parting returns how a white space character whose first byte is c separates words.
func (w *writer) parting(c byte) parting {
	switch {
	case c == ' ' || c == '\t' || c == '\f':
		return blank
	case (c == '\n' || c == '\r') && w.pre == nil:
		return blank | line
	}
	return blank | firm
}

// joined reports whether a line end in the source between before and after does not separate words,
// as in scripts without blanks (CSS Text 3, 4.1.3).
func joined(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return wide(last) && wide(next)
}

// wide reports whether r is an ideograph, kana, or punctuation used with them.
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

// space returns the length of the white space character at the beginning of s, 0 if there is none.
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
