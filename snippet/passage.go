package snippet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a byte range of a text.
type span struct{ start, end int }

// searched is a text and the occurrences of the words of the query in it.
type searched struct {
	text   string
	chars  int // length of text in characters
	places []found
	counts []int
}

// best returns the part of the text with the highest score, and the terms in this part. size is its
// maximum length in bytes; it does not touch the range avoid. Each term adds to the score once, and
// a rare term adds more; terms in skip add nothing. Between parts with equal scores, the one with
// more occurrences wins, then the earlier one.
func (s searched) best(size int, skip uint64, avoid span) (stretch span, terms uint64) {
	var here [maxTerms]int
	score, top, mask := 0, 0, uint64(0)
	var worth [maxTerms]int
	for t, n := range s.counts {
		if n > 0 && skip&(1<<t) == 0 {
			worth[t] = 100 + 10000/n
		}
	}
	places, n := s.places, 0 // n is the number of places in places[i:j] outside the range avoid
	for i, j := 0, 0; i < len(places); i++ {
		if avoid.meets(places[i]) {
			j = max(j, i+1)
			continue
		}
		for ; j < len(places) && (j == i || avoid.meets(places[j]) || places[j].end-places[i].start <= size &&
			!between(avoid, places[i], places[j])); j++ {
			if avoid.meets(places[j]) {
				continue
			}
			n++
			t := places[j].term
			if here[t]++; here[t] == 1 {
				score += worth[t]
				mask |= 1 << t
			}
		}
		if got := score + min(n, 20); mask&^skip != 0 && got > top {
			top, terms = got, mask
			stretch = span{places[i].start, places[i].end}
			for _, p := range places[i:j] {
				if !avoid.meets(p) {
					stretch.end = max(stretch.end, p.end)
				}
			}
		}
		n--
		t := places[i].term
		if here[t]--; here[t] == 0 {
			score -= worth[t]
			mask &^= 1 << t
		}
	}
	return stretch, terms
}

func (s span) meets(p found) bool { return p.end > s.start && p.start < s.end }

func between(avoid span, a, b found) bool {
	return avoid.end > 0 && a.end <= avoid.start && b.start >= avoid.end
}

// around returns a passage within the limits that contains stretch, or as much of it as fits. It
// begins with the sentence if the stretch still fits, otherwise a few words before the stretch. It
// does not begin before floor, which is the beginning of a word.
func around(text string, stretch span, floor, chars, words int) span {
	from := snap(text, stretch.start)
	back := max(chars/4, 1)
	for try := range 3 {
		start := from
		switch try {
		case 0:
			start = sentenceBefore(text, from, chars)
		case 1:
			start = wordBefore(text, from, back)
		case 2:
			start = wordBefore(text, from, 0)
		}
		if start < floor {
			start = floor
		}
		if start > from {
			continue
		}
		if end := start + fit(text[start:], chars, words); end >= stretch.end {
			return span{widen(text, start, end, floor, chars, words), end}
		}
	}
	return span{from, from + fit(text[from:], chars, words)}
}

// widen moves the start of a passage at the end of the text back as far as the limits allow, to the
// beginning of a sentence if possible.
func widen(text string, start, end, floor, chars, words int) int {
	if end < len(text) {
		return start
	}
	n, w := utf8.RuneCountInString(text[start:]), Words(text[start:])
	wide, sentence := start, start
	for i := start; i > floor; {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
		if n++; n > chars {
			break
		}
		if !beginsWord(text, i) {
			continue
		}
		if w += Words(text[i:wide]); w > words {
			break
		}
		wide = i
		if beginsSentence(text, i) {
			sentence = i
		}
	}
	if sentence < start || beginsSentence(text, start) && utf8.RuneCountInString(text[start:]) > chars/2 {
		return sentence
	}
	return wide
}

// snap returns the last boundary of grapheme clusters at or before i.
func snap(text string, i int) int {
	pos := i
	for pos > 0 && !beginsWord(text, pos) {
		_, n := utf8.DecodeLastRuneInString(text[:pos])
		pos -= n
	}
	for pos < i {
		n := cluster(text[pos:])
		if pos+n > i {
			break
		}
		pos += n
	}
	return pos
}

// beginsWord reports whether a word and a grapheme cluster begin at i.
func beginsWord(text string, i int) bool {
	if i == 0 {
		return true
	}
	if i < len(text) && text[i-1] != ' ' && text[i-1] < utf8.RuneSelf && text[i] < utf8.RuneSelf {
		return false
	}
	before, n := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i:])
	if after == ' ' || before != ' ' && !parts(before, after) && !ideographicStop(before) {
		return false
	}
	return cluster(text[i-n:]) == n
}

// wordBefore returns the first beginning of a word that is at most chars characters before i; i if
// there is none.
func wordBefore(text string, i, chars int) int {
	first := i
	for pos, n := i, 0; ; n++ {
		if beginsWord(text, pos) {
			first = pos
			if n >= chars {
				return first
			}
		}
		if pos == 0 || n >= chars && first < i || n > chars+maxRunes {
			return first
		}
		_, size := utf8.DecodeLastRuneInString(text[:pos])
		pos -= size
	}
}

// sentenceBefore returns the beginning of the sentence around i; -1 if it is more than chars
// characters before i.
func sentenceBefore(text string, i, chars int) int {
	for pos, n := i, 0; n <= chars; n++ {
		if beginsSentence(text, pos) {
			return pos
		}
		_, size := utf8.DecodeLastRuneInString(text[:pos])
		pos -= size
	}
	return -1
}

// beginsSentence guesses whether a sentence begins at i: after a full stop that does not end an
// abbreviation, and not with a small letter.
func beginsSentence(text string, i int) bool {
	if i == 0 {
		return true
	}
	if before, _ := utf8.DecodeLastRuneInString(text[:i]); classOf(before) != unusual || !beginsWord(text, i) {
		return false
	}
	before := strings.TrimRightFunc(strings.TrimSuffix(text[:i], " "), closing)
	stop, n := utf8.DecodeLastRuneInString(before)
	if ideographicStop(stop) {
		return true
	}
	after, _ := utf8.DecodeRuneInString(text[i:])
	if text[i-1] != ' ' || !strings.ContainsRune(".!?…؟۔।", stop) || unicode.IsLower(after) {
		return false
	}
	if stop != '.' {
		return true
	}
	before = before[:len(before)-n]
	last := before[strings.LastIndexByte(before, ' ')+1:]
	first, _ := utf8.DecodeRuneInString(last)
	// initials and titles, as in Dr. Wu or J. S. Bach
	return !(unicode.IsUpper(first) && utf8.RuneCountInString(last) <= 3)
}

// endsSentence reports whether s ends with the end of a sentence.
func endsSentence(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(s)
	if classOf(last) != unusual {
		return false
	}
	last, _ = utf8.DecodeLastRuneInString(strings.TrimRightFunc(s, closing))
	return strings.ContainsRune(".!?…؟۔।", last) || ideographicStop(last)
}

func ideographicStop(r rune) bool { return r == '。' || r == '！' || r == '？' || r == '｡' }

func closing(r rune) bool { return strings.ContainsRune("\"')]”’»」』）】", r) }
