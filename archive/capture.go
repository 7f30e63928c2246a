package archive

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/kept"
)

// Capture is one preserved version of one URL.
type Capture struct {
	ID       uint64 // never reused
	URL      string
	Version  int // counts from 1 for each URL, in the order of arrival; never reused
	Fetched  time.Time
	Status   int
	MIME     string
	Digest   string // digest of the body that Body returns: "sha256:" and hexadecimal digits
	Bytes    int64  // length of the body that Body returns
	Payload  string // digest of the body as sent (Wire); equal to Digest if it was not encoded
	Encoding string // content codings of the body as sent, in the order applied; "" for none
	Rendered string // digest of the rendered document, in the form of Digest; "" if there is none
	// length of the rendered document, the page after its scripts ran; 0 if there is none
	RenderedBytes int64

	Truncated bool // the stored body is only the beginning of a longer one
	Cut       bool // parts that may not be kept were cut out of the body or the rendered document (N28)
	Current   bool // the last crawl of the URL found this version
	Header    http.Header
	Address   netip.Addr // address of the server; zero if it was not recorded
	Sent      []byte     // head of the request, from the first line to the blank line; nil if it was not recorded
	// head of the response as sent; nil if it was not recorded; a later 304 response changes only
	// Header
	Head    []byte
	Hops    []Via // requests of the redirect chain, the first one first
	Policy  PolicyVersion
	Own     acap.Own              // statements that the page made about itself at the last decision
	Decided map[acap.Usage]string // by usage: the line that decided
	// each element is a clause that names a part that was too large to be kept, read or indexed
	Cuts []string
}

// Redirect reports whether c is a redirect. A redirect is a version of its URL, but never the
// current one.
func (c Capture) Redirect() bool { return redirects(c.Status) }

func redirects(status int) bool { return status/100 == 3 }

// PolicyVersion identifies the version of an origin's policy under which a decision was made. The
// zero value means that the version is unknown.
type PolicyVersion struct {
	Origin string `json:",omitempty"`
	// when this version was first read; no other version of the origin has the same time
	Since time.Time `json:",omitzero"`
}

func (v PolicyVersion) utc() PolicyVersion {
	v.Since = utc(v.Since)
	return v
}

// Via is one request of the redirect chain that led to a capture. Its answer belongs to another
// URL, and is also kept as a capture of that URL.
type Via struct {
	URL    string
	Method string
	Proto  string
	Status int
	Start  time.Time
	Took   time.Duration
	Header http.Header `json:"-"`
	Sent   []byte      `json:"-"` // heads of request and response, as in Capture
	Head   []byte      `json:"-"`
}

// Resource is what the archive knows about a URL, even if no copy is held. The first dates (first
// crawl, first copy and so on) are set once. They remain after expiry and erasure, and neither
// Receive nor Update changes them. Only a Deposit with Past can move them to an earlier time.
type Resource struct {
	URL            string
	FirstCrawled   time.Time
	FirstIndexed   time.Time
	FirstPreserved time.Time
	FirstPresented time.Time
	LastCrawled    time.Time
	Status         int
	Indexed        bool   // the page should be in the index
	Versions       int    // number of captures ever made; set by the archive
	Current        uint64 // ID of the capture of the last crawl, or 0 if that capture is not held; set by the archive

	// The following fields derive from the page. They are stored sealed, and Erase removes them.
	Own                acap.Own
	Kept               kept.Page // data for presenting the page later without a request
	Language, MIME     string
	ETag, LastModified string
}

// Tombstone records that something was erased. It contains no content. In tombstones of old
// archives, all counts except Captures are 0.
type Tombstone struct {
	URL string
	// number of the erased version; 0: the whole page was erased, or the version is lost and its
	// number is unknown
	Version  int  `json:",omitempty"`
	Captures int  // number of erased captures
	Pictures int  `json:",omitempty"` // number of erased thumbnails
	Aliases  int  `json:",omitempty"` // number of removed redirects to and from the URL
	Hops     int  `json:",omitempty"` // number of answers of the URL that were removed from captures of other pages
	Derived  int  `json:",omitempty"` // number of pages that lost data derived from the URL
	Entry    bool `json:",omitempty"` // the URL was in the index
	Known    bool `json:",omitempty"` // the title, excerpt and statements of the page were erased
	When     time.Time
	// reason of the decision to erase, or one of the Reason constants; empty in old archives
	Reason string `json:",omitempty"`
	Why    string
	Line   string `json:",omitempty"` // the line that led to the decision; empty if no line did
	// the publisher requested the erasure (P1 2.6.1), or that of something from which scripts made the page; the
	// files are compacted soon
	Asked bool     `json:",omitempty"`
	Keys  []uint64 `json:",omitempty"` // slots of the keys that were destroyed
}

// TakenDown reports whether the publisher requested the erasure of the page. It does not depend on Why, which may be a
// text of the operator.
func (t Tombstone) TakenDown() bool { return t.Reason == ReasonTakenDown || t.Reason == "" && t.Asked }

// Forgotten reports whether the operator wanted the erasure, also by the setting keep of a job.
func (t Tombstone) Forgotten() bool { return t.Reason == ReasonForgotten || t.Reason == ReasonKept }

// Facts returns the facts for decisions about the page, except the current time.
func (r Resource) Facts() acap.Facts {
	return acap.Facts{FirstCrawled: r.FirstCrawled, FirstIndexed: r.FirstIndexed, FirstPreserved: r.FirstPreserved,
		FirstPresented: r.FirstPresented, Fetched: r.LastCrawled}
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

// keep copies from old the first dates and the fields that the archive sets.
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
		Rendered: rec.Rendered, RenderedBytes: rec.RenderedBytes, Truncated: rec.Truncated, Cut: rec.Cut,
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

// utc removes the time zone and the monotonic clock reading, so that a stored time equals the time
// read back.
func utc(t time.Time) time.Time { return t.UTC().Round(0) }
