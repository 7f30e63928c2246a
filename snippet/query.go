package snippet

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits on the work for hostile queries and texts.
const (
	maxTerms = 32
	maxRunes = 64  // runes of a term, and of a word that is compared with a term
	maxFound = 200 // stored places of one term
)

// term is a folded word of the query.
type term struct {
	runes []rune
	dense bool // matches anywhere in a text, not only as a whole word
}

// query is the set of terms that are searched in texts.
type query struct {
	terms []term
	match func(word string) bool
	rune  []rune              // first runes of words that may match a term
	first [utf8.RuneSelf]bool // the ASCII bytes among these runes
	room  *Room
}

func (w Wanted) read() query {
	room := w.Room
	if room == nil {
		room = new(Room)
	}
	if room.asked != w.Query {
		room.query, room.asked = read(w.Query), strings.Clone(w.Query)
		clear(room.known)
	}
	q := room.query
	q.match, q.room = w.Match, room
	return q
}

func read(text string) query {
	q := query{terms: terms(text)}
	for _, t := range q.terms {
		if t.dense {
			continue
		}
		for _, r := range [...]rune{t.runes[0], bare(t.runes)[0]} {
			if slices.Contains(q.rune, r) {
				continue
			}
			q.rune = append(q.rune, r)
			if r < utf8.RuneSelf {
				q.first[r] = true
			}
		}
	}
	return q
}

// terms returns the words of a query, without words that the query excludes and without labels such
// as site:.
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

// split adds the words of chunk to out, without duplicates.
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
