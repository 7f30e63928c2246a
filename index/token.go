package index

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/text/unicode/norm"
)

// maxTerm is the length in bytes from which a token is no word (encoded data, hostile text). It is
// left out of texts and queries.
const maxTerm = 256

// blockEnd separates blocks, such as paragraphs and headings. No phrase crosses it.
const blockEnd = '\f'

// nonJoiner is the zero-width non-joiner. It separates parts of a word (Persian می‌روم, German
// Auf‌lage), which readers also write joined or with a blank.
const nonJoiner = '\u200c'

// joined is the type of the token of a word without its non-joiners. It has the position of the
// first part of the word.
const joined = analysis.Shingle

// apart is how many positions lie between two blocks: too many for words to count as near.
const apart = near

// tokenizer cuts text at everything that is neither letter nor digit. A word keeps its marks and an
// apostrophe between two letters; invisible format characters are removed from it. A word with
// zero-width non-joiners gives its parts, and all of it joined.
//
// In a dense script each character with its marks is a token. A blank or punctuation between two
// characters gives a token of its own, the break: no run of a text is found across it, and in a
// query it asks for a break in that place.
type tokenizer struct{}

// breakTerm is the term of a break. No word has it.
const breakTerm = " "

// Tokenize implements analysis.Tokenizer. It sets no offsets: nothing reads them, and they would
// take a third of the index.
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

// tokenise calls give with the tokens of text in order. They are slices of text, or made for the
// call.
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
	inRun    bool // the last token is of dense script
	broken   bool // blanks or punctuation follow the last token
}

func (t *tokens) add(term []byte, kind analysis.TokenType) {
	t.position++
	if len(term) <= maxTerm {
		t.give(term, kind, t.position)
	}
}

// word adds the word that begins at i and returns where it ends.
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

// character adds the character of dense script that begins at i, and returns where it ends.
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

// visible drops format characters and variation selectors.
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

// dense reports whether r is of a script that does not separate words by blanks, or of Hangul,
// whose words include particles.
func dense(r rune) bool {
	return r >= 0x0E00 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

func apostrophe(r rune) bool { return r == '\'' || r == '’' }

func letterAt(text []byte, i int) bool {
	r, _ := utf8.DecodeRune(text[i:])
	return unicode.IsLetter(r) && !dense(r)
}

// fold is the last filter of every analyser: Latin and Greek letters lose their marks, so that a
// reader need not know how a word is accented, and the typographic apostrophe becomes the plain
// one.
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

// hasMarks reports whether folding changes more of text than its case.
func hasMarks(text string) bool {
	lower := strings.ToLower(text)
	return string(foldTerm([]byte(lower))) != lower
}

// spelled holds the Latin letters that no decomposition takes apart.
var spelled = map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'ł': "l", 'þ': "th",
	'ı': "i", 'ħ': "h"}
