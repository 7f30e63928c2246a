package snippet

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/page"
)

// Plain makes s a text that does nothing to what shows it: white space is collapsed, and control characters, those that turn the
// direction of what follows, and what is no character are left out.
func Plain(s string) string {
	if s = strings.Trim(s, " "); isPlain(s) {
		return s
	}
	return collapse(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case acts(r):
			return -1
		}
		return r
	}, s))
}

// acts tells of what Plain leaves out.
func acts(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe
}

// isPlain tells whether Plain leaves s as it is.
func isPlain(s string) bool {
	before := byte(' ')
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b < ' ' || b == 0x7f || b == ' ' && before == ' ' {
				return false
			}
			before = b
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if n == 1 || (r <= 0xa0 || r >= 0x1680 && (unicode.IsSpace(r) || acts(r))) {
			return false
		}
		before = b
		i += n
	}
	return before != ' ' || s == ""
}

// joined is text with its headings told apart from what stands before and behind them: by an ellipsis, where no sentence ends there.
// Blocks aside are left out unless they are asked for.
func joined(text string, blocks []page.Block, aside bool) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/16)
	heading := false
	add := func(piece string, kind page.Kind) {
		if piece = Plain(piece); piece == "" {
			return
		}
		if b.Len() > 0 {
			if (heading || kind == page.Heading) && !endsSentence(b.String()) {
				b.WriteString(ellipsis)
			}
			b.WriteByte(' ')
		}
		b.WriteString(piece)
		heading = kind == page.Heading
	}
	at := 0
	for _, block := range blocks {
		add(text[at:block.Start], page.Prose)
		if aside || block.Kind != page.Aside {
			add(text[block.Start:block.End], block.Kind)
		}
		at = block.End
	}
	add(text[at:], page.Prose)
	return b.String()
}
