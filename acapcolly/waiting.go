package acapcolly

import (
	"slices"

	"github.com/gocolly/colly/v2"
)

// waiting is a request that was refused, with its collector.
type waiting struct {
	collector *colly.Collector
	request   *colly.Request
}

// newWaiting copies a request with its header, which callbacks may still read while the copy is sent.
func newWaiting(c *colly.Collector, r *colly.Request) waiting {
	own, header := *r, r.Headers.Clone()
	own.Headers = &header
	return waiting{c, &own}
}

// wait keeps a request for a link that was refused until a page permits the link. Of equal requests of a collector, it
// keeps the last one.
func (l *links) wait(link string, w waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.refused[keyOf(link)]
	if known == nil { // a page has permitted it meanwhile
		l.due = append(l.due, w)
		return
	}
	known.waiting = append(slices.DeleteFunc(known.waiting, func(o waiting) bool {
		return o.collector == w.collector && o.request.Method == w.request.Method &&
			o.request.URL.String() == w.request.URL.String()
	}), w)
}

// takeDue returns the requests that were refused and are permitted by now, once: those of c and of synchronous
// collectors, or all of them if c is nil.
func (l *links) takeDue(c *colly.Collector) (list []*colly.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due = slices.DeleteFunc(l.due, func(w waiting) bool {
		begins := c == nil || c == w.collector || !w.collector.Async
		if begins {
			list = append(list, w.request)
		}
		return begins
	})
	return list
}

// askAgain begins the requests again that were refused and are permitted by now. c is the collector in whose
// callback it is called; nil: the collectors have ended. In a callback, requests of other asynchronous collectors do
// not begin: the sync.WaitGroup that Colly uses must not grow while the program returns from Wait.
func (p *Permissions) askAgain(c *colly.Collector) {
	for _, r := range p.links.takeDue(c) {
		_ = r.Retry() // its error arrives in OnError, too
	}
}

// Wait returns when all attached collectors are done. A program with several asynchronous collectors calls it instead
// of their Wait methods: if a page of one collector permits a link that another one has requested before, the request
// begins again in Wait.
func (p *Permissions) Wait() {
	for begun, quiet := uint64(0), 0; quiet < 2; quiet++ { // in the first quiet round, callbacks may begin requests
		p.mu.Lock()
		attached := slices.Clone(p.attached)
		p.mu.Unlock()
		for _, c := range attached {
			c.Wait()
		}
		p.askAgain(nil)
		p.mu.Lock()
		if p.last != begun {
			begun, quiet = p.last, -1
		}
		p.mu.Unlock()
	}
}
