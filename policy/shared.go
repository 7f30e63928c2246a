package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Shared holds the records of origins that several machines have. Each origin is read by one machine at a time.
type Shared interface {
	// Newest returns the record of an origin that was stored last by any machine, and a mark of it; the mark is 0 if
	// there is none. The record is zero if it cannot be read.
	Newest(ctx context.Context, origin string) (r Record, mark uint64, err error)
	// Replace stores r as the newest record of an origin, and returns when it is durable. mark is the mark of the
	// record that is replaced. The error is ErrOvertaken if that is not the newest one.
	Replace(ctx context.Context, origin string, r Record, mark uint64) error
}

// ErrOvertaken means that another machine has read a policy at the same time.
var ErrOvertaken = errors.New("another machine has read the policy at the same time")

// content is a record with the texts of its files.
type content struct {
	Record
	Texts map[string][]byte // by digest
}

// Encode returns r with the texts of its files, for DecodeRecord.
func (r Record) Encode() ([]byte, error) {
	c := content{r, map[string][]byte{}}
	if r.Held != nil {
		for _, d := range r.Held.documents() {
			if d.Digest != "" {
				c.Texts[d.Digest] = d.Text
			}
		}
	}
	return json.Marshal(c)
}

// DecodeRecord returns the record that Encode has encoded.
func DecodeRecord(text []byte) (Record, error) {
	var c content
	if err := json.Unmarshal(text, &c); err != nil {
		return Record{}, err
	}
	if c.Held == nil {
		return c.Record, nil
	}
	for _, d := range c.Held.documents() {
		if d.Digest == "" {
			continue
		}
		if d.Text = c.Texts[d.Digest]; digest(d.Text) != d.Digest {
			return Record{}, fmt.Errorf("the text of %s does not match its digest", d.URL)
		}
	}
	return c.Record, nil
}

// Adopt stores the record of an origin that another machine has read. A record that is not newer than the stored one
// changes nothing.
func (a *Authority) Adopt(key string, r Record) error {
	a.saving.Lock()
	defer a.saving.Unlock()
	own, known, err := a.store.Load(key)
	if err != nil || known && !r.newer(own) {
		return err
	}
	return a.saveLocked(key, r)
}

// newer reports whether r must replace the record own. The versions that Shared holds one after the other have
// increasing times.
func (r Record) newer(own Record) bool {
	switch {
	case own.Held == nil && r.Held == nil:
	case own.Held == nil || r.Held == nil:
		return own.Held == nil
	case !r.Held.Since.Equal(own.Held.Since):
		return r.Held.Since.After(own.Held.Since)
	}
	return r.Last.Fetched.After(own.Last.Fetched)
}

// Knows reports whether a record of the origin is stored, or whether the origin is being read at the moment.
func (a *Authority) Knows(key string) (bool, error) {
	a.mu.Lock()
	reading := a.flights[key] != nil
	a.mu.Unlock()
	if reading {
		return true, nil
	}
	_, known, err := a.store.Load(key)
	return known, err
}

// OriginOf returns the origin with the policy of the version in r. It returns nil if no version was ever read.
func (a *Authority) OriginOf(key string, r Record) *Origin {
	if r.Held == nil {
		return nil
	}
	return a.build(key, parse(key, r.Held.Robots), r.Held)
}

// latest returns the stored record of an origin, and the mark of the record that Shared has. If that one is newer, it
// is stored first.
func (a *Authority) latest(ctx context.Context, key string) (rec Record, mark uint64, err error) {
	if a.o.Shared != nil {
		shared, m, err := a.o.Shared.Newest(ctx, key)
		if err != nil {
			return rec, 0, err
		}
		if mark = m; shared.Last.URL != "" {
			if err := a.Adopt(key, shared); err != nil {
				return rec, 0, err
			}
		}
	}
	rec, _, err = a.store.Load(key)
	return rec, mark, err
}

// share stores the result of reading an origin. With Shared, all machines have it before. v is the version that was
// read; nil if robots.txt is unreachable, as last says. It returns what is stored: if another machine has read the
// policy later, that is its record.
func (a *Authority) share(ctx context.Context, key string, last Document, v *Version, rec Record, mark uint64) (Record,
	error) {
	for {
		next := Record{Last: last, Held: rec.Held}
		if v != nil {
			next.Held = a.nextVersion(v, rec.Held)
		}
		if a.o.Shared == nil {
			return next, a.save(key, next)
		}
		err := a.o.Shared.Replace(ctx, key, next, mark)
		if err == nil {
			return next, a.save(key, next)
		}
		if !errors.Is(err, ErrOvertaken) {
			return next, err
		}
		before := mark
		if rec, mark, err = a.latest(ctx, key); err != nil {
			return rec, err
		}
		if mark == before {
			return rec, fmt.Errorf("the policy of %s cannot be stored for the other machines", key)
		}
		if !rec.Last.Fetched.Before(last.Fetched) {
			return rec, nil
		}
	}
}

// conclude stores the result of reading an origin like share, and returns the origin. file is the parsed robots.txt of
// v.
func (a *Authority) conclude(ctx context.Context, key string, file *acap.File, last Document, v *Version, rec Record,
	mark uint64) (*Origin, error) {
	is, err := a.share(ctx, key, last, v, rec, mark)
	switch {
	case err != nil:
		return nil, err
	case is.Last.Status() == Unreachable || is.Held == nil:
		return a.unreachable(key, is.Last), nil
	case v == nil || !is.Held.Robots.Fetched.Equal(v.Robots.Fetched): // it is what another machine has read
		return a.OriginOf(key, is), nil
	}
	v.Since = is.Held.Since
	return a.build(key, file, v), nil
}
