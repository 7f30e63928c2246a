package page

import (
	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/acap"
)

// markFragments marks the elements whose ids META tags name, a form used by the ACAP pilot (PILOT
// 1.3.1). A mark's position is the start tag of its element. If the parser made no element for such
// an id, the tag with the id gets a mark too.
func (t *tree) markFragments(src string, xhtml bool) {
	named := map[string]bool{}
	for _, tag := range t.tags {
		for _, id := range acap.Fragments(tag.Content) {
			named[id] = true
		}
	}
	if len(named) == 0 {
		return
	}
	found := map[string][]spot{}
	var ids []string // ids in the source that META tags name, in order
	at := cursor{src: src, spot: spot{line: 1, column: 1}}
	_, readable := scan(src, 0, xhtml, false, func(offset int, _ string, attrs []html.Attribute) bool {
		if id := attr(attrs, "id"); named[id] {
			ids = append(ids, id)
			found[id] = append(found[id], at.to(offset))
			t.talkative = t.talkative || len(ids) > maxSaid
		}
		return !t.talkative
	})
	if !readable {
		t.unread = tooManyAttributes
	}
	last := map[string]spot{}
	walk(t.root, func(n *html.Node) bool {
		id := attr(n.Attr, "id")
		if n.Type != html.ElementNode || !named[id] {
			return true
		}
		s, fresh := removeFirst(found, id)
		if !fresh { // the parser made two elements of this tag
			s = last[id]
		}
		last[id] = s
		t.markFragment(n, id, s, fresh || s == (spot{}))
		return true
	}, func(*html.Node) {})
	for _, id := range ids {
		if s, ok := removeFirst(found, id); ok {
			t.markFragment(nil, id, s, true)
		}
	}
}

// markFragment adds a mark for id to the element n. n is nil if the parser made no element of the
// tag.
func (t *tree) markFragment(n *html.Node, id string, at spot, listed bool) {
	marks := []acap.Mark{{Token: "#" + id, Place: placeOf(n), Line: at.line, Column: at.column}}
	if have := t.marks[n]; n != nil && len(have) > 0 {
		marks[0].Element = have[0].Element
	} else {
		t.number(marks)
	}
	if n == nil {
		t.lost = append(t.lost, marks...)
	} else {
		t.marks[n] = append(t.marks[n], marks...)
	}
	if listed {
		t.listed = append(t.listed, marks...)
	}
}
