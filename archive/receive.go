package archive

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/coding"
)

// longestURL follows from the maximal key size of bbolt, minus the longest suffix that this package
// adds.
const longestURL = 16 << 10

// Deposit is the result of one fetch.
type Deposit struct {
	// Resource contains the URL, the status and the statements of the page. Each of its first dates
	// is used only if the archive does not have that date yet.
	Resource Resource
	Fetched  time.Time     // time of the fetch; must be set
	Body     []byte        // decoded body to store; nil: no body, and no capture is made
	Wire     []byte        // the body as sent; nil: equal to Body
	Encoding string        // content codings of Wire, in the order applied; "" for none
	Undone   coding.Undone // result of decoding Wire to Body, if known; avoids decoding again
	// the document after its scripts ran, as UTF-8 HTML; nil: none. It is stored only together with
	// Body, and not for a redirect
	Rendered  []byte
	Truncated bool
	Cut       bool // parts that may not be kept were cut out of Body or Rendered
	// Past marks an imported capture. If the URL was crawled later, the capture does not become
	// current and the resource does not change.
	Past    bool
	Header  http.Header
	Address netip.Addr // address of the server, as in Capture
	Sent    []byte     // heads of request and response, as in Capture
	Head    []byte
	Hops    []Via // earlier requests of the redirect chain
	Policy  PolicyVersion
	Decided map[acap.Usage]string // by usage: the line that decided
	// each element is a clause that names a part that was too large to be kept, read or indexed
	Cuts    []string
	Aliases []string // redirect chain to this URL: each alias now redirects to the next (X66)
	Index   bool     // the page should be in the index: Receive logs an intent
	Stays   bool     // the index entry stays unchanged: Receive logs no intent
	Picture *Picture // thumbnail that cannot be made from a copy; nil: none
	// Replace erases the earlier versions in the same transaction, without a tombstone
	// (until-recrawled, P1 2.5.3.1).
	Replace bool

	// Limit says until when the page needs no decision, in the state that Preview returns. It is
	// used only if nothing is known about the URL yet; nil: the page is due.
	Limit *Decided
}

// Receive stores a deposit. It returns nil after everything is on disk; after an error nothing is
// stored. First dates that are neither stored nor given are set to Fetched: Crawled always,
// Preserved if there is a body, Indexed if Index is set. The Capture is zero if there was no body.
// If the page should be or was in the index, Receive logs an intent. The caller must not change
// slices and maps of d before Receive returns. A redirect (status 3xx) never becomes the current
// version, and changes only dates in the resource. If decoding Wire does not give Body, for example
// because the server broke the connection, only Body is stored.
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
	p, err := a.prepare(&d)
	if err != nil {
		return Capture{}, err
	}
	defer func() {
		for _, b := range p.bodies() {
			a.pack.reuse(b.packed)
		}
	}()
	var c Capture
	err = a.do(ctx, p.size(), func(t *txn) (err error) {
		c, err = t.receive(&d, p)
		return err
	})
	if err != nil {
		return Capture{}, err
	}
	if c.ID != 0 {
		a.stored(c.URL)
	}
	return c, nil
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

func (t *txn) receive(d *Deposit, p *prepared) (Capture, error) {
	url := d.Resource.URL
	h, err := t.resource(url)
	if err != nil {
		return Capture{}, err
	}
	h.decided = d.Limit
	if d.Body != nil && redirects(d.Resource.Status) {
		return t.receiveRedirect(d, p, h)
	}
	if d.Past && h.LastCrawled.After(d.Fetched) {
		return t.receivePast(d, p, h)
	}
	if d.Replace {
		if err := t.replace(d, h.Current); err != nil {
			return Capture{}, err
		}
		h.Current = 0
	}
	r := d.crawled(h.Resource, d.Body != nil)
	if d.Past {
		r.since(d, t.a.now())
	}
	if err := errors.Join(t.supersede(&r), t.passPicture(url, 0)); err != nil {
		return Capture{}, err
	}
	var c Capture
	if d.Body != nil {
		r.Versions++
		if c, err = t.putCapture(d, p, r.Versions); err != nil {
			return Capture{}, err
		}
		r.Current, c.Current = c.ID, true
	}
	if err := t.putPicture(url, c.Version, d.Picture); err != nil {
		return Capture{}, err
	}
	return c, t.putPage(h, r, d.Aliases, (d.Index || h.Indexed) && !d.Stays, p.resource)
}

// replace erases the earlier versions of a page. It writes no tombstone, because each crawl
// replaces the previous version of a page that is kept only until the next crawl.
func (t *txn) replace(d *Deposit, current uint64) error {
	url, before := d.Resource.URL, t.counts.Captures
	if err := t.eraseVersions(url, current); err != nil || t.counts.Captures == before {
		return err
	}
	t.buried = append(t.buried, Tombstone{URL: url, Captures: int(before - t.counts.Captures), When: utc(t.a.now()),
		Reason: ReasonReplaced,
		Why:    "replaced by a newer copy", Line: d.Decided[acap.Preserve]})
	return nil
}

// crawled returns the resource as it must be stored after the deposit d. before is the stored
// resource. preserved reports whether a capture was made.
func (d *Deposit) crawled(before Resource, preserved bool) Resource {
	r := d.Resource
	r.LastCrawled, r.Indexed = d.Fetched, d.Index
	r.keep(before)
	setOnce(&r.FirstCrawled, d.Fetched, true)
	setOnce(&r.FirstIndexed, d.Fetched, d.Index && !d.Past)
	setOnce(&r.FirstPreserved, d.Fetched, preserved)
	return r
}

// putPage stores the resource r. If entry is true, putPage logs an intent, because the index must
// update its entry.
func (t *txn) putPage(h held, r Resource, aliases []string, entry bool, text []byte) error {
	if entry {
		if err := t.intend(r.URL); err != nil {
			return err
		}
	}
	// the URL has answered itself, so it is no longer an alias
	if err := errors.Join(t.dropAlias(r.URL), t.putAliases(r.URL, aliases)); err != nil {
		return err
	}
	return t.putResource(h, r, text)
}

func setOnce(date *time.Time, at time.Time, now bool) {
	if now && date.IsZero() {
		*date = at
	}
}

func (t *txn) putCapture(d *Deposit, p *prepared, version int) (Capture, error) {
	bucket := t.tx.Bucket(bCaptures)
	id, err := bucket.NextSequence()
	if err != nil {
		return Capture{}, err
	}
	for _, b := range p.bodies() {
		if err := t.refer(b); err != nil {
			return Capture{}, err
		}
	}
	rec := p.record(d, version)
	if rec.Rendered != "" {
		if err := t.raiseFormat(); err != nil {
			return Capture{}, err
		}
	}
	k := idKey(id)
	sealed, slot, err := t.seal(ofCapture(k), p.capture, nil)
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
	if err := putPassed(t.tx, id, d.Hops); err != nil {
		return Capture{}, err
	}
	rec.count(&t.counts)
	c := Capture{ID: id, URL: rec.URL, Version: version, Fetched: rec.Fetched, Status: rec.Status,
		MIME:   d.Resource.MIME,
		Digest: rec.Digest, Bytes: rec.Bytes, Payload: rec.payload(), Encoding: rec.Encoding,
		Rendered: rec.Rendered, RenderedBytes: rec.RenderedBytes, Truncated: rec.Truncated, Cut: rec.Cut,
		Address: d.Address, Header: d.Header, Sent: d.Sent, Head: d.Head, Hops: d.Hops, Policy: d.Policy.utc(),
		Own: d.Resource.Own, Decided: d.Decided, Cuts: d.Cuts}
	return c, nil
}

// record returns the record of the capture, without its key.
func (p *prepared) record(d *Deposit, version int) captureRecord {
	rec := captureRecord{URL: d.Resource.URL, Version: version, Fetched: utc(d.Fetched), Status: d.Resource.Status,
		Digest: p.digest, Bytes: int64(len(d.Body)), Encoding: p.sent.encoding, Truncated: d.Truncated, Cut: d.Cut}
	if p.sent.encoding != "" {
		rec.Payload = digestText(p.sent.sum)
	}
	if p.rendered != nil {
		rec.Rendered, rec.RenderedBytes = digestText(p.rendered.sum), int64(len(p.rendered.wire))
	}
	return rec
}

// raiseFormat makes older versions of this program refuse the archive: they would erase a capture
// without its rendered document.
func (t *txn) raiseFormat() error {
	var h header
	if err := t.a.readHeader(t.tx.Tx, &h); err != nil || h.Format >= formatRendered {
		return err
	}
	h.Format = formatRendered
	return t.tx.Bucket(bMeta).Put(kHeader, mustPack(kHeader, h))
}

// supersede adds the current capture of r to the list of earlier versions.
func (t *txn) supersede(r *Resource) error {
	if r.Current == 0 {
		return nil
	}
	rec, _, err := t.a.captureRecord(t.tx.Tx, r.Current)
	if err != nil {
		return err
	}
	k := idKey(r.Current)
	r.Current = 0
	return errors.Join(t.passPicture(rec.URL, rec.Version), t.tx.Bucket(bEarlier).Put(versionKey(rec.URL,
		rec.Version), k))
}

// refer adds a reference to a body, and stores the body if this is the first reference.
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
	// compress the body now, because it was erased after prepare had found it in the archive, or
	// because this job runs a second time
	if b.codec == noCodec {
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

// seal encrypts plain with a new key and returns the key's slot. It appends the result to out,
// which may be plain[:0].
func (t *txn) seal(belongs string, plain, out []byte) ([]byte, uint64, error) {
	slot, k, err := t.take()
	if err != nil {
		return nil, 0, err
	}
	sealed, err := seal(k, belongs, plain, out)
	return sealed, slot, err
}
