package acapcolly

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/PuerkitoBio/goquery"
	"github.com/gocolly/colly/v2"
	whatwg "github.com/nlnwa/whatwg-url/url"

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

// spelling parses addresses as Colly does, which spells some of them in another way than package page.
var spelling = whatwg.NewParser(whatwg.WithPercentEncodeSinglePercentSign())

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

// refuse notes that the link with this key may not be followed from a page.
func (l *links) refuse(key linkKey, why LinkRefusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
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

// learn notes which links of a page may be followed, and which may not. If the page refuses any, all addresses in its
// markup are refused that are not known to be permitted, however they are spelt and however many there are.
func (l *links) learn(pg *page.Page, t *terms.Reached) {
	var permitted []string
	if t.Open(acap.Follow) {
		permitted, _ = t.Links()
		permitted = append(permitted, t.Requisites()...)
	}
	l.permit(permitted...)
	open := map[linkKey]bool{}
	for _, link := range permitted {
		open[keyOf(link)] = true
	}
	marked, complete := pg.NoFollow()
	refused := slices.DeleteFunc(slices.Concat(marked, pg.Links(page.Cut{}), pg.Requisites(page.Cut{})),
		func(link string) bool { return open[keyOf(link)] })
	if len(refused) == 0 && complete && t.Decide(acap.Follow).Allowed {
		return
	}
	permits := t.Decide(acap.Follow).Allowed
	why, byRel := refusalOf(pg, t), map[string]bool{}
	for _, link := range marked {
		byRel[link] = true
	}
	for _, link := range append(refused, writtenLinks(pg)...) {
		key := keyOf(link)
		if open[key] {
			continue
		}
		one := why
		if one.URL = link; byRel[link] && permits {
			one.Why = "the page marks it with rel=nofollow"
		}
		l.refuse(key, one)
	}
}

// writtenLinks returns all addresses in the markup of a page, resolved as Colly does.
func writtenLinks(pg *page.Page) (list []string) {
	if !pg.HTML() {
		return nil
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(pg.Source()))
	if err != nil {
		return nil // reading from memory cannot fail
	}
	base := pg.URL().String()
	if href, found := doc.Find("base[href]").Attr("href"); found {
		if u, err := spelling.ParseRef(base, href); err == nil {
			base = u.Href(false)
		}
	}
	doc.Find("[href], [src], [action], [data]").Each(func(_ int, s *goquery.Selection) {
		for _, name := range []string{"href", "src", "action", "data"} {
			value, found := s.Attr(name)
			if u, err := spelling.ParseRef(base, value); found && err == nil {
				list = append(list, u.Href(true))
			}
		}
	})
	return list
}

// refusalOf explains why links of a page may not be followed. A link that the page marks with rel=nofollow has another
// reason, if the decision permits to follow the others.
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
