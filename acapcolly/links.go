package acapcolly

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/address"
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
	due       []*colly.Request // requests that were refused and are permitted by now
}

// linkKey is a hash of an address in normal form.
type linkKey [16]byte

// refused is a link that no page permits to follow so far.
type refused struct {
	why     LinkRefusal
	waiting *colly.Request // a request that was refused; nil: none
}

func newLinks() *links {
	return &links{permitted: map[linkKey]struct{}{}, refused: map[linkKey]*refused{}}
}

// keyOf returns the key of an address. An address that has no normal form is its own.
func keyOf(link string) linkKey {
	if normal, err := address.Normal(link); err == nil {
		link = normal
	}
	sum := sha256.Sum256([]byte(link))
	return linkKey(sum[:16])
}

// permit notes that links may be followed.
func (l *links) permit(list ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, link := range list {
		key := keyOf(link)
		l.permitted[key] = struct{}{}
		if r := l.refused[key]; r != nil {
			if r.waiting != nil {
				l.due = append(l.due, r.waiting)
			}
			delete(l.refused, key)
		}
	}
}

// refuse notes that a link may not be followed from a page.
func (l *links) refuse(why LinkRefusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := keyOf(why.URL)
	if _, permitted := l.permitted[key]; !permitted && l.refused[key] == nil {
		l.refused[key] = &refused{why: why}
	}
}

// check returns a *LinkRefusal if an address is a link that may not be followed.
func (l *links) check(link string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.refused[keyOf(link)]; r != nil {
		why := r.why
		return &why
	}
	return nil
}

// wait keeps a request for a link that was refused until a page permits the link. It returns false if that is so
// already.
func (l *links) wait(link string, r *colly.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.refused[keyOf(link)]
	if known != nil {
		known.waiting = r
	}
	return known != nil
}

// takeDue returns the requests that were refused and are permitted by now, once.
func (l *links) takeDue() (list []*colly.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, l.due = l.due, nil
	return list
}

// learn notes which links of a page may be followed, and which may not.
func (l *links) learn(pg *page.Page, t *terms.Reached) {
	var permitted []string
	if t.Open(acap.Follow) {
		permitted, _ = t.Links()
		permitted = append(permitted, t.Requisites()...)
	}
	l.permit(permitted...)
	marked, _ := pg.NoFollow()
	all := slices.Concat(pg.Links(page.Cut{}), pg.Requisites(page.Cut{}), marked)
	open := map[string]bool{}
	for _, link := range permitted {
		open[link] = true
	}
	for _, link := range all {
		if !open[link] {
			l.refuse(refusalOf(link, pg, t, slices.Contains(marked, link)))
		}
	}
}

// refusalOf explains why a link of a page may not be followed. marked is set if the page marks it with rel=nofollow.
func refusalOf(link string, pg *page.Page, t *terms.Reached, marked bool) LinkRefusal {
	r := LinkRefusal{URL: link, Page: pg.URL().String(), Decision: t.Decide(acap.Follow)}
	switch {
	case !r.Decision.Allowed:
		return r
	case marked:
		r.Why = "the page marks it with rel=nofollow"
		return r
	}
	part, barred := t.FirstBarred(acap.Follow)
	if !barred {
		r.Why = "a request for it would ask the publisher for permission"
		return r
	}
	r.Decision = part
	return r
}
