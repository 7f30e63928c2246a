package actions

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/acap"
)

// each calls fn with all pairs of a bucket, in several transactions.
func (v *verifier) each(bucket []byte, fn func(t *txn, k, val []byte) error) error {
	var after []byte
	for done := false; !done; {
		err := v.step(func(t *txn) error {
			c := t.tx.Bucket(bucket).Cursor()
			k, val := c.Seek(after)
			if after != nil && bytes.Equal(k, after) {
				k, val = c.Next()
			}
			for range scanned {
				if done = k == nil; done {
					return nil
				}
				if after != nil && bytes.Compare(k, after) <= 0 {
					return fmt.Errorf("%w: %s is out of order", ErrDamaged, bucket)
				}
				if err := fn(t, k, val); err != nil {
					return err
				}
				after = bytes.Clone(k)
				k, val = c.Next()
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// requests checks that each request is in the chain and in the lists to which it belongs.
func (v *verifier) requests() error {
	return v.each(bRequests, func(t *txn, k, val []byte) error {
		if len(k) != 8 {
			v.found("the requests", "%x is not the ID of a request", k)
			return nil
		}
		id := binary.BigEndian.Uint64(k)
		where := fmt.Sprintf("request %d", id)
		if !v.marks.states.has(id) {
			v.found(where, "no entry of the chain is about it")
		}
		if id > t.tx.Bucket(bRequests).Sequence() {
			v.found(where, "its ID could be used again")
		}
		var r Request
		if err := json.Unmarshal(val, &r); err != nil || r.ID != id {
			v.found(where, "it cannot be read")
			return nil
		}
		switch kept := t.tx.Bucket(bOpen).Get(k); {
		case (kept != nil) != r.open():
			v.found(where, "the list of open requests %s it",
				map[bool]string{true: "should not have", false: "lacks"}[kept != nil])
		case kept != nil && !bytes.Equal(kept, r.brief().bytes()):
			v.found(where, "the list of open requests has other data about it")
		}
		if kept := t.tx.Bucket(bOrigins).Get(under(r.Origin, id)); kept == nil || len(kept) > 0 {
			v.found(where, "the list of its origin lacks it")
		}
		if r.listed() && !bytes.Equal(t.tx.Bucket(bStanding).Get(named(r.Origin, r.Action, r.URL)), k) {
			v.found(where, "the list of requests in force lacks it")
		}
		return nil
	})
}

// listed reports whether r must be in the list of announced requests in force.
func (r *Request) listed() bool {
	return r.announced() && r.Standing && !(r.State == Done && r.Action == acap.ReCrawl)
}

// names checks that every stored name refers to the request that has this name in the chain.
func (v *verifier) names() error {
	return v.each(bNames, func(t *txn, k, val []byte) error {
		r, ok := v.leads(t, k, val)
		if !ok || !v.marks.names.has(r.ID) {
			v.found("the name "+words(k), "it refers to a request other than the chain says")
		}
		return nil
	})
}

// leads returns the request to which a name refers. ok is false if the request does not exist or
// has another name.
func (v *verifier) leads(t *txn, name, id []byte) (r Request, ok bool) {
	if len(id) != 8 {
		return r, false
	}
	r, known, err := t.request(binary.BigEndian.Uint64(id))
	return r, err == nil && known && bytes.Equal(named(r.Origin, r.Action, r.URL), name)
}

// words returns the key of a request in bNames as readable text.
func words(name []byte) string { return string(bytes.ReplaceAll(name, []byte{0}, []byte(" "))) }

// lists checks that the lists of requests contain no wrong entries.
func (v *verifier) lists() error {
	err := v.each(bStanding, func(t *txn, k, val []byte) error {
		if r, ok := v.leads(t, k, val); !ok || !r.listed() {
			v.found("the list of requests in force", "%s does not belong there", words(k))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.step(func(t *txn) error {
		requests := 0
		for _, list := range []struct {
			bucket []byte
			what   string
			want   *int
		}{
			{bRequests, "", nil},
			{bOrigins, "the lists of origins", &requests},
			{bAbout, "the list of entries by request", &v.about},
		} {
			n := t.tx.Bucket(list.bucket).Stats().KeyN
			switch {
			case list.want == nil:
				requests = n
			case n > *list.want:
				v.found(list.what, "%d do not belong there", n-*list.want)
			}
		}
		err := t.tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			if !slices.ContainsFunc(buckets(), func(known []byte) bool { return bytes.Equal(known, name) }) {
				v.found("the file", "it has a list %q, which does not belong to a ledger", name)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return t.tx.Bucket(bOpen).ForEach(func(k, _ []byte) error {
			if len(k) != 8 || t.tx.Bucket(bRequests).Get(k) == nil {
				v.found("the list of open requests", "there is no request %x", k)
			}
			return nil
		})
	})
}

// receipts checks that the chain has an entry about each receipt.
func (v *verifier) receipts() error {
	return v.each(bReceipts, func(_ *txn, k, _ []byte) error {
		if len(k) != 8 || !v.marks.receipts.has(binary.BigEndian.Uint64(k)) {
			v.found("the receipts", "no entry of the chain is about the receipt of request %x", k)
		}
		return nil
	})
}

// credentials checks that the stored credentials and their hashes match the chain.
func (v *verifier) credentials() error {
	return v.step(func(t *txn) error {
		left := map[string]bool{}
		for name := range v.grants {
			left[name] = true
		}
		err := t.tx.Bucket(bGrants).ForEach(func(id, data []byte) error {
			g, err := readGrant(id, data)
			if err != nil || v.grants[g.Name].digest != g.digest(data) {
				v.found(fmt.Sprintf("the credential %q", g.Name), "it is not what the chain says")
			}
			delete(left, g.Name)
			return nil
		})
		for name := range left {
			v.found(fmt.Sprintf("the credential %q", name), "it is missing")
		}
		return err
	})
}

// heard checks that the stored readings match the chain.
func (v *verifier) heard() error {
	return v.each(bHeard, func(t *txn, k, _ []byte) error {
		if h := t.heard(string(k)); h.Sum != "" && h.Sum != v.readings[string(k)].sum {
			v.found("the last reading of "+string(k), "it is not what the chain says")
		}
		return nil
	})
}
