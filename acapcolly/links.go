package acapcolly

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// LinkRefusal is the error of a request for a link that no page permits to follow.
type LinkRefusal struct {
	URL      string
	Page     string        // address of a page that has the link and does not permit following it
	Decision acap.Decision // the decision on follow, for the page or for a part of it
	Why      string        // why the link may not be followed, if the decision permits it
}

// Error returns one sentence: the address, the page, and the line that decided.
func (r *LinkRefusal) Error() string {
	why := r.Why
	if why == "" {
		why = r.Decision.Why()
	}
	return fmt.Sprintf("%s is not requested: the link to it on %s may not be followed: %s", r.URL, r.Page, why)
}

// links knows which links of pages may be followed. It is safe for concurrent use.
type links struct {
	mu        sync.Mutex
	permitted map[linkKey]struct{}
	refused   map[linkKey]*refused
	due       []waiting // requests that were refused and are permitted by now
}

// linkKey is a hash of an address in normal form.
type linkKey [16]byte

// refused is a link that no page permits to follow so far.
type refused struct {
	why     *LinkRefusal // without URL, because the links of a page share it
	waiting []waiting
}

func newLinks() *links {
	return &links{permitted: map[linkKey]struct{}{}, refused: map[linkKey]*refused{}}
}

// keyOf returns the key of an address, in the spelling of Colly and in normal form, if it has one.
func keyOf(link string) linkKey {
	if u, err := spelling.Parse(link); err == nil {
		link = u.Href(true)
	}
	if normal, err := address.Normal(link); err == nil {
		link = normal
	}
	sum := sha256.Sum256([]byte(link))
	return linkKey(sum[:16])
}

func keysOf(list []string) []linkKey {
	keys := make([]linkKey, len(list))
	for i, link := range list {
		keys[i] = keyOf(link)
	}
	return keys
}

// permit notes that links may be followed. depth is the Depth that Colly would give to requests for them.
func (l *links) permit(depth int, keys ...linkKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		l.permitted[key] = struct{}{}
		if r := l.refused[key]; r != nil {
			for _, w := range r.waiting {
				w.request.Depth = min(w.request.Depth, depth)
				l.due = append(l.due, w)
			}
			delete(l.refused, key)
		}
	}
}

// refuse notes that the link with this key may not be followed from a page.
func (l *links) refuse(key linkKey, why *LinkRefusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, permitted := l.permitted[key]; !permitted && l.refused[key] == nil {
		l.refused[key] = &refused{why: why}
	}
}

// pass returns a *LinkRefusal if an address is a link that may not be followed. Otherwise it notes that the address
// may be requested again, whatever pages say later: a page may refuse a link to itself, for example.
func (l *links) pass(link string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := keyOf(link)
	if r := l.refused[key]; r != nil {
		why := *r.why
		why.URL = link
		return &why
	}
	l.permitted[key] = struct{}{}
	return nil
}

// learn notes which links of a page may be followed, and which may not. depth is the Depth of requests for them. If
// the page refuses any, all addresses in its markup are refused that are not known to be permitted, however they are
// spelt and however many there are.
func (l *links) learn(pg *page.Page, t *terms.Reached, depth int) {
	marked, complete := pg.NoFollow()
	written := writtenIn(pg)
	why, byRel := refusalOf(pg, t), LinkRefusal{Page: pg.URL().String(), Decision: t.Decide(acap.Follow)}
	_, barred := t.FirstBarred(acap.Follow)
	whole := byRel.Decision.Allowed && !barred && complete && len(t.PermissionLinks()) == 0
	var permitted []linkKey
	if t.Open(acap.Follow) {
		followed, _ := t.Links()
		permitted = keysOf(slices.Concat(followed, t.Requisites()))
	}
	for _, w := range written {
		if whole && w.plain && !w.marked {
			permitted = append(permitted, w.key)
		}
	}
	l.permit(depth, permitted...)
	if byRel.Decision.Allowed {
		byRel.Why = "the page marks it with rel=nofollow"
	}
	refuse := func(why *LinkRefusal, keys ...linkKey) {
		for _, key := range keys {
			l.refuse(key, why) // no effect if the page permits it elsewhere
		}
	}
	refuse(&byRel, keysOf(marked)...)
	for _, w := range written {
		if w.marked {
			refuse(&byRel, w.key)
		} else if !whole {
			refuse(&why, w.key)
		}
	}
	if !whole {
		refuse(&why, keysOf(slices.Concat(pg.Links(page.Cut{}), pg.Requisites(page.Cut{})))...)
	}
}

// refusalOf explains why links of a page may not be followed that it does not mark with rel=nofollow.
func refusalOf(pg *page.Page, t *terms.Reached) LinkRefusal {
	r := LinkRefusal{Page: pg.URL().String(), Decision: t.Decide(acap.Follow)}
	if !r.Decision.Allowed {
		return r
	}
	if part, barred := t.FirstBarred(acap.Follow); barred {
		r.Decision = part
	} else {
		r.Why = "the page does not permit following it"
	}
	return r
}
