package archive

import (
	"bytes"
	"context"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Update calls fn to change the resource of url. If the resource does not exist, Update creates it.
// fn may run more than once, must not panic and must not call the archive. Update changes neither
// first dates that are set nor fields that the archive sets. If fn changes Indexed, Update logs an
// intent, and the caller must call Done after updating the index.
func (a *Archive) Update(ctx context.Context, url string, fn func(*Resource)) error {
	return a.UpdateAll(ctx, []string{url}, fn)
}

// UpdateAll is like Update for each of urls. One transaction changes either all of them or none.
func (a *Archive) UpdateAll(ctx context.Context, urls []string, fn func(*Resource)) error {
	for _, url := range urls {
		if err := checkURL(url); err != nil {
			return err
		}
	}
	return a.do(ctx, 0, func(t *txn) error {
		for _, url := range urls {
			if err := t.update(url, fn); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *txn) update(url string, fn func(*Resource)) error {
	h, err := t.resource(url)
	if err != nil {
		return err
	}
	r := h.Resource
	fn(&r)
	r.keep(h.Resource)
	if r.Indexed != h.Indexed {
		if err := t.intend(url); err != nil {
			return err
		}
	}
	text, err := r.text().encode()
	if err != nil {
		return err
	}
	return t.putResource(h, r, text)
}

// Lead stores a redirect chain: each URL in from redirects to the next URL, and the last URL
// redirects to url (X66). It does nothing if url is neither a known page nor an alias of a known
// page, or if url itself redirects to one of the URLs in from.
func (a *Archive) Lead(ctx context.Context, from []string, url string) error {
	for _, alias := range append([]string{url}, from...) {
		if err := checkURL(alias); err != nil {
			return err
		}
	}
	return a.do(ctx, 0, func(t *txn) error {
		way, circle, err := wayFrom(t.tx.Tx, url)
		switch {
		case errors.Is(err, errWay):
			return nil
		case err != nil:
			return t.a.damaged("the alias "+way[len(way)-1], err)
		case circle || slices.ContainsFunc(way, func(u string) bool { return u != url && slices.Contains(from, u) }):
			return nil
		}
		if h, err := t.resource(way[len(way)-1]); err != nil || h.LastCrawled.IsZero() {
			return err
		}
		return t.putAliases(url, from)
	})
}

// Mislead stores that the URLs in from no longer redirect to anything that is held.
func (a *Archive) Mislead(ctx context.Context, from []string) error {
	for _, alias := range from {
		if err := checkURL(alias); err != nil {
			return err
		}
	}
	return a.do(ctx, 0, func(t *txn) error {
		for _, alias := range from {
			if err := t.dropAlias(alias); err != nil {
				return err
			}
		}
		return nil
	})
}

// Aliases returns the URLs that redirect to url, directly or through other URLs (X66).
func (a *Archive) Aliases(url string) (all []string, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		all = nil
		for todo := []string{url}; len(todo) > 0; todo = todo[1:] {
			from := aliasesOf(tx, todo[0])
			all, todo = append(all, from...), append(todo, from...)
		}
		return nil
	})
	return all, err
}

// putAliases stores a redirect chain: each alias redirects to the next alias, and the last alias
// redirects to url. It removes url itself from aliases. If an alias occurs twice, putAliases
// ignores all occurrences except the last, so that no circle is made.
func (t *txn) putAliases(url string, aliases []string) error {
	for i, alias := range aliases {
		to := url
		if i+1 < len(aliases) {
			to = aliases[i+1]
		}
		if alias == url || alias == to {
			continue
		}
		if err := t.dropAlias(alias); err != nil {
			return err
		}
		if err := t.tx.Bucket(bAliases).Put([]byte(alias), frame([]byte(alias), []byte(to))); err != nil {
			return err
		}
		if err := t.tx.Bucket(bAliased).Put(pair(to, alias), nil); err != nil {
			return err
		}
		t.counts.Aliases++
	}
	return nil
}

func (t *txn) dropAlias(alias string) error {
	aliases := t.tx.Bucket(bAliases)
	value := aliases.Get([]byte(alias))
	if value == nil {
		return nil
	}
	url, err := unframe([]byte(alias), value)
	if err != nil {
		return t.a.damaged("the alias "+alias, err)
	}
	if err := t.tx.Bucket(bAliased).Delete(pair(string(url), alias)); err != nil {
		return err
	}
	t.counts.Aliases--
	return aliases.Delete([]byte(alias))
}

// held is a resource as it was stored before the transaction changes it.
type held struct {
	Resource
	known  bool
	rec    resourceRecord
	plain  []byte // encoded text of the resource before sealing
	sealed []byte

	decided *Decided // Deposit.Limit, if the page was received
}

func (t *txn) resource(url string) (held, error) {
	h := held{Resource: Resource{URL: url}}
	value := t.tx.Bucket(bResources).Get([]byte(url))
	if value == nil {
		return h, nil
	}
	h.known = true
	sealed, err := unpackSealed([]byte(url), value, &h.rec)
	if err != nil {
		return h, t.a.damaged("the record of "+url, err)
	}
	h.sealed = bytes.Clone(sealed)
	var text resourceText
	if h.plain, err = t.a.text(ofResource([]byte(url)), h.rec.Key, sealed, &text); err != nil {
		return h, t.a.damaged("the record of "+url, err)
	}
	h.Resource = resourceOf(url, h.rec, text)
	return h, nil
}

// putResource replaces the resource h with r. plain is the encoded text of r. If the text has
// changed, putResource seals it with a new key, and the old key is destroyed.
func (t *txn) putResource(h held, r Resource, plain []byte) error {
	if h.Indexed && !r.Indexed { // the index files still contain words of the page until the index is compacted
		if err := t.erased(); err != nil {
			return err
		}
	}
	slot, sealed := h.rec.Key, h.sealed
	if !bytes.Equal(plain, h.plain) {
		if err := t.condemnKey(slot); err != nil {
			return err
		}
		slot, sealed = 0, nil
		if plain != nil {
			var err error
			if sealed, slot, err = t.seal(ofResource([]byte(h.URL)), plain, nil); err != nil {
				return err
			}
		}
	}
	if err := t.putSources(h.URL, h.Kept.Sources(), r.Kept.Sources()); err != nil {
		return err
	}
	if !h.known {
		t.counts.Resources++
	}
	b, k := t.tx.Bucket(bResources), []byte(h.URL)
	value, err := packSealed(k, r.record(slot), sealed)
	if err != nil || bytes.Equal(b.Get(k), value) {
		return err
	}
	if h.known {
		err = t.list(h.URL)
	} else {
		err = t.listNew(h.URL, h.decided)
	}
	return errors.Join(err, b.Put(k, value))
}

// Shared reports whether several references lead to the stored body with the given digest: captures that have it
// as their body as sent or as their rendered document.
func (a *Archive) Shared(digest string) (shared bool, err error) {
	sum, err := digestBytes(digest)
	if err != nil {
		return false, err
	}
	err = a.view(func(tx *bolt.Tx) error {
		value := tx.Bucket(bDigests).Get(sum)
		if value == nil {
			return nil
		}
		rec, err := unpackBody(sum, value)
		if err != nil {
			return a.damaged("the record of body "+digest, err)
		}
		shared = rec.Refs > 1
		return nil
	})
	return shared, err
}

// Erasures returns a number that increases whenever something is erased, also without a tombstone.
func (a *Archive) Erasures() uint64 { return a.erasings.Load() }
