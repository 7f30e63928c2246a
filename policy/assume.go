package policy

import (
	"fmt"
	"net/http"
	"net/url"
)

// Assume stores text as the robots.txt of the origin of u, if no robots.txt of the origin was ever
// read: the operator says that the text is right. If text is nil, the origin is assumed to have no
// robots.txt. The assumed robots.txt applies to archived pages until the real one is read. It
// permits no request, because it has already expired. A later call of Assume replaces it. assumed
// is false if a robots.txt was read before.
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
	case held != nil && sameContent(next.Held, held):
		return true, nil
	case held != nil && !now.After(held.Since):
		next.Held.Since = timeAfter(now, held.Since)
	}
	if !known || rec.Last.Assumed {
		next.Last = d
	}
	defer a.cache.drop(key)
	return true, a.store.Save(key, next)
}
