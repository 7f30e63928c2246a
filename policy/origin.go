package policy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/address"
)

// MaxReferences is the maximal number of files that an origin's robots.txt can refer to. P1 2.3.2
// (D07): further files count as unavailable, so everything is prohibited.
const MaxReferences = 32

// Origin is the state of one origin, and its policy for one crawler. It is immutable.
type Origin struct {
	Key        string           // scheme://host, with :port if that is not the default
	Status     Status           // result of the last attempt to read robots.txt
	HTTP       int              // HTTP status of the last attempt; 0: there was no answer
	Why        string           // why robots.txt could not be read; "" unless Status is Unreachable
	Robots     *acap.File       // nil if no robots.txt was read
	References []acap.Reference // the files that Robots refers to, each with File or Err
	Policy     *acap.Policy     // never nil
	// when the version in force was first read; each version has another time; zero: there is no
	// version
	Since      time.Time
	Fetched    time.Time         // when Robots was requested
	Expires    time.Time         // when a file must be read again
	Digests    map[string]string // SHA-256 in hexadecimal of each file that was read, by URL
	Incomplete bool              // a file that Robots refers to could not be read

	size int // total size of the texts of its policy files, in bytes
}

// Key returns the key of the origin of u (RFC 9309 2.3, O12: scheme, host and port), in lower case,
// the host in punycode, without the default port.
func Key(u *url.URL) (string, error) {
	origin, err := address.Origin(u)
	if err != nil {
		return "", fmt.Errorf("%q has no robots.txt: %w", u.Redacted(), err)
	}
	return origin, nil
}

// ErrNotRead means that a file to which robots.txt refers has not been read for this crawler.
var ErrNotRead = errors.New("it was not read for this crawler")

func robotsURL(key string) string { return key + "/robots.txt" }

// parse parses the robots.txt of the origin key.
func parse(key string, d Document) *acap.File {
	f := acap.Parse(robotsURL(key), d.Text)
	f.Final = d.Final
	return f
}

// readOrigin returns the origin of key with the policy in force. It uses stored files that are
// fresh and fetches the others. If reread is true, it fetches all files. The error comes from ctx,
// from the store or from Options.Shared.
func (a *Authority) readOrigin(ctx context.Context, key string, reread bool) (*Origin, error) {
	rec, mark, err := a.latest(ctx, key)
	if err != nil {
		return nil, err
	}
	held := rec.Held
	v := &Version{}
	if !reread && held != nil && rec.Last.Status() != Unreachable && a.fresh(held.Robots) {
		v.Robots = held.Robots
	} else {
		if v.Robots, err = a.readRobots(ctx, robotsURL(key), held); err != nil {
			return nil, err
		}
		if v.Robots.Status() == Unreachable {
			return a.conclude(ctx, key, nil, v.Robots, nil, rec, mark)
		}
	}
	file := parse(key, v.Robots)
	a.pace(key, file)
	read, err := a.readReferences(ctx, key, file, v, held, reread)
	if err != nil {
		return nil, err
	}
	if read || held == nil || !v.Robots.Fetched.Equal(held.Robots.Fetched) {
		return a.conclude(ctx, key, file, v.Robots, v, rec, mark)
	}
	v.Since = held.Since
	return a.build(key, file, v), nil
}

// fresh reports whether a stored document may be used without a request.
func (a *Authority) fresh(d Document) bool {
	now := a.o.Now()
	return d.Err == "" && !d.Fetched.After(now) && !d.Fetched.Before(a.o.Reread) && d.Expires.After(now)
}

// pace calls Options.Pace with the Crawl-delay of the origin, before a file that robots.txt refers
// to may be requested from the origin.
func (a *Authority) pace(key string, file *acap.File) {
	if a.o.Pace == nil {
		return
	}
	if u, err := url.Parse(key); err == nil {
		a.o.Pace(u, file.Policy(a.crawler).CrawlDelay())
	}
}

// readReferences adds to v the files to which robots.txt, given as file, refers this crawler (P1
// 2.3.2), and then the files that vocabularies need, each once. A stored file is used if it is
// fresh, or, if a vocabulary needs it, as new as robots.txt. readReferences reports whether any file
// was fetched.
func (a *Authority) readReferences(ctx context.Context, key string, file *acap.File, v, held *Version, reread bool) (
	read bool, err error) {
	var policy *acap.Policy // the policy of robots.txt and its permissions references
	files := 0              // number of files for vocabularies
	for _, r := range file.References(a.crawler) {
		if _, known := v.reference(r.URL); known || r.URL == "" || len(v.References)-files == MaxReferences &&
			r.Vocabulary == "" || files == MaxReferences {
			continue
		}
		if r.Vocabulary != "" {
			files++
		}
		d, known := held.reference(r.URL)
		fresh := a.fresh(d) || r.Vocabulary != "" && !d.Fetched.Before(v.Robots.Fetched)
		if known && fresh && !reread {
			v.References = append(v.References, d)
			continue
		}
		if r.Asked {
			if policy == nil {
				policy = a.build(key, file, v).Policy
			}
			d, err = a.readPermitted(ctx, r.URL, d, policy)
		} else {
			d, _, err = a.read(ctx, r.URL, d)
		}
		if read = true; err != nil {
			return read, err
		}
		if r.Vocabulary != "" && d.Err == "" {
			d.Expires = d.Fetched.Add(a.lifetime(r.Vocabulary, d.Text))
		}
		v.References = append(v.References, d)
	}
	return read, nil
}

// lifetime returns how long a file of a vocabulary is used without reading it again with robots.txt; 0
// for a vocabulary without a method Fresh.
func (a *Authority) lifetime(vocabulary string, text []byte) time.Duration {
	for _, v := range a.crawler.Vocabularies {
		if f, ok := v.(interface {
			Fresh(text []byte) time.Duration
		}); ok && v.Name() == vocabulary {
			return f.Fresh(text)
		}
	}
	return 0
}

// readPermitted is like read, but makes no request if the policy prohibits crawling the file.
func (a *Authority) readPermitted(ctx context.Context, rawurl string, held Document, p *acap.Policy) (Document, error) {
	u, err := url.Parse(rawurl)
	if err != nil {
		return Document{}, err
	}
	if d := p.Decide(acap.Crawl, acap.NewResource(u)); !d.Allowed {
		now := a.o.Now().UTC()
		return Document{URL: rawurl, Err: "robots.txt does not permit it: " + d.Why(), Fetched: now, Expires: now}, nil
	}
	d, _, err := a.read(ctx, rawurl, held)
	return d, err
}

// nextVersion returns v as the version to store after held. It adds referenced files of the same
// robots.txt that concern other crawlers. If nothing has changed, it keeps the time Since of held.
func (a *Authority) nextVersion(v, held *Version) *Version {
	next := *v
	next.References = append([]Document(nil), v.References...)
	next.Since = v.Robots.Fetched
	for _, d := range v.References { // a file may have changed after robots.txt was read
		if d.Fetched.After(next.Since) {
			next.Since = d.Fetched
		}
	}
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
	case sameContent(&next, held):
		next.Since = held.Since
	case !next.Since.After(held.Since):
		next.Since = timeAfter(a.o.Now().UTC(), held.Since)
	}
	return &next
}

// sameContent reports whether next and held have the same content. It ignores files that only one
// of the two contains.
func sameContent(next, held *Version) bool {
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

// timeAfter returns t if t is after the time than. Otherwise it returns the earliest time after
// than.
func timeAfter(t, than time.Time) time.Time {
	if t.After(than) {
		return t
	}
	return than.Add(time.Nanosecond)
}

// build returns the origin with the policy that results from the version v, which was read.
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
			r.Err = ErrNotRead
			if len(v.References) >= MaxReferences {
				r.Err = fmt.Errorf("robots.txt refers to more than %d files", MaxReferences)
			}
		case d.Err != "": // P1 2.3.2 (D07): a file that cannot be read prohibits everything
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
		if known && r.Vocabulary == "" && d.Expires.Before(o.Expires) {
			o.Expires = d.Expires
		}
		// if the file of another vocabulary cannot be read, that vocabulary decides what this means
		if r.Final = d.Final; r.Vocabulary == "" {
			r.File = files[r.URL]
			o.Incomplete = o.Incomplete || r.File == nil
		}
		o.References = append(o.References, r)
	}
	o.Policy = file.Policy(a.crawler, o.References...)
	return o
}

// unreachable returns the origin of a robots.txt that could not be read: everything is prohibited
// (RFC 9309 2.3.1.4).
func (a *Authority) unreachable(key string, d Document) *Origin {
	return &Origin{Key: key, Status: Unreachable, HTTP: d.HTTP, Why: d.Err, Policy: acap.Unreachable(robotsURL(key),
		d.Err),
		Fetched: d.Fetched, Expires: d.Expires}
}
