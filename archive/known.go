package archive

import (
	"bytes"
	"context"
)

// Update changes what is known of url, which need not be known before. fn may run more than once, must not panic and must
// not call the archive. First dates once set, and what the archive itself counts, stay as they are. Whoever changes Indexed
// has logged an intent.
func (a *Archive) Update(ctx context.Context, url string, fn func(*Resource)) error {
	if err := checkURL(url); err != nil {
		return err
	}
	return a.do(ctx, 0, func(t *txn) error {
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
	})
}

// Lead notes that requests for from lead to url, whose page is held already (X66). Where nothing is known of url it does nothing.
func (a *Archive) Lead(ctx context.Context, from []string, url string) error {
	for _, alias := range append([]string{url}, from...) {
		if err := checkURL(alias); err != nil {
			return err
		}
	}
	return a.do(ctx, 0, func(t *txn) error {
		if h, err := t.resource(url); err != nil || h.LastCrawled.IsZero() {
			return err
		}
		return t.putAliases(url, from)
	})
}

// putAliases makes each alias lead to url. What has answered itself leads nowhere, so there are no circles.
func (t *txn) putAliases(url string, aliases []string) error {
	if err := t.dropAlias(url); err != nil {
		return err
	}
	for _, alias := range aliases {
		if alias == url {
			continue
		}
		if err := t.dropAlias(alias); err != nil {
			return err
		}
		if err := t.tx.Bucket(bAliases).Put([]byte(alias), frame([]byte(alias), []byte(url))); err != nil {
			return err
		}
		if err := t.tx.Bucket(bAliased).Put(pair(url, alias), nil); err != nil {
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

// putResource writes r over h, with plain as its encoded text. A text that changed gets a new key, and the old one is
// destroyed with the old text.
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
	if err := t.putSources(h.URL, h.Sources, r.Sources); err != nil {
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
