package archive

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/kept"
)

// Capture is one preserved version of one URL.
type Capture struct {
	ID        uint64 // never given twice
	URL       string
	Version   int // from 1 for each URL, in the order of arrival; never given twice
	Fetched   time.Time
	Status    int
	MIME      string
	Digest    string // "sha256:" and hexadecimal digits, of the body as Body gives it
	Bytes     int64  // its length
	Payload   string // digest of the bytes as sent (Wire); Digest where the body was not encoded
	Encoding  string // the content codings of the bytes as sent, in the order applied; "" for none
	Truncated bool   // the body was longer
	Cut       bool   // parts that may not be kept were cut out of the body (N28)
	Current   bool   // it is what the last crawl of the URL obtained
	Header    http.Header
	Address   netip.Addr // of the server that answered; zero where it was not recorded
	Sent      []byte     // head of the request, from its first line to the blank line; nil where it was not recorded
	Head      []byte     // head of the response as sent, likewise; a 304 changes Header alone
	Hops      []Via      // earlier hops that led here, the first request first
	Policy    PolicyVersion
	Own       acap.Own              // what the page said of itself when it was judged last
	Decided   map[acap.Usage]string // the line that decided, by usage
	// what of the page was not kept, read or indexed, since it was too large; a clause each
	Cuts []string
}

// Redirect reports whether c is a redirect. A redirect is a version of its URL, but never the
// current one.
func (c Capture) Redirect() bool { return redirects(c.Status) }

func redirects(status int) bool { return status/100 == 3 }

// PolicyVersion names the version of an origin's policy that decided. The zero value is an unknown
// one.
type PolicyVersion struct {
	Origin string    `json:",omitempty"`
	Since  time.Time `json:",omitzero"` // when that version was first read; unique among those of an origin
}

func (v PolicyVersion) utc() PolicyVersion {
	v.Since = utc(v.Since)
	return v
}

// Via is one request of the redirect chain that led to a capture. Its answer is content of another
// URL and is kept as a capture of that one.
type Via struct {
	URL    string
	Method string
	Proto  string
	Status int
	Start  time.Time
	Took   time.Duration
	Header http.Header `json:"-"`
	Sent   []byte      `json:"-"` // heads of request and response, as in a Capture
	Head   []byte      `json:"-"`
}

// Resource is what is known of a URL, whether or not a copy of it is held. The first dates are
// given once: they outlive expiry and erasure, and neither Receive nor Update moves them; a Deposit
// of the Past alone moves them back.
type Resource struct {
	URL            string
	FirstCrawled   time.Time
	FirstIndexed   time.Time
	FirstPreserved time.Time
	FirstPresented time.Time
	LastCrawled    time.Time
	Status         int
	Indexed        bool   // the index should hold it
	Versions       int    // captures ever made; set by the archive
	Current        uint64 // capture of the last crawl, 0 if none is held; set by the archive

	// What derives from the page; sealed, and gone after Erase.
	Own                acap.Own
	Kept               kept.Page // to present the page later without a request
	Language, MIME     string
	ETag, LastModified string
}

// Tombstone says that something was erased. It holds no content. Of those before this was counted
// all counts but Captures are 0.
type Tombstone struct {
	URL string
	// the one version that was erased; 0: everything, or one that was lost and is not known
	Version  int  `json:",omitempty"`
	Captures int  // how many
	Pictures int  `json:",omitempty"` // thumbnails that were held beside them
	Aliases  int  `json:",omitempty"` // addresses that led to it, and it to another
	Hops     int  `json:",omitempty"` // answers of it in captures of the pages that they led to
	Derived  int  `json:",omitempty"` // pages of which something went that was made of it
	Entry    bool `json:",omitempty"` // it was in the index
	Known    bool `json:",omitempty"` // what was known of the page went: its title, excerpt and statements
	When     time.Time
	// of the decision, or one of the Reason constants; empty: erased before this was noted
	Reason string `json:",omitempty"`
	Why    string
	Line   string   `json:",omitempty"` // the line that decided, if one did
	Asked  bool     `json:",omitempty"` // the publisher asked for it (P1 2.6.1)
	Keys   []uint64 `json:",omitempty"` // slots of the keys that were destroyed with it
}

func (r Resource) record(key uint64) resourceRecord {
	return resourceRecord{FirstCrawled: utc(r.FirstCrawled), FirstIndexed: utc(r.FirstIndexed),
		FirstPreserved: utc(r.FirstPreserved),
		FirstPresented: utc(r.FirstPresented), LastCrawled: utc(r.LastCrawled), Status: r.Status, Indexed: r.Indexed,
		Versions: r.Versions, Current: r.Current, Key: key}
}

func (r Resource) text() resourceText {
	return resourceText{Own: r.Own, Kept: r.Kept, Language: r.Language, MIME: r.MIME, ETag: r.ETag,
		LastModified: r.LastModified}
}

// keep lets the first dates, and what the archive counts, stand as they were in old.
func (r *Resource) keep(old Resource) {
	first := func(was, is time.Time) time.Time {
		if was.IsZero() {
			return is
		}
		return was
	}
	r.FirstCrawled = first(old.FirstCrawled, r.FirstCrawled)
	r.FirstIndexed = first(old.FirstIndexed, r.FirstIndexed)
	r.FirstPreserved = first(old.FirstPreserved, r.FirstPreserved)
	r.FirstPresented = first(old.FirstPresented, r.FirstPresented)
	r.URL, r.Versions, r.Current = old.URL, old.Versions, old.Current
}

func resourceOf(url string, rec resourceRecord, text resourceText) Resource {
	return Resource{URL: url, FirstCrawled: rec.FirstCrawled, FirstIndexed: rec.FirstIndexed,
		FirstPreserved: rec.FirstPreserved,
		FirstPresented: rec.FirstPresented, LastCrawled: rec.LastCrawled, Status: rec.Status, Indexed: rec.Indexed,
		Versions: rec.Versions, Current: rec.Current, Own: text.Own, Kept: text.Kept,
		Language: text.Language, MIME: text.MIME, ETag: text.ETag, LastModified: text.LastModified}
}

func captureOf(id uint64, rec captureRecord, text captureText, current uint64) (Capture, error) {
	c := Capture{ID: id, URL: rec.URL, Version: rec.Version, Fetched: rec.Fetched, Status: rec.Status, MIME: text.MIME,
		Digest: rec.Digest, Bytes: rec.Bytes, Payload: rec.payload(), Encoding: rec.Encoding,
		Truncated: rec.Truncated, Cut: rec.Cut,
		Current: id == current, Address: text.Address, Hops: text.Hops, Policy: text.Policy, Own: text.Own,
		Decided: text.Decided, Cuts: text.Cuts}
	for i, x := range text.exchanges {
		h, err := unpackHeader(x.header)
		switch {
		case err != nil:
			return Capture{}, err
		case i < len(c.Hops):
			c.Hops[i].Header, c.Hops[i].Sent, c.Hops[i].Head = h, x.sent, x.head
		default:
			c.Header, c.Sent, c.Head = h, x.sent, x.head
		}
	}
	return c, nil
}

// utc drops the zone and the monotonic reading: what is read back equals what was written.
func utc(t time.Time) time.Time { return t.UTC().Round(0) }
