package snippet

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// What bounds the work on hostile queries and texts.
const (
	maxTerms = 32
	maxRunes = 64  // of a term, and of a word that is compared with one
	maxFound = 200 // places that are remembered of one term
)

// term is a word of the query, folded.
type term struct {
	runes []rune
	dense bool // found anywhere in a text, not just as a word
}

// found is a place of a term in a text: its byte range.
type found struct {
	start, end int
	term       int
}

// query is what is looked for in texts.
type query struct {
	terms []term
	match func(word string) bool
}

func (w Wanted) read() query { return query{terms(w.Query), w.Match} }

func (q query) in(text string) searched {
	s := searched{text: text}
	s.places, s.counts = q.find(text)
	return s
}

// Marks lists the words wanted in a plain text, those that meet joined, as ranges of code points.
func (w Wanted) Marks(text string) [][2]int { return w.read().marks(text) }

func (q query) marks(text string) [][2]int {
	places, _ := q.find(text)
	var out [][2]int
	at, n := 0, 0 // n code points before byte at
	count := func(to int) int {
		n += utf8.RuneCountInString(text[at:to])
		at = to
		return n
	}
	end := 0
	for _, p := range places {
		switch {
		case p.end <= end:
		case len(out) > 0 && p.start <= end:
			out[len(out)-1][1] = count(p.end)
		default:
			out = append(out, [2]int{count(p.start), count(p.end)})
		}
		end = max(end, p.end)
	}
	return out
}

// terms reads the words out of a query. What a query excludes or asks of pages is no word to show.
func terms(query string) []term {
	var out []term
	for rest := strings.TrimSpace(query); rest != "" && len(out) < maxTerms; rest = strings.TrimSpace(rest) {
		not := len(rest) > 1 && rest[0] == '-'
		if not {
			rest = rest[1:]
		}
		opening, n := utf8.DecodeRuneInString(rest)
		quoted := quote(opening)
		var chunk string
		if quoted {
			end := strings.IndexFunc(rest[n:], quote)
			if end < 0 {
				end = len(rest) - n
			}
			chunk, rest = rest[n:n+end], strings.TrimLeftFunc(rest[n+end:], quote)
		} else {
			end := strings.IndexFunc(rest, unicode.IsSpace)
			if end < 0 {
				end = len(rest)
			}
			chunk, rest = rest[:end], rest[end:]
		}
		if !not && (quoted || !narrows(chunk)) {
			out = split(out, chunk)
		}
	}
	return out[:min(len(out), maxTerms)]
}

func narrows(chunk string) bool {
	name, _, ok := strings.Cut(strings.ToLower(chunk), ":")
	return ok && slices.Contains([]string{"site", "lang", "before", "after", "type"}, name)
}

func quote(r rune) bool { return strings.ContainsRune("\"“”„«»‹›「」『』", r) }

// split adds the words of chunk to out, each once.
func split(out []term, chunk string) []term {
	t := term{runes: make([]rune, 0, 16)}
	flush := func() {
		if len(t.runes) > 0 && !slices.ContainsFunc(out, func(o term) bool { return slices.Equal(o.runes, t.runes) }) {
			out = append(out, t)
		}
		t = term{runes: make([]rune, 0, 16)}
	}
	for _, r := range chunk {
		if transparent(r) {
			continue
		}
		if !letter(r) || len(t.runes) >= maxRunes {
			flush()
		}
		if !letter(r) {
			continue
		}
		if d := isDense(r); d != t.dense {
			flush()
			t.dense = d
		}
		t.runes = appendFolded(t.runes, r)
	}
	flush()
	return out
}

// find lists the places of the terms in text, in order, at most maxFound of each, and counts them all.
func (q query) find(text string) (places []found, counts []int) {
	terms := q.terms
	counts = make([]int, len(terms))
	if len(terms) == 0 {
		return nil, counts
	}
	note := func(t, start, end int) {
		if counts[t]++; counts[t] <= maxFound {
			places = append(places, found{start, end, t})
		}
	}
	var begun [utf8.RuneSelf]bool // ASCII letters that a term begins with
	for _, t := range terms {
		if t.runes[0] < utf8.RuneSelf {
			begun[t.runes[0]] = true
		}
	}
	word := make([]rune, 0, maxRunes+1)
	for i := 0; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf {
			switch b = lower[b]; {
			case b == 0:
				i++
				continue
			case !begun[b]:
				i = wordEnd(text, i)
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case !letter(r), attached(r): // a mark alone begins no word
			i += n
		case isDense(r):
			for t := range terms {
				if terms[t].dense {
					if end, ok := begins(text, i, terms[t].runes); ok {
						note(t, i, end)
					}
				}
			}
			i += n
		default:
			var end int
			word, end = readWord(text, i, word[:0])
			if q.match == nil {
				for t := range terms {
					if !terms[t].dense && same(word, terms[t].runes) {
						note(t, i, end)
					}
				}
			} else if t := nearest(word, terms); t >= 0 && q.match(text[i:end]) {
				note(t, i, end)
			}
			i = end
		}
	}
	return places, counts
}

// lower maps ASCII letters and digits to lower case, all else to 0.
var lower = func() (t [utf8.RuneSelf]byte) {
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		t[c], t[unicode.ToUpper(c)] = byte(c), byte(c)
	}
	return t
}()

// wordEnd tells where the word at i ends.
func wordEnd(text string, i int) int {
	for i < len(text) {
		if b := text[i]; b < utf8.RuneSelf {
			if lower[b] == 0 {
				break
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if !transparent(r) && (!letter(r) || isDense(r)) {
			break
		}
		i += n
	}
	return i
}

// readWord folds the word that begins at i into word and tells where it ends.
func readWord(text string, i int, word []rune) ([]rune, int) {
	end := wordEnd(text, i)
	for _, r := range text[i:end] {
		if len(word) < maxRunes && !transparent(r) {
			word = appendFolded(word, r)
		}
	}
	return word, end
}

// begins tells whether text goes on with the folded runes at i, and where they end.
func begins(text string, i int, runes []rune) (end int, ok bool) {
	for k := 0; k < len(runes); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if n == 0 {
			return 0, false
		}
		i += n
		if k > 0 && transparent(r) {
			continue
		}
		a, b := fold(r)
		if a != runes[k] {
			return 0, false
		}
		k++
		if b != 0 {
			if k == len(runes) || b != runes[k] {
				return 0, false
			}
			k++
		}
	}
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !attached(r) {
			break
		}
		i += n
	}
	return i, true
}

// same tells whether a word of a text is a word of the query or, by a rough measure that serves highlights, a form of it.
func same(word, term []rune) bool {
	if len(word) == 0 || len(term) == 0 {
		return false
	}
	if unicode.Is(unicode.Arabic, word[0]) {
		return related(bare(word), bare(term))
	}
	return word[0] == term[0] && related(word, term)
}

// nearest is the term that a word that is searched for is most like; -1 where it is like none.
func nearest(word []rune, terms []term) int {
	if len(word) == 0 {
		return -1
	}
	best, most := -1, 0
	for t := range terms {
		a, b := word, terms[t].runes
		if unicode.Is(unicode.Arabic, a[0]) {
			a, b = bare(a), bare(b)
		}
		if p := common(a, b); !terms[t].dense && p > most {
			best, most = t, p
		}
	}
	return best
}

// common is how many runes a and b begin with alike.
func common(a, b []rune) int {
	p := 0
	for p < len(a) && p < len(b) && a[p] == b[p] {
		p++
	}
	return p
}

func related(word, term []rune) bool {
	p := common(word, term)
	w, t := len(word), len(term)
	switch {
	case p == w && p == t:
		return true
	case p == 0 || !unicode.IsLetter(term[0]):
		return false
	case p == t:
		return w-t <= min(t-2, 4) // house: houses
	case p == w:
		return w >= 4 && t-w <= 2 // houses: house
	}
	return term[0] > unicode.MaxLatin1 && p >= 4 && w-p <= 2 && t-p <= 2 // книга: книги
}

// bare takes the Arabic article off, with one letter of conjunction or preposition before it.
func bare(word []rune) []rune {
	for skip := range 2 {
		if len(word) > skip+4 && word[skip] == 'ا' && word[skip+1] == 'ل' && (skip == 0 || strings.ContainsRune("وفبك", word[0])) {
			return word[skip+2:]
		}
	}
	return word
}

// letter tells of runes that make words.
func letter(r rune) bool {
	if r < utf8.RuneSelf {
		return lower[r] != 0
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// isDense tells of scripts in which a word can stand anywhere.
func isDense(r rune) bool {
	return isIdeograph(r) || unspaced(r) || r >= 0x1100 && unicode.Is(unicode.Hangul, r)
}

// transparent tells of marks that readers leave out: accents, vowel points, tatweel, format characters.
func transparent(r rune) bool {
	switch {
	case r < 0x00AD:
		return false
	case r == 0x00AD, r >= 0x0300 && r <= 0x036F, r == 0x0640, r >= 0x064B && r <= 0x065F, r == 0x0670, r >= 0x0591 && r <= 0x05C7:
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}

func appendFolded(runes []rune, r rune) []rune {
	a, b := fold(r)
	if b != 0 {
		return append(runes, a, b)
	}
	return append(runes, a)
}

// fold takes case and accents off r; b is 0 but for the letters that are spelled as two.
func fold(r rune) (a, b rune) {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r), 0
	}
	if r >= 0xFF01 && r <= 0xFF5E { // full width
		return fold(r - 0xFEE0)
	}
	switch r = unicode.ToLower(r); r {
	case 'ß':
		return 's', 's'
	case 'æ':
		return 'a', 'e'
	case 'œ':
		return 'o', 'e'
	case 'þ':
		return 't', 'h'
	case 'ø':
		return 'o', 0
	case 'ł':
		return 'l', 0
	case 'đ', 'ð':
		return 'd', 0
	case 'ı':
		return 'i', 0
	case 'ς':
		return 'σ', 0
	case 'ё':
		return 'е', 0
	case 'أ', 'إ', 'آ':
		return 'ا', 0
	case 'ى':
		return 'ي', 0
	}
	if r < 0x0400 || r >= 0x1E00 && r < 0x2000 {
		var b [utf8.UTFMax]byte
		if d := norm.NFD.Properties(b[:utf8.EncodeRune(b[:], r)]).Decomposition(); d != nil {
			r, _ = utf8.DecodeRune(d)
		}
	}
	return r, 0
}
