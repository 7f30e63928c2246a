package snippet

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nonJoiner is the zero-width non-joiner, which separates parts of a word.
const nonJoiner = '\u200c'

// found is an occurrence of a term in a text: its byte range.
type found struct {
	start, end int
	term       int
}

func (q query) in(text string, chars int) searched {
	s := searched{text: text, chars: chars}
	s.places, s.counts = q.find(text)
	return s
}

// has returns the terms that text has. It does not change what was found before.
func (q query) has(text string) (terms uint64) {
	room := q.room
	places, counts := room.places, room.counts
	room.places = room.spare
	terms = q.in(text, 0).terms()
	room.spare, room.places, room.counts = room.places, places, counts
	return terms
}

// Marks returns where a plain text has the words wanted, as ranges of code points. Ranges that
// touch are joined.
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

// finder looks for the terms of a query in a text.
type finder struct {
	query
	text   string
	places []found
	counts []int
}

// find returns the occurrences of the terms in text in order, at most maxFound of each, and the
// counts of all. Both are valid until the next call.
func (q query) find(text string) (places []found, counts []int) {
	f := finder{query: q, text: text, places: q.room.places[:0], counts: q.room.counts[:len(q.terms)]}
	clear(f.counts)
	if len(q.rune) > 0 {
		f.words()
	}
	if words := len(f.places); slices.ContainsFunc(f.terms, func(t term) bool { return t.dense }) {
		if f.runs(); words > 0 {
			slices.SortStableFunc(f.places, func(a, b found) int { return cmp.Compare(a.start, b.start) })
		}
	}
	q.room.places = f.places
	return f.places, f.counts
}

func (f *finder) note(t, start, end int) {
	if f.counts[t]++; f.counts[t] <= maxFound {
		f.places = append(f.places, found{start, end, t})
	}
}

// runs finds the terms that can occur anywhere, in order.
func (f *finder) runs() {
	for i, r := range f.text {
		if r < utf8.RuneSelf || attached(r) { // a mark alone begins no word
			continue
		}
		for t, term := range f.terms {
			if term.dense && r == term.runes[0] {
				if end, ok := begins(f.text, i, term.runes); ok {
					f.note(t, i, end)
				}
			}
		}
	}
}

// words finds the terms that occur as words. It skips most words by their first letter.
func (f *finder) words() {
	within := false // the text before i ends within a word
	for i, r := range f.text {
		if r < utf8.RuneSelf {
			letter := lower[r]
			if f.first[letter] && !within {
				f.word(i)
			}
			within = letter != 0
			continue
		}
		goesOn := classOf(r) == alphabetic
		if classOf(r) == unusual && !stops(r) { // a mark alone begins no word
			goesOn = letter(r) && !isDense(r) && (within || !attached(r)) || within && transparent(r)
		}
		if r == nonJoiner && within {
			behind := i + utf8.RuneLen(r)
			if next, _ := utf8.DecodeRuneInString(f.text[behind:]); beginsAlone(next) {
				f.word(behind)
			}
		}
		if goesOn && !within {
			f.word(i)
		}
		within = goesOn
	}
}

// beginsAlone reports whether the part of a word that begins with r, behind a non-joiner, may be
// searched for alone.
func beginsAlone(r rune) bool { return letter(r) && !isDense(r) && !attached(r) }

// likely reports whether a word that begins with r may be one of the query.
func (f *finder) likely(r rune) bool {
	if classOf(r) == unusual {
		return true
	}
	a, _ := fold(r)
	switch a {
	case 'ا', 'و', 'ف', 'ب', 'ك': // of an article, see bare
		return true
	}
	return slices.Contains(f.rune, a)
}

// word notes the word at start if it is one of the query.
func (f *finder) word(start int) {
	if r, _ := utf8.DecodeRuneInString(f.text[start:]); r >= utf8.RuneSelf && !f.likely(r) {
		return
	}
	end := wordEnd(f.text, start)
	word := f.text[start:end]
	terms, known := f.room.known[word]
	if !known {
		terms = f.ask(word)
		f.room.remember(word, terms)
	}
	if terms == 0 && f.match != nil {
		if longer := apostrophised(f.text, end); longer > end && f.match(f.text[start:longer]) {
			terms, end = f.nearest(word), longer
		}
	}
	for ; terms != 0; terms &= terms - 1 {
		f.note(bits.TrailingZeros32(terms), start, end)
	}
}

// apostrophised returns the end of a word that continues after an apostrophe at i; i if it does
// not.
func apostrophised(text string, i int) int {
	for _, mark := range []string{"'", "’"} {
		if rest, ok := strings.CutPrefix(text[i:], mark); ok {
			if r, _ := utf8.DecodeRuneInString(rest); unicode.IsLetter(r) && !isDense(r) {
				return wordEnd(text, i+len(mark))
			}
		}
	}
	return i
}

// nearest returns the term that is most similar to a word of the query, if any is similar.
func (f *finder) nearest(word string) (terms uint32) {
	var room [maxRunes + 1]rune
	if t := nearest(folded(word, room[:0]), f.terms); t >= 0 {
		terms = 1 << t
	}
	return terms
}

// ask returns the terms that a word counts as.
func (f *finder) ask(word string) (terms uint32) {
	early := f.match != nil && word[0] < utf8.RuneSelf // before it is folded
	if early && !f.match(word) {
		return 0
	}
	var room [maxRunes + 1]rune
	folded := folded(word, room[:0])
	if f.match != nil {
		if t := nearest(folded, f.terms); t >= 0 && (early || f.match(word)) {
			terms = 1 << t
		}
		return terms
	}
	for t := range f.terms {
		if !f.terms[t].dense && same(folded, f.terms[t].runes) {
			terms |= 1 << t
		}
	}
	return terms
}

// wordEnd returns the end of the word at i.
func wordEnd(text string, i int) int {
	for n, r := range text[i:] {
		switch {
		case r < utf8.RuneSelf && lower[r] == 0,
			r >= utf8.RuneSelf && classOf(r) != alphabetic && !transparent(r) && (!letter(r) || isDense(r)):
			return i + n
		}
	}
	return len(text)
}

// folded appends the folded runes of word, without transparent ones, to out.
func folded(word string, out []rune) []rune {
	for _, r := range word {
		if len(out) < maxRunes && !transparent(r) {
			out = appendFolded(out, r)
		}
	}
	return out
}

// begins reports whether text has the folded runes at i, and where they end.
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
