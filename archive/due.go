package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// This file orders the pages by the time when the caller must decide about them again. Every
// transaction that changes what is held of a page lists the page in the bucket bDue with the zero
// time, which means at once. SetDecided takes the page off the list, or lists it with the time of
// its next time limit. A page that is not listed needs no decision until its record or a policy
// changes.
//
// The list is complete for one identity of the caller, which names everything that its decisions
// depend on, except for records, policies and the clock. As long as no identity is recorded,
// nothing is listed, and every page is due.

// Due is a page that must be decided again.
type Due struct {
	URL string
	At  time.Time // since when; zero means since the page has changed
	n   uint64    // number of the change that listed the page
}

// Decided is the result of a decision about a page: nothing that is held of the page has to change
// before Until, as long as neither the page nor one of the policies changes. For is the identity of
// the caller, as for ListAll.
type Decided struct {
	Due      // the list entry because of which the page was decided
	For      string
	Until    time.Time       // zero means no limit
	Policies []PolicyVersion // all policies that were used
}

// dueKey returns the key of a page in bDue: the seconds since year 1, the nanoseconds, the URL.
func dueKey(at time.Time, url string) []byte {
	k := binary.BigEndian.AppendUint64(make([]byte, 0, 12+len(url)), uint64(at.Unix()-time.Time{}.Unix()))
	return append(binary.BigEndian.AppendUint32(k, uint32(at.Nanosecond())), url...)
}

// splitDue decodes a key made by dueKey.
func splitDue(k []byte) (at time.Time, url string, ok bool) {
	if len(k) < 13 {
		return at, "", false
	}
	seconds := int64(binary.BigEndian.Uint64(k)) + time.Time{}.Unix()
	return time.Unix(seconds, int64(binary.BigEndian.Uint32(k[8:]))).UTC(), string(k[12:]), true
}

// The first byte of the record kDecided. The identity follows it.
const (
	listing  = 'l' // ListAll is listing all pages
	complete = 'c' // the list is complete
)

// setDecider replaces the record kDecided.
func (t *txn) setDecider(state byte, identity string) error {
	return t.tx.Bucket(bMeta).Put(kDecided, frame(kDecided, append([]byte{state}, identity...)))
}

// forgetDecider makes every page due.
func (t *txn) forgetDecider() error { return t.tx.Bucket(bMeta).Delete(kDecided) }

// decidesFor reports whether the list is complete for an identity.
func decidesFor(tx *bolt.Tx, identity string) bool {
	got, err := unframe(kDecided, tx.Bucket(bMeta).Get(kDecided))
	return err == nil && len(got) > 0 && got[0] == complete && string(got[1:]) == identity
}

// ListsDue reports whether the list of due pages is complete for an identity. If it is not, every
// page is due.
func (a *Archive) ListsDue(identity string) (lists bool, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		lists = decidesFor(tx, identity)
		return nil
	})
	return lists, err
}

// ListAll lists all pages as due, and records the identity for which SetDecided takes pages off the
// list. It may be interrupted and called again. Calls must not run at the same time.
func (a *Archive) ListAll(ctx context.Context, identity string) error {
	if err := a.do(ctx, 0, func(t *txn) error { return t.setDecider(listing, "") }); err != nil {
		return err
	}
	if err := a.listUnder(ctx, bResources, nil, func(k []byte) string { return string(k) }); err != nil {
		return err
	}
	return a.do(ctx, 0, func(t *txn) error { return t.setDecider(complete, identity) })
}

// listBatch is the number of pages that one transaction lists.
const listBatch = 1024

// listUnder lists as due the pages that url returns for the keys in bucket that begin with prefix.
func (a *Archive) listUnder(ctx context.Context, bucket, prefix []byte, url func(k []byte) string) error {
	for from := append([]byte{}, prefix...); from != nil; {
		var urls []string
		err := a.view(func(tx *bolt.Tx) error {
			c := tx.Bucket(bucket).Cursor()
			k, _ := c.Seek(from)
			for ; bytes.HasPrefix(k, prefix) && k != nil && len(urls) < listBatch; k, _ = c.Next() {
				urls = append(urls, url(k))
			}
			if from = nil; k != nil && bytes.HasPrefix(k, prefix) {
				from = bytes.Clone(k)
			}
			return nil
		})
		if err == nil {
			err = a.List(ctx, urls...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// List lists pages as due at once.
func (a *Archive) List(ctx context.Context, urls ...string) error {
	if len(urls) == 0 {
		return nil
	}
	return a.do(ctx, 0, func(t *txn) error {
		for _, url := range urls {
			if err := t.list(url); err != nil {
				return err
			}
		}
		return nil
	})
}

// list lists a page as due at once, because what is held of it has changed.
func (t *txn) list(url string) error {
	if t.tx.Bucket(bMeta).Get(kDecided) == nil { // every page is due
		return nil
	}
	b := t.tx.Bucket(bDue)
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	return b.Put(dueKey(time.Time{}, url), idKey(n))
}

// ListOrigin lists the pages whose last decision used another version of a policy: those of its
// origin, and those of other origins that SetDecided has noted for it. others reports whether there
// are any of the latter. ListOrigin does nothing if no decision used another version. It may be
// interrupted and called again. Calls must not run at the same time. If the time of the version is
// zero, the version is unknown, and the pages stay due.
func (a *Archive) ListOrigin(ctx context.Context, is PolicyVersion) (others bool, err error) {
	origin := is.Origin
	was, known, err := a.judged(origin)
	if err != nil || !known || was.Equal(is.Since) && !was.IsZero() {
		return false, err
	}
	// the zero time is the time of no version: until all pages are listed, SetDecided has no effect
	// on pages that are decided by this policy
	err = a.do(ctx, 0, func(t *txn) error { return t.setJudged(PolicyVersion{Origin: origin}) })
	if err == nil {
		err = a.listUnder(ctx, bResources, []byte(origin+"/"), func(k []byte) string { return string(k) })
	}
	prefix := under(origin)
	if err == nil {
		err = a.listUnder(ctx, bLeans, prefix, func(k []byte) string {
			others = true
			return string(k[len(prefix):])
		})
	}
	if err == nil {
		err = a.do(ctx, 0, func(t *txn) error { return t.setJudged(is) })
	}
	return others, err
}

// EachDue calls fn for the pages whose URLs begin with prefix and that are due at a time, until fn
// returns an error. Pages that have changed come first, then those with the earliest times. fn may
// call the archive. A page may be listed twice.
func (a *Archive) EachDue(prefix string, at time.Time, fn func(Due) error) error {
	changed := dueKey(time.Time{}, prefix)
	err := a.eachDue(changed, append(changed[:len(changed):len(changed)], 0xff), prefix, fn) // no URL contains 0xff
	if err != nil {
		return err
	}
	// the first key after those of the given time
	end := binary.BigEndian.AppendUint32(dueKey(at, "")[:8], uint32(at.Nanosecond())+1)
	return a.eachDue(dueKey(time.Time{}.Add(1), ""), end, prefix, fn)
}

// eachDue calls fn for the entries whose keys are between from and to and whose URLs begin with
// prefix.
func (a *Archive) eachDue(from, to []byte, prefix string, fn func(Due) error) error {
	for from != nil {
		var list []Due
		err := a.view(func(tx *bolt.Tx) error {
			c := tx.Bucket(bDue).Cursor()
			k, v := c.Seek(from)
			for ; k != nil && bytes.Compare(k, to) < 0 && len(list) < batch; k, v = c.Next() {
				if at, url, ok := splitDue(k); ok && strings.HasPrefix(url, prefix) {
					list = append(list, Due{url, at, number(v)})
				}
			}
			if from = nil; k != nil && bytes.Compare(k, to) < 0 {
				from = bytes.Clone(k)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, d := range list {
			if err := fn(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// DueSince returns the entry of a page that is due because it has changed. is is false if there is
// none.
func (a *Archive) DueSince(url string) (d Due, is bool, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		value := tx.Bucket(bDue).Get(dueKey(time.Time{}, url))
		d, is = Due{URL: url, n: number(value)}, value != nil
		return nil
	})
	return d, is, err
}

// Lists reports whether the list of due pages contains a page, either with the zero time or with
// the time at.
func (a *Archive) Lists(url string, at time.Time) (lists bool, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bDue)
		lists = b.Get(dueKey(time.Time{}, url)) != nil || b.Get(dueKey(at, url)) != nil
		return nil
	})
	return lists, err
}

// Leaning returns the pages of other origins that the policy of an origin has decided at some time.
func (a *Archive) Leaning(origin string) (list []string, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		list = others(tx.Bucket(bLeans), origin)
		return nil
	})
	return list, err
}

// SetDecided takes pages off the list of due pages, after they were decided. A page with a limit is
// listed again with this limit. A page stays due if it has changed since EachDue returned it, or if
// ListAll or ListOrigin was called with another identity or version of a policy.
func (a *Archive) SetDecided(ctx context.Context, pages ...Decided) error {
	if len(pages) == 0 {
		return nil
	}
	return a.do(ctx, 0, func(t *txn) error {
		for _, p := range pages {
			k := dueKey(p.At, p.URL)
			if !bytes.Equal(t.tx.Bucket(bDue).Get(k), idKey(p.n)) || !t.agrees(&p) {
				continue
			}
			if err := t.tx.Bucket(bDue).Delete(k); err != nil {
				return err
			}
			if err := t.listUntil(&p); err != nil {
				return err
			}
		}
		return nil
	})
}

// listNew lists a page that was not known before, unless decided, which may be nil, says until when
// the page needs no decision.
func (t *txn) listNew(url string, decided *Decided) error {
	if decided == nil || !t.agrees(decided) {
		return t.list(url)
	}
	return t.listUntil(decided)
}

// agrees reports whether p was decided for the identity and the versions of policies for which the
// list is kept.
func (t *txn) agrees(p *Decided) bool {
	if !decidesFor(t.tx.Tx, p.For) {
		return false
	}
	for _, v := range p.Policies {
		k, was := []byte(v.Origin), time.Time{}
		value := t.tx.Bucket(bJudged).Get(k)
		if v.Since.IsZero() || value != nil && (unpack(k, value, &was) != nil || !was.Equal(v.Since)) {
			return false
		}
	}
	return true
}

// listUntil lists the limit of a decision, and notes the policies that were used. If no version of
// a policy is noted yet, no page that is decided by the policy is off the list.
func (t *txn) listUntil(p *Decided) error {
	for _, v := range p.Policies {
		if t.tx.Bucket(bJudged).Get([]byte(v.Origin)) == nil {
			if err := t.setJudged(v); err != nil {
				return err
			}
		}
		lean := pair(v.Origin, p.URL)
		if !strings.HasPrefix(p.URL, v.Origin+"/") && t.tx.Bucket(bLeans).Get(lean) == nil {
			if err := t.tx.Bucket(bLeans).Put(lean, nil); err != nil {
				return err
			}
		}
	}
	if p.Until.IsZero() {
		return nil
	}
	return t.tx.Bucket(bDue).Put(dueKey(p.Until, p.URL), idKey(0))
}

// due checks an entry of the list of due pages: it must name a known page.
func (v *verifier) due(k, value []byte) {
	_, url, ok := splitDue(k)
	if ok && len(value) == 8 && v.tx.Bucket(bResources).Get([]byte(url)) != nil {
		return
	}
	k = bytes.Clone(k)
	v.find(fmt.Sprintf("the list entry %q", k), "names no page", func(t *txn) (string, error) {
		return "removed", t.tx.Bucket(bDue).Delete(k)
	})
}

// lean checks an entry of the list of pages that were decided by the policy of another origin.
func (v *verifier) lean(k, _ []byte) {
	_, url, ok := bytes.Cut(k, []byte{0})
	if ok && v.tx.Bucket(bResources).Get(url) != nil {
		return
	}
	k = bytes.Clone(k)
	v.find(fmt.Sprintf("the list entry %q", k), "names no page", func(t *txn) (string, error) {
		return "removed", t.tx.Bucket(bLeans).Delete(k)
	})
}

// decider checks the record that says for whom the list of due pages is complete. Without the
// record every page is due.
func (v *verifier) decider() {
	value := v.tx.Bucket(bMeta).Get(kDecided)
	if _, err := unframe(kDecided, value); value != nil && err != nil {
		v.find("archive.db", "does not say who has decided about its pages", func(*txn) (string, error) {
			return "all are decided again", nil // because every repair calls forgetDecider
		})
	}
}

// Preview returns what Receive stores of d if nothing is known about its URL: the record of the
// page, and its capture if there is one.
func (d *Deposit) Preview() (r Resource, captures []Capture) {
	r = d.crawled(Resource{URL: d.Resource.URL}, d.Body != nil)
	if d.Body != nil {
		r.Versions, r.Current = 1, 1
		captures = []Capture{{ID: 1, URL: r.URL, Version: 1, Fetched: d.Fetched, Status: d.Resource.Status,
			MIME: d.Resource.MIME, Bytes: int64(len(d.Body)), Truncated: d.Truncated, Cut: d.Cut, Current: true,
			Policy: d.Policy, Own: d.Resource.Own}}
	}
	return r, captures
}
