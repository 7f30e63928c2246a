package policy

import (
	"fmt"
	"net/http"
	"net/url"
)

// Assume keeps text as the robots.txt of the origin of u, on the word of the operator; nil: that
// there is none. It counts for what is held until the real one is read, and permits no request: it
// has expired already. False where one was ever read; what was assumed before is replaced.
func (a *Authority) Assume(u *url.URL, text []byte) (assumed bool, err error) {
	key, err := Key(u)
	if err != nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.flights[key] != nil {
		return false, fmt.Errorf("the robots.txt of %s is being read just now", key)
	}
	rec, known, err := a.store.Load(key)
	if err != nil || rec.Held != nil && !rec.Held.Robots.Assumed {
		return false, err
	}
	now := a.o.Now().UTC()
	d := Document{URL: robotsURL(key), HTTP: http.StatusNotFound, Fetched: now, Expires: now, Assumed: true}
	if text != nil {
		d.HTTP, d.Text, d.Digest = http.StatusOK, text, digest(text)
	}
	next := Record{Last: rec.Last, Held: &Version{Since: now, Robots: d}}
	switch held := rec.Held; {
	case held != nil && agree(next.Held, held):
		return true, nil
	case held != nil && !now.After(held.Since):
		next.Held.Since = later(now, held.Since)
	}
	if !known || rec.Last.Assumed {
		next.Last = d
	}
	defer a.cache.drop(key)
	return true, a.store.Save(key, next)
}
