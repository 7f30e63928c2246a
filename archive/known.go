package archive

import (
	"bytes"
	"context"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Update changes what is known of url, which need not be known before. fn may run more than once,
// must not panic and must not call the archive. First dates once set, and what the archive itself
// counts, stay as they are. Whoever changes Indexed has logged an intent.
func (a *Archive) Update(ctx context.Context, url string, fn func(*Resource)) error {
	return a.UpdateAll(ctx, []string{url}, fn)
}

// UpdateAll is Update for each of urls, in one transaction: all are changed or none.
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

// Lead notes that requests for from lead, each to the next and the last to url: to a page that is
// held already, or to what led to one (X66). Where that is not known, or leads back to them, it
// does nothing.
func (a *Archive) Lead(ctx context.Context, from []string, url string) error {
	for _, alias := range append([]string{url}, from...) {
		if err := checkURL(alias); err != nil {
			return err
		}
	}
	return a.do(ctx, 0, func(t *txn) error {
		way, circle, err := wayFrom(t.tx, url)
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

// Mislead notes that requests for from lead to nothing that is held, whatever they led to before.
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

// Aliases gives the URLs that lead to url, through others too (X66).
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

// putAliases makes each alias lead to the next, and the last to url, which leads to none of them.
// What answered twice leads where it did last, so there are no circles.
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

// held is a resource as the transaction found it.
type held struct {
	Resource
	known  bool
	rec    resourceRecord
	plain  []byte // its text, as it was sealed
	sealed []byte
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

// putResource writes r over h, with plain as its encoded text. A text that changed gets a new key,
// and the old one is destroyed with the old text.
func (t *txn) putResource(h held, r Resource, plain []byte) error {
	if h.Indexed && !r.Indexed { // its words are in the index until that is compacted
		if err := t.erased(); err != nil {
			return err
		}
	}
	slot, sealed := h.rec.Key, h.sealed
	if !bytes.Equal(plain, h.plain) {
		if err := t.doom(slot); err != nil {
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
	value, err := packSealed([]byte(h.URL), r.record(slot), sealed)
	if err != nil {
		return err
	}
	return t.tx.Bucket(bResources).Put([]byte(h.URL), value)
}
