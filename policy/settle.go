package policy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/address"
)

// MaxReferences is how many files an origin's robots.txt can refer to; more are unavailable (D07).
const MaxReferences = 32

// Origin is what is known of one origin for one crawler. It is immutable.
type Origin struct {
	Key        string            // scheme://host, and :port unless it is the scheme's own
	Status     Status            // of the last attempt
	HTTP       int               // status code of the last attempt; 0: no answer
	Why        string            // why it could not be read; "" unless Status is Unreachable
	Robots     *acap.File        // nil when none was read
	References []acap.Reference  // with File or Err
	Policy     *acap.Policy      // never nil
	Since      time.Time         // when the version in force was first read, unique for each; zero where none is
	Fetched    time.Time         // when Robots was asked for
	Expires    time.Time         // when it is to be read again
	Digests    map[string]string // of the files that were read, by URL: SHA-256, hexadecimal
	Incomplete bool              // a file that it refers to could not be read

	size int // bytes of text behind it
}

// Key names the origin of u: scheme, host and port (O12), lower case, punycode, without the port
// that the scheme implies.
func Key(u *url.URL) (string, error) {
	origin, err := address.Origin(u)
	if err != nil {
		return "", fmt.Errorf("%q has no robots.txt: %w", u.Redacted(), err)
	}
	return origin, nil
}

func robotsURL(key string) string { return key + "/robots.txt" }

// parse reads the robots.txt of the origin of key.
func parse(key string, d Document) *acap.File {
	f := acap.Parse(robotsURL(key), d.Text)
	f.Final = d.Final
	return f
}

// settle finds what is in force for the origin of key: from the store where it is fresh, else from
// the network. anew reads everything again. The error is that of ctx or of the store.
func (a *Authority) settle(ctx context.Context, key string, anew bool) (*Origin, error) {
	rec, _, err := a.store.Load(key)
	if err != nil {
		return nil, err
	}
	held := rec.Held
	v := &Version{}
	if !anew && held != nil && rec.Last.Status() != Unreachable && a.fresh(held.Robots) {
		v.Robots = held.Robots
	} else {
		if v.Robots, err = a.robots(ctx, robotsURL(key), held); err != nil {
			return nil, err
		}
		if v.Robots.Status() == Unreachable {
			return a.unreachable(key, v.Robots), a.save(key, Record{Last: v.Robots, Held: held})
		}
	}
	file := parse(key, v.Robots)
	a.pace(key, file)
	read, err := a.references(ctx, file, v, held, anew)
	if err != nil {
		return nil, err
	}
	next := held
	if read || held == nil || !v.Robots.Fetched.Equal(held.Robots.Fetched) {
		next = a.dated(v, held)
		if err := a.save(key, Record{Last: v.Robots, Held: next}); err != nil {
			return nil, err
		}
	}
	v.Since = next.Since
	return a.build(key, file, v), nil
}

// fresh reports whether a document still serves.
func (a *Authority) fresh(d Document) bool {
	now := a.o.Now()
	return d.Err == "" && !d.Fetched.After(now) && !d.Fetched.Before(a.o.Anew) && d.Expires.After(now)
}

// pace tells the Crawl-delay before the next request to the origin, which may be for a reference.
func (a *Authority) pace(key string, file *acap.File) {
	if a.o.Pace == nil {
		return
	}
	if u, err := url.Parse(key); err == nil {
		a.o.Pace(u, file.Policy(a.crawler).CrawlDelay())
	}
}

// references adds the files with permissions that file refers the crawler to (P1 2.3.2), each once.
// It uses a stored file while that is fresh, and reports whether a file was read.
func (a *Authority) references(ctx context.Context, file *acap.File, v, held *Version, anew bool) (read bool,
	err error) {
	for _, r := range file.References(a.crawler) {
		if _, known := v.reference(r.URL); known || r.URL == "" || len(v.References) == MaxReferences {
			continue
		}
		d, known := held.reference(r.URL)
		if anew || !known || !a.fresh(d) {
			if d, _, err = a.read(ctx, r.URL, d); err != nil {
				return read, err
			}
			read = true
		}
		v.References = append(v.References, d)
	}
	return read, nil
}

// dated is the version to hold after held: with the references that other crawlers were led to by
// the same robots.txt, and the date of held where nothing changed.
func (a *Authority) dated(v, held *Version) *Version {
	next := *v
	next.References = append([]Document(nil), v.References...)
	next.Since = v.Robots.Fetched
	if held == nil {
		return &next
	}
	if v.Robots.same(held.Robots) {
		for _, d := range held.References {
			if _, known := v.reference(d.URL); !known && len(next.References) < 2*MaxReferences {
				next.References = append(next.References, d)
			}
		}
	}
	switch {
	case agree(&next, held):
		next.Since = held.Since
	case !next.Since.After(held.Since):
		next.Since = later(a.o.Now().UTC(), held.Since)
	}
	return &next
}

// agree reports whether next says what held says; what only one of them has read does not count.
func agree(next, held *Version) bool {
	if !next.Robots.same(held.Robots) {
		return false
	}
	for _, d := range next.References {
		if old, known := held.reference(d.URL); known && !d.same(old) {
			return false
		}
	}
	return true
}

func later(t, than time.Time) time.Time {
	if t.After(than) {
		return t
	}
	return than.Add(time.Nanosecond)
}

// build makes the origin of a version that was read.
func (a *Authority) build(key string, file *acap.File, v *Version) *Origin {
	o := &Origin{Key: key, Status: v.Robots.Status(), HTTP: v.Robots.HTTP, Robots: file, Since: v.Since,
		Fetched: v.Robots.Fetched,
		Expires: v.Robots.Expires, Digests: map[string]string{v.Robots.URL: v.Robots.Digest}, size: len(v.Robots.Text)}
	files := map[string]*acap.File{}
	for _, r := range file.References(a.crawler) {
		d, known := v.reference(r.URL)
		switch {
		case r.Err != nil:
		case !known:
			r.Err = errors.New("it was not read for this crawler")
			if len(v.References) >= MaxReferences {
				r.Err = fmt.Errorf("more than %d files are referred to", MaxReferences)
			}
		case d.Err != "": // D07
			r.Err = errors.New(d.Err)
		case r.Vocabulary != "":
			r.Text = d.Text
			o.Digests[r.URL] = d.Digest
			o.size += len(d.Text)
		case files[r.URL] == nil:
			files[r.URL] = acap.ParseReferred(r.URL, d.Text)
			o.Digests[r.URL] = d.Digest
			o.size += len(d.Text)
		}
		if known && d.Expires.Before(o.Expires) {
			o.Expires = d.Expires
		}
		if r.Final = d.Final; r.Vocabulary == "" { // a vocabulary decides itself what the loss of its file means
			r.File = files[r.URL]
			o.Incomplete = o.Incomplete || r.File == nil
		}
		o.References = append(o.References, r)
	}
	o.Policy = file.Policy(a.crawler, o.References...)
	return o
}

// unreachable is the origin whose robots.txt could not be read: everything is prohibited (RFC 9309
// 2.3.1.4).
func (a *Authority) unreachable(key string, d Document) *Origin {
	return &Origin{Key: key, Status: Unreachable, HTTP: d.HTTP, Why: d.Err, Policy: acap.Unreachable(robotsURL(key),
		d.Err),
		Fetched: d.Fetched, Expires: d.Expires}
}
