package rewrite

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// tokenKind is a kind of token (CSS Syntax 3, 4).
type tokenKind int

const (
	endOfSheet  tokenKind = iota
	delim                 // one character that is no other token
	comment               // also <!-- and -->
	space                 //
	name                  // an identifier
	function              // an identifier and (
	atKeyword             // an identifier after @
	hash                  // a name after #
	number                // also percentages and dimensions
	stringToken           //
	badString             // a string without end, before the end of the line
	urlToken              // url() without quotation marks
	badURL                // the same, but not valid
	opening               // ( [ {
	closing               // ) ] }
)

// token is a part of a style sheet.
type token struct {
	kind       tokenKind
	start, end int
}

// lexer splits a style sheet into tokens. The tokens together are the style sheet.
type lexer struct {
	css string
	pos int
}

// next returns the next token.
func (l *lexer) next() token {
	t := token{start: l.pos}
	t.kind = l.read()
	t.end = l.pos
	return t
}

// read reads a token (CSS Syntax 3, 4.3.1).
func (l *lexer) read() tokenKind {
	if l.pos >= len(l.css) {
		return endOfSheet
	}
	switch c := l.css[l.pos]; {
	case blank(c):
		l.pos = skipBlanks(l.css, l.pos)
		return space
	case l.after("/*"):
		if end := strings.Index(l.css[l.pos:], "*/"); end >= 0 {
			l.pos += end + 2
		} else {
			l.pos = len(l.css)
		}
		return comment
	case c == '"' || c == '\'':
		return l.string(c)
	case l.startsNumber():
		l.number()
		return number
	case l.after("<!--") || l.after("-->"):
		return comment
	case c == '#' && l.pos+1 < len(l.css) && (named(l.css[l.pos+1]) || l.escape(l.pos+1)):
		l.pos++
		l.name()
		return hash
	case c == '@' && l.startsName(l.pos+1):
		l.pos++
		l.name()
		return atKeyword
	case l.startsName(l.pos):
		return l.identifier()
	}
	l.pos++
	switch l.css[l.pos-1] {
	case '(', '[', '{':
		return opening
	case ')', ']', '}':
		return closing
	}
	return delim
}

// after advances beyond a text if it is next.
func (l *lexer) after(text string) bool {
	if !strings.HasPrefix(l.css[l.pos:], text) {
		return false
	}
	l.pos += len(text)
	return true
}

// string reads a string (CSS Syntax 3, 4.3.5). At the end of the style sheet it needs no quote.
func (l *lexer) string(quote byte) tokenKind {
	for l.pos++; l.pos < len(l.css); {
		switch c := l.css[l.pos]; {
		case c == quote:
			l.pos++
			return stringToken
		case newline(c):
			return badString
		case c == '\\' && strings.HasPrefix(l.css[l.pos+1:], "\r\n"):
			l.pos += 3
		case c == '\\' && l.pos+1 < len(l.css) && newline(l.css[l.pos+1]):
			l.pos += 2
		case c == '\\':
			l.skipEscape()
		default:
			l.pos++
		}
	}
	return stringToken
}

// startsNumber reports whether a number is next (CSS Syntax 3, 4.3.10).
func (l *lexer) startsNumber() bool {
	rest := l.css[l.pos:]
	if rest[0] == '+' || rest[0] == '-' {
		rest = rest[1:]
	}
	if rest != "" && rest[0] == '.' {
		rest = rest[1:]
	}
	return rest != "" && digit(rest[0])
}

// number reads a number and its unit (CSS Syntax 3, 4.3.3, 4.3.12).
func (l *lexer) number() {
	if c := l.css[l.pos]; c == '+' || c == '-' {
		l.pos++
	}
	l.digits()
	if l.pos+1 < len(l.css) && l.css[l.pos] == '.' && digit(l.css[l.pos+1]) {
		l.pos++
		l.digits()
	}
	if l.pos < len(l.css) && l.css[l.pos]|0x20 == 'e' {
		exponent := l.pos + 1
		if exponent < len(l.css) && (l.css[exponent] == '+' || l.css[exponent] == '-') {
			exponent++
		}
		if exponent < len(l.css) && digit(l.css[exponent]) {
			l.pos = exponent
			l.digits()
		}
	}
	if l.startsName(l.pos) {
		l.name()
	} else if l.pos < len(l.css) && l.css[l.pos] == '%' {
		l.pos++
	}
}

func (l *lexer) digits() {
	for l.pos < len(l.css) && digit(l.css[l.pos]) {
		l.pos++
	}
}

// startsName reports whether an identifier begins at i (CSS Syntax 3, 4.3.9).
func (l *lexer) startsName(i int) bool {
	if i < len(l.css) && l.css[i] == '-' {
		i++
		if i < len(l.css) && l.css[i] == '-' {
			return true
		}
	}
	return i < len(l.css) && (named(l.css[i]) && !digit(l.css[i]) && l.css[i] != '-' || l.escape(i))
}

// escape reports whether an escape begins at i (CSS Syntax 3, 4.3.8).
func (l *lexer) escape(i int) bool {
	return i < len(l.css) && l.css[i] == '\\' && (i+1 == len(l.css) || !newline(l.css[i+1]))
}

// skipEscape advances beyond an escape (CSS Syntax 3, 4.3.7).
func (l *lexer) skipEscape() {
	l.pos += escapeLength(l.css[l.pos:])
}

// escapeLength returns the length of the escape at the beginning of s: up to six hexadecimal digits
// and one white space after them, or one character.
func escapeLength(s string) int {
	n := 1
	for n < len(s) && n <= 6 && isHex(s[n]) {
		n++
	}
	switch {
	case n == len(s):
		return n
	case n == 1:
		_, size := utf8.DecodeRuneInString(s[1:])
		return 1 + size
	case strings.HasPrefix(s[n:], "\r\n"):
		return n + 2
	case blank(s[n]):
		return n + 1
	}
	return n
}

// name advances beyond the rest of a name (CSS Syntax 3, 4.3.11).
func (l *lexer) name() {
	for l.pos < len(l.css) {
		switch {
		case named(l.css[l.pos]):
			l.pos++
		case l.escape(l.pos):
			l.skipEscape()
		default:
			return
		}
	}
}

// identifier reads an identifier, a function or url() (CSS Syntax 3, 4.3.4).
func (l *lexer) identifier() tokenKind {
	start := l.pos
	l.name()
	if l.pos == len(l.css) || l.css[l.pos] != '(' {
		return name
	}
	word := l.css[start:l.pos]
	l.pos++
	if len(word) > 32 || !strings.EqualFold(unescape(word), "url") { // url with escapes has at most 24 bytes
		return function
	}
	if i := skipBlanks(l.css, l.pos); i < len(l.css) && (l.css[i] == '"' || l.css[i] == '\'') {
		return function
	}
	return l.url()
}

// url reads the rest of url() (CSS Syntax 3, 4.3.6). It needs no parenthesis at the end of the
// style sheet.
func (l *lexer) url() tokenKind {
	for l.pos = skipBlanks(l.css, l.pos); l.pos < len(l.css); {
		switch c := l.css[l.pos]; {
		case c == ')':
			l.pos++
			return urlToken
		case blank(c):
			l.pos = skipBlanks(l.css, l.pos)
			if l.pos < len(l.css) && l.css[l.pos] != ')' {
				return l.badURL()
			}
		case c == '"' || c == '\'' || c == '(' || c > 0 && c < ' ' || c == 0x7f:
			return l.badURL()
		case l.escape(l.pos):
			l.skipEscape()
		case c == '\\':
			return l.badURL()
		default:
			l.pos++
		}
	}
	return urlToken
}

// badURL advances to the end of an url() that is not valid (CSS Syntax 3, 4.3.14).
func (l *lexer) badURL() tokenKind {
	for l.pos < len(l.css) {
		switch {
		case l.css[l.pos] == ')':
			l.pos++
			return badURL
		case l.escape(l.pos):
			l.skipEscape()
		default:
			l.pos++
		}
	}
	return badURL
}

// unescape returns a text with its escapes replaced by their characters (CSS Syntax 3, 4.3.7). A
// backslash before a line end continues a string.
func unescape(s string) string {
	if !strings.ContainsAny(s, "\\\x00") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == 0:
			b.WriteRune(utf8.RuneError)
			i++
		case s[i] != '\\':
			b.WriteByte(s[i])
			i++
		case strings.HasPrefix(s[i+1:], "\r\n"):
			i += 3
		case i+1 < len(s) && newline(s[i+1]):
			i += 2
		default:
			n := escapeLength(s[i:])
			writeEscape(&b, s[i+1:i+n])
			i += n
		}
	}
	return b.String()
}

// writeEscape writes the character that an escape stands for. escape lacks the backslash.
func writeEscape(b *strings.Builder, escape string) {
	if escape == "" || !isHex(escape[0]) {
		b.WriteString(escape)
		return
	}
	code, _ := strconv.ParseUint(strings.TrimRight(escape, " \t\r\n\f"), 16, 32)
	if code == 0 || code > utf8.MaxRune {
		code = utf8.RuneError
	}
	b.WriteRune(rune(code)) // a surrogate becomes U+FFFD
}

func newline(c byte) bool { return c == '\n' || c == '\r' || c == '\f' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

// named reports whether c may be part of a name. NUL stands for U+FFFD (CSS Syntax 3, 3.3).
func named(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || digit(c) || c == '-' || c == '_' || c >= 0x80 || c == 0
}
