package index

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/text/unicode/norm"
)

// maxTerm is the length in bytes from which a token is not treated as a word, such as encoded data
// or hostile text. Texts and queries are processed without such tokens.
const maxTerm = 256

// blockEnd separates blocks, such as paragraphs and headings. No phrase crosses it.
const blockEnd = '\f'

// nonJoiner is the zero-width non-joiner. It separates parts of a word (Persian می‌روم, German
// Auf‌lage). Readers also write such words joined or with a blank.
const nonJoiner = '\u200c'

// joined is the type of a token that is a word without its non-joiners. Its position is that of the
// first part of the word.
const joined = analysis.Shingle

// apart is the number of positions between two blocks: too many for words to count as near.
const apart = near

// tokenizer divides text at every character that is neither letter nor digit. A word keeps its
// marks, and an apostrophe between two letters; invisible format characters are removed. A word
// with zero-width non-joiners gives a token for each part, and one for the joined word.
//
// In a dense script each character with its marks is a token. A blank or punctuation between two
// characters gives a separate token, the break. A run of characters in a query does not match
// across a break in the text; a break in the query matches only a break.
type tokenizer struct{}

// breakTerm is the term of a break. No word has this term.
const breakTerm = " "

// Tokenize implements analysis.Tokenizer. It sets no offsets, because nothing reads them and they
// would take a third of the index.
func (tokenizer) Tokenize(text []byte) analysis.TokenStream {
	out := make(analysis.TokenStream, 0, len(text)/6+1)
	tokenise(text, func(token []byte, kind analysis.TokenType, position int) {
		out = append(out, newToken(token, kind, position))
	})
	return out
}

func newToken(term []byte, kind analysis.TokenType, position int) *analysis.Token {
	return &analysis.Token{Term: term, Position: position, Type: kind, KeyWord: kind == analysis.Single}
}

// tokenise calls give for the tokens of text in order. Tokens may be slices of text, and are never
// changed.
func tokenise(text []byte, give func(token []byte, kind analysis.TokenType, position int)) {
	t := tokens{give: give}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == blockEnd:
			t.position += apart
			t.inRun = false
			i += n
		case !inWord(r):
			t.broken = true
			i += n
		case dense(r):
			i = t.character(text, i)
		default:
			i = t.word(text, i)
		}
	}
}

type tokens struct {
	give     func(token []byte, kind analysis.TokenType, position int)
	position int
	inRun    bool // the last token is in dense script
	broken   bool // blanks or punctuation follow the last token
}

func (t *tokens) add(term []byte, kind analysis.TokenType) {
	t.position++
	if len(term) <= maxTerm {
		t.give(term, kind, t.position)
	}
}

// word adds the word that begins at i, and returns its end.
func (t *tokens) word(text []byte, i int) int {
	start, clean, parts := i, true, 1
	for i < len(text) {
		if c := text[i]; c < utf8.RuneSelf && c != '\'' {
			if !inWord(rune(c)) {
				break
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case inWord(r) && !dense(r), unicode.IsMark(r):
		case unicode.Is(unicode.Cf, r):
			clean = false
			if r == nonJoiner && letterAt(text, i+n) {
				parts++
			}
		case apostrophe(r) && letterAt(text, i+n):
		default:
			n = 0
		}
		if n == 0 {
			break
		}
		i += n
	}
	term := text[start:i:i]
	if !clean {
		term = visible(term)
	}
	t.inRun, t.broken = false, false
	if parts == 1 {
		t.add(term, analysis.AlphaNumeric)
		return i
	}
	if len(term) <= maxTerm {
		t.give(term, joined, t.position+1)
	}
	for part := range bytes.SplitSeq(text[start:i], []byte(string(nonJoiner))) {
		if part = visible(part); len(part) > 0 {
			t.add(part, analysis.AlphaNumeric)
		}
	}
	return i
}

// character adds the dense-script character that begins at i, and returns its end.
func (t *tokens) character(text []byte, i int) int {
	start := i
	for i < len(text) {
		r, n := utf8.DecodeRune(text[i:])
		if i > start && !unicode.IsMark(r) && !unicode.Is(unicode.Cf, r) {
			break
		}
		i += n
	}
	if t.inRun && t.broken {
		t.add([]byte(breakTerm), analysis.Single)
	}
	t.inRun, t.broken = true, false
	t.add(visible(text[start:i]), analysis.Single)
	return i
}

// visible returns a term without format characters and variation selectors.
func visible(term []byte) []byte {
	out := make([]byte, 0, len(term))
	for i := 0; i < len(term); {
		r, n := utf8.DecodeRune(term[i:])
		if !unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Variation_Selector, r) {
			out = append(out, term[i:i+n]...)
		}
		i += n
	}
	return out
}

func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

// dense reports whether r belongs to a script without blanks between words, or to Hangul, whose
// words include particles.
func dense(r rune) bool {
	return r >= 0x0E00 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

func apostrophe(r rune) bool { return r == '\'' || r == '’' }

func letterAt(text []byte, i int) bool {
	r, _ := utf8.DecodeRune(text[i:])
	return unicode.IsLetter(r) && !dense(r)
}

// fold is the last filter of every analyser. It removes the marks of Latin and Greek letters, so
// that a reader need not know the accents of a word, and replaces the typographic apostrophe with
// the plain one.
type fold struct{}

// Filter implements analysis.TokenFilter.
func (fold) Filter(in analysis.TokenStream) analysis.TokenStream {
	out := in[:0]
	for _, t := range in {
		t.Term = foldTerm(t.Term)
		if len(t.Term) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func foldTerm(term []byte) []byte {
	plain := true
	for _, b := range term {
		plain = plain && b < utf8.RuneSelf
	}
	if plain {
		return term
	}
	var out []byte
	base := rune(0)
	for _, r := range string(norm.NFD.Bytes(term)) {
		switch {
		case unicode.Is(unicode.Mn, r) &&
			(unicode.In(base, unicode.Latin, unicode.Greek) || base == 'е' && r == 0x0308):
			continue
		case apostrophe(r):
			r = '\''
		case !unicode.IsMark(r):
			base = r
		}
		if s, ok := spelled[r]; ok {
			out = append(out, s...)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return norm.NFC.Bytes(out)
}

// hasMarks reports whether folding changes text in more than its case.
func hasMarks(text string) bool {
	lower := strings.ToLower(text)
	return string(foldTerm([]byte(lower))) != lower
}

// spelled contains Latin letters that Unicode does not decompose, and their plain spelling.
var spelled = map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'ł': "l", 'þ': "th",
	'ı': "i", 'ħ': "h"}
