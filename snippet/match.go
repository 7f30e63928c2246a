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

// found is an occurrence of a term in a text, as a byte range.
type found struct {
	start, end int
	term       int
}

func (q query) in(text string, chars int) searched {
	s := searched{text: text, chars: chars}
	s.places, s.counts = q.find(text)
	return s
}

// has returns the set of terms that text contains. It does not change the results of an earlier
// find.
func (q query) has(text string) (terms uint64) {
	room := q.room
	places, counts := room.places, room.counts
	room.places = room.spare
	terms = q.in(text, 0).terms()
	room.spare, room.places, room.counts = room.places, places, counts
	return terms
}

// Marks returns the positions of the wanted words in a plain text, as ranges of code points. It
// joins adjacent ranges.
func (w Wanted) Marks(text string) [][2]int { return w.read().marks(text) }

func (q query) marks(text string) [][2]int {
	places, _ := q.find(text)
	var out [][2]int
	at, n := 0, 0 // n is the number of code points before the byte offset at
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

// finder searches a text for the terms of a query.
type finder struct {
	query
	text   string
	places []found
	counts []int
}

// find returns the occurrences of the terms in text, in order, at most maxFound for each term, and
// the number of all occurrences of each term. Both are valid until the next call.
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

// runs finds the terms that can occur at any position, in order.
func (f *finder) runs() {
	for i, r := range f.text {
		if r < utf8.RuneSelf || attached(r) { // a combining mark begins no word
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

// words finds the terms that occur as whole words. It skips most words by their first letter.
func (f *finder) words() {
	within := false // whether position i is inside a word
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
		if classOf(r) == unusual && !stops(r) { // a combining mark begins no word
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

// beginsAlone reports whether the part of a word that begins with r, after a non-joiner, may be
// matched separately.
func beginsAlone(r rune) bool { return letter(r) && !isDense(r) && !attached(r) }

// likely reports whether a word that begins with r may match the query.
func (f *finder) likely(r rune) bool {
	if classOf(r) == unusual {
		return true
	}
	a, _ := fold(r)
	switch a {
	case 'ا', 'و', 'ف', 'ب', 'ك': // letters that can begin an article (see bare)
		return true
	}
	return slices.Contains(f.rune, a)
}

// word records the word at start if it matches the query.
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

// apostrophised returns the end of a word that continues after an apostrophe at i; i if the word
// does not continue.
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

// nearest returns the term that is most similar to a word which matches the query; 0 if none is
// similar.
func (f *finder) nearest(word string) (terms uint32) {
	var room [maxRunes + 1]rune
	if t := nearest(folded(word, room[:0]), f.terms); t >= 0 {
		terms = 1 << t
	}
	return terms
}

// ask returns the set of terms that a word matches.
func (f *finder) ask(word string) (terms uint32) {
	early := f.match != nil && word[0] < utf8.RuneSelf // call the matcher before folding the word
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

// wordEnd returns the end of the word that begins at i.
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

// folded appends the folded runes of word to out, without transparent ones.
func folded(word string, out []rune) []rune {
	for _, r := range word {
		if len(out) < maxRunes && !transparent(r) {
			out = appendFolded(out, r)
		}
	}
	return out
}

// begins reports whether the folded text at i begins with runes, and returns the end of the match.
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
