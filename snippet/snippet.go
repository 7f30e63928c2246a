package snippet

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/page"
)

const (
	usual    = 250 // default length of a snippet in characters
	ellipsis = "…"
	roomy    = 40 // minimum length in characters for which space is reserved for an ellipsis
	perPart  = 45 // minimum length in characters of each passage if a snippet has several
	mostPart = 5  // maximum number of passages in a snippet
)

// Include is a text or link that must be shown with a snippet (P1 2.5.5.6). Text is plain text, not
// markup (J10).
type Include struct {
	Role string `json:"role"`
	Text string `json:"text,omitempty"`
	Href string `json:"href,omitempty"`
}

// Snippet is a short text of a page for a search result.
type Snippet struct {
	Text    string    `json:"text"`
	Include []Include `json:"include"`
	// words of the query: ranges of code points of Text, in order, not adjacent
	Marks [][2]int `json:"marks,omitempty"`
}

// Rules are the limits of a snippet, and the settings for its content.
type Rules struct {
	MaxChars *int     // maximum length of Text in code points (J01); nil: no limit
	MaxWords *int     // maximum length of Text in words (J02); nil: no limit
	Extracts []string // texts that Text must contain, changed only by Plain (X06)
	// blocks of the text, which are shown separately; navigation blocks are skipped; nil: unknown
	Blocks []page.Block
	Title  string // plain title shown with the snippet; a heading with the same words is skipped
	Wanted
}

// Wanted is what a reader searches for.
type Wanted struct {
	Query string // the query; its words are searched in the text
	// reports whether a word of the text matches the query; must not keep the word. nil: words
	// match if they are similar to words of Query
	Match  func(word string) bool
	Length int   // length of a snippet in characters if the publisher permits it; 0: the default
	Room   *Room // cache shared by consecutive snippets with the same Match; nil: none
}

// Build returns a snippet of text that is not longer than max-length permits (P1 2.5.5.4). It
// returns false if none is possible: a limit is 0 (J05), an extract exceeds the limits (J04) or has
// no text (P1 2.5.5.6, J12), or no text fits. It depends only on its arguments, and leaves Include
// to the caller.
func Build(text string, r Rules) (Snippet, bool) {
	limit := measure{math.MaxInt, math.MaxInt}
	if r.MaxChars != nil {
		limit.chars = *r.MaxChars
	}
	if r.MaxWords != nil {
		limit.words = *r.MaxWords
	}
	if limit.chars <= 0 || limit.words <= 0 {
		return Snippet{}, false
	}
	required, ok := require(r.Extracts)
	if !ok || !limit.holds(required) {
		return Snippet{}, false
	}
	q := r.Wanted.read()
	s := r.search(text, q)
	length := r.Length
	if length <= 0 {
		length = usual
	}
	room := measure{min(limit.chars, length), limit.words}
	var out string
	if required != "" {
		out = s.with(required, room)
	} else {
		out = s.compose(room)
	}
	if out == "" || !limit.holds(out) {
		return Snippet{}, false
	}
	out = strings.Clone(out) // copy it, because a substring would keep the whole text in memory
	return Snippet{Text: out, Marks: q.marks(out)}, true
}

// search searches text for the terms of q. It searches headings that repeat the title, and
// navigation, only for words that no other part contains.
func (r Rules) search(text string, q query) searched {
	if len(r.Blocks) == 0 {
		return q.in(plain(text))
	}
	room := q.room
	var has extra
	out := q.in(room.joined(text, r.Title, r.Blocks, has))
	for _, wanted := range []extra{{titles: true}, {asides: true}} {
		missing := (1<<len(q.terms) - 1) &^ out.terms()
		if out.text != "" && !r.extraHas(text, q, wanted, missing) {
			continue
		}
		wanted.titles = wanted.titles || has.titles
		before := slices.Clone(out.counts) // copy the counts, because the room reuses their memory
		out = q.in(room.joined(text, r.Title, r.Blocks, wanted))
		out.prefer(before, room.left)
		has = wanted
	}
	return out
}

// extraHas reports whether the extra parts of one kind contain any of the given terms.
func (r Rules) extraHas(text string, q query, kind extra, terms uint64) bool {
	if terms == 0 {
		return false
	}
	for _, b := range r.Blocks {
		if piece := text[b.Start:b.End]; kind == kindOf(b, piece, r.Title) && q.has(piece)&terms != 0 {
			return true
		}
	}
	return false
}

// terms returns the set of terms of the query that s contains.
func (s searched) terms() (mask uint64) {
	for t, n := range s.counts {
		if n > 0 {
			mask |= 1 << t
		}
	}
	return mask
}

// prefer drops the places of words in extra parts if the words also occur in other parts.
func (s *searched) prefer(elsewhere []int, parts []span) {
	i := 0
	s.places = slices.DeleteFunc(s.places, func(p found) bool {
		for i < len(parts) && parts[i].end <= p.start {
			i++
		}
		return elsewhere[p.term] > 0 && i < len(parts) && parts[i].meets(p)
	})
}

// measure is a length in characters and in words.
type measure struct{ chars, words int }

func (m measure) holds(s string) bool {
	return (len(s) <= m.chars || utf8.RuneCountInString(s) <= m.chars) && (len(s) <= m.words || Words(s) <= m.words)
}

// require joins the extracts, without those that are part of an earlier one.
func require(extracts []string) (string, bool) {
	out := ""
	for _, e := range extracts {
		e = Plain(e)
		if e == "" {
			return "", false
		}
		if out != "" && !strings.Contains(out, e) {
			out += " "
			out += e
		} else if out == "" {
			out = e
		}
	}
	return out, true
}

// compose selects one passage, or several if the words of the query are too far apart for one.
func (s searched) compose(room measure) string {
	if s.text == "" {
		return ""
	}
	size := s.bytes(room) * 3 / 4
	stretch, seen := s.best(size, 0, span{})
	if seen == 0 {
		return s.cut(room, func(m measure) span { return span{0, fit(s.text, m.chars, m.words)} })
	}
	most, all, several := min(mostPart, room.chars/perPart, min(room.words, room.chars)*6/perPart), s.terms(), ""
	for n := 2; n <= most && seen != all; n++ {
		if stretches, in := s.apart(n, size/n); bits.OnesCount64(in) > bits.OnesCount64(seen) {
			if out := s.several(stretches, measure{room.chars/n - 2, room.words/n - 1}, room); out != "" {
				several, seen = out, in
			}
		}
	}
	if several != "" {
		return several
	}
	return s.cut(room, func(m measure) span { return around(s.text, stretch, 0, m.chars, m.words) })
}

// apart returns at most n parts of the text of about size bytes, in order, that together contain as
// many terms as possible, and the set of these terms.
func (s searched) apart(n, size int) (stretches []span, terms uint64) {
	for range n {
		next, more := s.best(size, terms, span{})
		if more&^terms == 0 {
			break
		}
		terms |= more
		stretches = append(stretches, next)
	}
	slices.SortFunc(stretches, func(a, b span) int { return a.start - b.start })
	return stretches, terms
}

// bytes estimates how many bytes of the text fit into room.
func (s searched) bytes(room measure) int {
	perChar := float64(len(s.text)) / float64(max(s.chars, 1))
	size := float64(room.chars) * perChar
	if room.words < room.chars {
		size = min(size, float64(room.words)*float64(len(s.text))/float64(max(Words(s.text), 1)))
	}
	return int(size)
}

// cut adds ellipses to the passage that choose returns, if they fit (J05). If there is space for
// more than a few words, it reserves space for the ellipses.
func (s searched) cut(room measure, choose func(measure) span) string {
	p := choose(room)
	if out := s.dress(p); room.holds(out) {
		return out
	}
	if room.chars >= roomy {
		if q := choose(measure{room.chars - 2*utf8.RuneCountInString(ellipsis), room.words}); q.end > q.start {
			if out := s.dress(q); room.holds(out) {
				return out
			}
		}
	}
	plain := s.text[p.start:p.end]
	if out := plain + ellipsis; p.end < len(s.text) && room.holds(out) {
		return out
	}
	return plain
}

// dress adds an ellipsis at each end of the passage that is inside a sentence.
func (s searched) dress(p span) string {
	out := s.tail(p)
	if out != "" && !beginsSentence(s.text, p.start) {
		out = ellipsis + out
	}
	return out
}

// tail returns the passage, with an ellipsis at its end if necessary.
func (s searched) tail(p span) string {
	out := s.text[p.start:p.end]
	if out != "" && p.end < len(s.text) && !endsSentence(out) {
		out += ellipsis
	}
	return out
}

// several joins passages to one snippet. part is the limit for each passage, and room the limit for
// the snippet. Passages that touch are merged. several returns "" if the passages do not fit into
// room.
func (s searched) several(stretches []span, part, room measure) string {
	var passages []span
	for _, stretch := range stretches {
		p := around(s.text, stretch, 0, part.chars, part.words)
		switch n := len(passages); {
		case p.start == p.end:
			return ""
		case n > 0 && p.start <= passages[n-1].end+1:
			passages[n-1].end = max(passages[n-1].end, p.end)
		default:
			passages = append(passages, p)
		}
	}
	out := ""
	for i, p := range passages {
		if i == 0 {
			out = s.dress(p)
		} else {
			out = strings.TrimSuffix(out, ellipsis) + ellipsis + " " + s.tail(p)
		}
	}
	if !room.holds(out) {
		return ""
	}
	return out
}

// with returns the required text. If there is space, with adds a passage with words of the query.
// If there is no such passage, it adds the text that follows the required text on the page.
func (s searched) with(required string, room measure) string {
	rest := measure{room.chars - utf8.RuneCountInString(required) - 3, room.words - Words(required) - 1}
	if rest.chars < roomy || rest.words < roomy/6 {
		return required
	}
	at, held := s.locate(required)
	var avoid span
	if held {
		avoid = span{at, at + len(required)}
	}
	if stretch, seen := s.best(s.bytes(rest)*3/4, 0, avoid); seen != 0 {
		text, floor := s.text, 0
		switch {
		case stretch.end <= avoid.start:
			text = strings.TrimSuffix(text[:avoid.start], " ")
		case held:
			floor = len(text) - len(strings.TrimPrefix(text[avoid.end:], " "))
		}
		p := around(text, stretch, floor, rest.chars, rest.words)
		if out := required + ellipsis + " " + s.tail(p); p.end > p.start && room.holds(out) {
			return out
		}
	}
	if held {
		p := span{at, at + fit(s.text[at:], room.chars-1, room.words)}
		if out := s.dress(p); p.end >= avoid.end && room.holds(out) {
			return out
		}
	}
	return required
}

// locate finds an extract in the text, from the beginning of a word to the end of one.
func (s searched) locate(extract string) (at int, found bool) {
	for from := 0; from <= len(s.text); {
		i := strings.Index(s.text[from:], extract)
		if i < 0 {
			return 0, false
		}
		at, end := from+i, from+i+len(extract)
		last, _ := utf8.DecodeLastRuneInString(extract)
		next, _ := utf8.DecodeRuneInString(s.text[end:])
		if beginsWord(s.text, at) && (!letter(last) || !letter(next) || parts(last, next)) && snap(s.text, end) == end {
			return at, true
		}
		_, n := utf8.DecodeRuneInString(s.text[at:])
		from = at + n
	}
	return 0, false
}
