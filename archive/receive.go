package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/coding"
)

// longestURL is set by what bbolt takes as a key, less the longest ending of ours.
const longestURL = 16 << 10

// Deposit is what one fetch hands over.
type Deposit struct {
	Resource  Resource  // URL, Status and what the page says; of its dates only the first ones count, and only while none is held
	Fetched   time.Time // must be set
	Body      []byte    // what is kept of the body, decoded; nil: nothing, and no capture is made
	Wire      []byte    // the body as sent; nil: Body
	Encoding  string    // the content codings that lead from Body to Wire, in the order applied; "" for none
	Truncated bool
	Cut       bool // parts that may not be kept were cut out of Body
	Past      bool // a capture of the past: where the URL was crawled later, it is no current version, and what is known stays
	Header    http.Header
	Sent      []byte // heads of request and response, as in a Capture
	Head      []byte
	Hops      []Hop // earlier hops that led here
	Policy    PolicyVersion
	Decided   map[acap.Usage]string // the line that decided, by usage
	Aliases   []string              // URLs that lead to this one from now on (X66)
	Index     bool                  // the index is to hold it: an intent is logged
	Replace   bool                  // earlier versions are erased in the same transaction, without a tombstone (until-recrawled, P1 2.5.3.1)
}

// Receive keeps a deposit. When it returns without error, everything is on disk; otherwise nothing is kept. First dates that
// are neither known nor given are set to Fetched: crawled always, preserved with a body, indexed with Index. The Capture is
// zero if there was no body. An intent is logged if the index is to hold the page, or held it. Bytes and maps must not
// be changed before Receive returns. Bytes as sent that do not give the body again, because a server broke them off, are not kept:
// then the body stands for them.
func (a *Archive) Receive(ctx context.Context, d Deposit) (Capture, error) {
	if err := checkURL(d.Resource.URL); err != nil {
		return Capture{}, err
	}
	if d.Fetched.IsZero() {
		return Capture{}, fmt.Errorf("the deposit of %s does not say when it was fetched", d.Resource.URL)
	}
	for _, alias := range d.Aliases {
		if err := checkURL(alias); err != nil {
			return Capture{}, err
		}
	}
	b, err := a.prepare(&d)
	if err != nil {
		return Capture{}, err
	}
	defer a.pack.reuse(b.packed)
	var c Capture
	err = a.do(ctx, len(b.packed), func(t *txn) (err error) {
		c, err = t.receive(&d, b)
		return err
	})
	if err != nil {
		return Capture{}, err
	}
	return c, nil
}

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

func checkURL(url string) error {
	switch {
	case url == "" || strings.IndexByte(url, 0) >= 0 || !utf8.ValidString(url):
		return fmt.Errorf("%q is not a URL", url)
	case len(url) > longestURL:
		return fmt.Errorf("the URL %.60s… has %d bytes; the archive takes %d", url, len(url), longestURL)
	}
	return nil
}

// body is a body on its way to the file, and the texts that go with it.
type body struct {
	wire     []byte // the bytes as sent
	sum      []byte // their digest
	encoding string // what leads from the deposit's body to them
	digest   string // of the deposit's body
	packed   []byte // while codec is not noCodec
	codec    codec
	capture  []byte // captureText, packed
	resource []byte // resourceText, encoded; nil if there is none
}

// prepare does in the caller's goroutine what needs no transaction. A body that the archive has already is not packed.
func (a *Archive) prepare(d *Deposit) (*body, error) {
	b := &body{codec: noCodec}
	var err error
	if b.resource, err = d.Resource.text().encode(); err != nil {
		return nil, fmt.Errorf("the deposit of %s cannot be encoded: %w", d.Resource.URL, err)
	}
	if d.Body == nil {
		return b, nil
	}
	if err := a.measure(d, b); err != nil {
		return nil, err
	}
	plain, err := textOf(d).plain()
	if err != nil {
		return nil, fmt.Errorf("the deposit of %s cannot be encoded: %w", d.Resource.URL, err)
	}
	b.capture = packText(a.pack, plain)
	held := false
	err = a.view(func(tx *bolt.Tx) error {
		held = tx.Bucket(bDigests).Get(b.sum) != nil
		return nil
	})
	if err == nil && !held {
		b.packed, b.codec = a.pack.pack(b.wire, b.encoding != "")
	}
	return b, err
}

// measure finds out what bytes are kept of the body of d, and names them.
func (a *Archive) measure(d *Deposit, b *body) error {
	sum := sha256.Sum256(d.Body)
	b.wire, b.sum, b.digest = d.Body, sum[:], digestText(sum[:])
	if d.Wire == nil || d.Cut || len(d.Wire) == len(d.Body) && bytes.Equal(d.Wire, d.Body) {
		return nil
	}
	codings := coding.List(d.Encoding)
	if err := coding.Check(codings); err != nil || len(codings) == 0 {
		return fmt.Errorf("the deposit of %s was sent in other bytes than its body, and %q does not lead to them", d.Resource.URL, d.Encoding)
	}
	if d.Truncated || len(codings) > 1 { // what a broken stream gives depends on where its limits were
		if again, _ := a.pack.coding.Undo(d.Wire, codings, int64(len(d.Body))); !bytes.Equal(again, d.Body) {
			return nil
		}
	}
	sum = sha256.Sum256(d.Wire)
	b.wire, b.sum, b.encoding = d.Wire, sum[:], coding.Join(codings)
	return nil
}

func (t *txn) receive(d *Deposit, b *body) (Capture, error) {
	url := d.Resource.URL
	h, err := t.resource(url)
	if err != nil {
		return Capture{}, err
	}
	if d.Past && h.LastCrawled.After(d.Fetched) {
		return t.receivePast(d, b, h)
	}
	if d.Replace {
		if _, err := t.eraseVersions(url, h.Current); err != nil {
			return Capture{}, err
		}
		h.Current = 0
	}
	r := d.crawled(h.Resource, d.Body != nil)
	if d.Past {
		r.since(d, t.a.now())
	}
	if err := t.supersede(&r); err != nil {
		return Capture{}, err
	}
	var c Capture
	if d.Body != nil {
		r.Versions++
		if c, err = t.putCapture(d, b, r.Versions); err != nil {
			return Capture{}, err
		}
		r.Current, c.Current = c.ID, true
	}
	return c, t.note(h, r, d.Aliases, d.Index || h.Indexed, b.resource)
}

// crawled is what is known of the resource after d, where before was known before it.
func (d *Deposit) crawled(before Resource, preserved bool) Resource {
	r := d.Resource
	r.LastCrawled, r.Indexed = d.Fetched, d.Index
	r.keep(before)
	setOnce(&r.FirstCrawled, d.Fetched, true)
	setOnce(&r.FirstIndexed, d.Fetched, d.Index && !d.Past)
	setOnce(&r.FirstPreserved, d.Fetched, preserved)
	return r
}

// note writes what is known of a resource now, and an intent where the index must make its entry anew.
func (t *txn) note(h held, r Resource, aliases []string, entry bool, text []byte) error {
	if entry {
		if err := t.intend(r.URL); err != nil {
			return err
		}
	}
	if err := t.putAliases(r.URL, aliases); err != nil {
		return err
	}
	return t.putResource(h, r, text)
}

func setOnce(date *time.Time, at time.Time, now bool) {
	if now && date.IsZero() {
		*date = at
	}
}

func (t *txn) putCapture(d *Deposit, b *body, version int) (Capture, error) {
	bucket := t.tx.Bucket(bCaptures)
	id, err := bucket.NextSequence()
	if err != nil {
		return Capture{}, err
	}
	if err := t.refer(b); err != nil {
		return Capture{}, err
	}
	rec := captureRecord{URL: d.Resource.URL, Version: version, Fetched: utc(d.Fetched), Status: d.Resource.Status, Digest: b.digest,
		Bytes: int64(len(d.Body)), Encoding: b.encoding, Truncated: d.Truncated, Cut: d.Cut}
	if b.encoding != "" {
		rec.Payload = digestText(b.sum)
	}
	k := idKey(id)
	sealed, slot, err := t.seal(ofCapture(k), b.capture, nil)
	if err != nil {
		return Capture{}, err
	}
	rec.Key = slot
	value, err := packSealed(k, rec, sealed)
	if err != nil {
		return Capture{}, err
	}
	if err := bucket.Put(k, value); err != nil {
		return Capture{}, err
	}
	t.counts.Captures++
	t.counts.Bytes += uint64(rec.Bytes)
	c := Capture{ID: id, URL: rec.URL, Version: version, Fetched: rec.Fetched, Status: rec.Status, MIME: d.Resource.MIME,
		Digest: rec.Digest, Bytes: rec.Bytes, Payload: rec.payload(), Encoding: rec.Encoding, Truncated: rec.Truncated, Cut: rec.Cut,
		Header: d.Header, Sent: d.Sent, Head: d.Head, Hops: d.Hops, Policy: d.Policy.utc(), Own: d.Resource.Own, Decided: d.Decided}
	return c, nil
}

// supersede lists the current capture of r among the earlier ones.
func (t *txn) supersede(r *Resource) error {
	if r.Current == 0 {
		return nil
	}
	rec, _, err := t.a.captureRecord(t.tx, r.Current)
	if err != nil {
		return err
	}
	k := idKey(r.Current)
	r.Current = 0
	return t.tx.Bucket(bEarlier).Put(versionKey(rec.URL, rec.Version), k)
}

// refer counts one more reference to a body, and stores it if it is the first.
func (t *txn) refer(b *body) error {
	digests := t.tx.Bucket(bDigests)
	if value := digests.Get(b.sum); value != nil {
		rec, err := unpackBody(b.sum, value)
		if err != nil {
			return t.a.damaged("the record of body "+digestText(b.sum), err)
		}
		rec.Refs++
		return digests.Put(b.sum, rec.pack(b.sum))
	}
	if b.codec == noCodec { // it was held when the caller looked and has been erased since, or this is done again
		b.packed, b.codec = t.a.pack.pack(b.wire, b.encoding != "")
	}
	how := b.codec
	b.codec = noCodec
	sealed, slot, err := t.seal(ofBody(b.sum), b.packed, b.packed[:0])
	if err != nil {
		return err
	}
	id, err := t.tx.Bucket(bBodies).NextSequence()
	if err != nil {
		return err
	}
	if err := t.putBody(id, sealed); err != nil {
		return err
	}
	rec := bodyRecord{ID: id, Key: slot, Refs: 1, Raw: uint64(len(b.wire)), Stored: uint64(len(sealed)), Codec: how}
	t.counts.Bodies++
	t.counts.Raw += rec.Raw
	t.counts.Stored += rec.Stored
	return digests.Put(b.sum, rec.pack(b.sum))
}

// seal seals plain with a fresh key and says in which slot that is. What it makes is appended to out, which may be the place
// of plain itself.
func (t *txn) seal(belongs string, plain, out []byte) ([]byte, uint64, error) {
	slot, k, err := t.take()
	if err != nil {
		return nil, 0, err
	}
	sealed, err := seal(k, belongs, plain, out)
	return sealed, slot, err
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
	if !h.known {
		t.counts.Resources++
	}
	value, err := packSealed([]byte(h.URL), r.record(slot), sealed)
	if err != nil {
		return err
	}
	return t.tx.Bucket(bResources).Put([]byte(h.URL), value)
}
