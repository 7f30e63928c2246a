package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/kept"
)

// The buckets of archive.db. Numbers in keys are big-endian, so that they sort.
var (
	bMeta     = []byte("meta")     // header, counts, upkeep, decider
	bCaptures = []byte("captures") // capture ID → captureRecord, sealed captureText
	bBodies   = []byte("bodies")   // body ID → place of the sealed compressed body in a body file
	bFiles    = []byte("files")    // number of a body file → fileRecord
	// place of an erased body → nothing: it must be overwritten. If bodies are outside, its number → nothing: it must
	// be deleted.
	bRemains    = []byte("remains")
	bDigests    = []byte("digests")    // SHA-256 → bodyRecord
	bResources  = []byte("resources")  // URL → resourceRecord, sealed resourceText
	bEarlier    = []byte("earlier")    // URL, 0, version → capture ID; contains all captures except the current ones
	bAliases    = []byte("aliases")    // URL → URL to which it redirects (X66)
	bAliased    = []byte("aliased")    // URL, 0, URL that redirects to it → nothing
	bTombstones = []byte("tombstones") // URL, 0, number → Tombstone
	bIntents    = []byte("intents")    // URL → its checksum: the index may disagree with the resource
	bDoomed     = []byte("doomed")     // key ID → nothing: the key must be destroyed

	bJudged  = []byte("judged")  // origin → PolicyVersion.Since of the policy that decided all pages not in bDue
	bSources = []byte("sources") // URL, 0, URL of a page with data made from it → nothing

	bPassed   = []byte("passed")   // URL, 0, ID of a capture made after a redirect from that URL → nothing
	bPictures = []byte("pictures") // URL, 0, version (0: no copy) → pictureRecord, sealed pictureText

	bParts   = []byte("parts")   // URL of a subresource that pages require → Part
	bAwaited = []byte("awaited") // URL of a subresource, 0, URL of a page that waits for it → Wait
	bAwaits  = []byte("awaits")  // URL of a page, 0, URL of a subresource that it waits for → nothing

	bDue   = []byte("due")   // time, URL of a page that must be decided then → number of the change that listed it
	bLeans = []byte("leans") // origin, 0, URL of a page of another origin that its policy decided → nothing

	// All buckets. Copies of records name them by their place in this list, so a new one must be added at its end.
	buckets = [][]byte{bMeta, bCaptures, bBodies, bFiles, bRemains, bDigests, bResources, bEarlier, bAliases, bAliased,
		bTombstones,
		bIntents, bDoomed,
		bJudged, bSources, bPictures, bParts, bAwaited, bAwaits, bPassed, bDue, bLeans}

	// The buckets whose keys begin with a URL.
	addressed = [][]byte{bResources, bEarlier, bAliases, bAliased, bTombstones, bSources, bPictures, bParts, bPassed}

	kHeader  = []byte("header")
	kCounts  = []byte("counts")
	kDecided = []byte("decided") // for whom bDue is complete
)

// counts are stored again by every transaction that changes them. Keys is the number of the last
// key slot in use.
type counts struct {
	Captures, Resources, Bodies, Aliases, Tombstones uint64
	Pictures                                         uint64 `json:",omitempty"`
	Rendered                                         uint64 `json:",omitempty"` // captures with a rendered document
	Bytes, Raw, Stored                               uint64
	Keys                                             uint64
}

type captureRecord struct {
	URL       string
	Version   int
	Fetched   time.Time
	Status    int
	Digest    string
	Bytes     int64
	Payload   string `json:",omitempty"` // digest of the body as sent, if it differs from Digest
	Encoding  string `json:",omitempty"` // content codings of the body as sent; set only if Payload is set
	Truncated bool   `json:",omitempty"`
	Cut       bool   `json:",omitempty"`
	Key       uint64

	Rendered      string `json:",omitempty"` // digest of the rendered document; "": there is none
	RenderedBytes int64  `json:",omitempty"`
}

// payload returns the digest of the body as sent.
func (r captureRecord) payload() string {
	if r.Payload == "" {
		return r.Digest
	}
	return r.Payload
}

// bodies returns the digests of the bodies to which the capture refers: the body as sent and, if there
// is one, the rendered document. If both are equal, the capture has two references to one body.
func (r captureRecord) bodies() []string {
	if r.Rendered == "" {
		return []string{r.payload()}
	}
	return []string{r.payload(), r.Rendered}
}

// count adds the capture to c.
func (r captureRecord) count(c *counts) {
	c.Captures++
	c.Bytes += uint64(r.Bytes)
	if r.Rendered != "" {
		c.Rendered++
		c.Bytes += uint64(r.RenderedBytes)
	}
}

// discount removes the capture from c.
func (r captureRecord) discount(c *counts) {
	c.Captures--
	c.Bytes -= uint64(r.Bytes)
	if r.Rendered != "" {
		c.Rendered--
		c.Bytes -= uint64(r.RenderedBytes)
	}
}

type resourceRecord struct {
	FirstCrawled   time.Time `json:",omitzero"`
	FirstIndexed   time.Time `json:",omitzero"`
	FirstPreserved time.Time `json:",omitzero"`
	FirstPresented time.Time `json:",omitzero"`
	LastCrawled    time.Time `json:",omitzero"`
	Status         int       `json:",omitempty"`
	Indexed        bool      `json:",omitempty"`
	Versions       int       `json:",omitempty"` // the highest version number ever used
	Current        uint64    `json:",omitempty"` // ID of the capture of the last crawl, if one is held
	Key            uint64    `json:",omitempty"` // slot of the text's key; 0: no text
}

// resourceText is the sealed part of a resource, which derives from the page.
type resourceText struct {
	Own          acap.Own
	Kept         kept.Page `json:",omitzero"`
	Language     string    `json:",omitempty"`
	MIME         string    `json:",omitempty"`
	ETag         string    `json:",omitempty"`
	LastModified string    `json:",omitempty"`
}

func (t resourceText) empty() bool {
	return t.Own.URL == "" && len(t.Own.Tags) == 0 && len(t.Own.Marks) == 0 && t.Kept.Empty() &&
		t.Language == "" && t.MIME == "" && t.ETag == "" && t.LastModified == ""
}

// encode returns nil for an empty text.
func (t resourceText) encode() ([]byte, error) {
	if t.empty() {
		return nil, nil
	}
	return json.Marshal(t)
}

// bodyRecord contains the ID of a body, its codec and the number of references of captures to it.
type bodyRecord struct {
	ID, Key, Refs uint64
	Raw, Stored   uint64 // size of the body before compression, and size of the sealed body in the file
	Codec         codec
}

var errRecord = errors.New("is not readable")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame returns payload with a checksum of key and payload before it.
func frame(key, payload []byte) []byte {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(payload)), checksum(key, payload))
	return append(out, payload...)
}

func unframe(key, value []byte) ([]byte, error) {
	if len(value) < 4 || binary.BigEndian.Uint32(value) != checksum(key, value[4:]) {
		return nil, errRecord
	}
	return value[4:], nil
}

func checksum(key, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, payload)
}

// mustPack encodes a record of this package. Encoding these types cannot fail.
func mustPack(key []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return frame(key, text)
}

func unpack(key, value []byte, v any) error {
	payload, err := unframe(key, value)
	if err != nil {
		return err
	}
	if json.Unmarshal(payload, v) != nil {
		return errRecord
	}
	return nil
}

// packSealed encodes an unsealed record followed by a sealed text.
func packSealed(key []byte, plain any, sealed []byte) ([]byte, error) {
	text, err := json.Marshal(plain)
	if err != nil {
		return nil, err
	}
	payload := binary.AppendUvarint(make([]byte, 0, len(text)+len(sealed)+8), uint64(len(text)))
	return frame(key, append(append(payload, text...), sealed...)), nil
}

// unpackSealed decodes the unsealed record and returns the sealed text, which is a part of value.
func unpackSealed(key, value []byte, plain any) (sealed []byte, err error) {
	payload, err := unframe(key, value)
	if err != nil {
		return nil, err
	}
	n, w := binary.Uvarint(payload)
	if w <= 0 || n > uint64(len(payload)-w) || json.Unmarshal(payload[w:w+int(n)], plain) != nil {
		return nil, errRecord
	}
	return payload[w+int(n):], nil
}

func (b bodyRecord) pack(key []byte) []byte {
	payload := []byte{byte(b.Codec)}
	for _, n := range []uint64{b.ID, b.Key, b.Refs, b.Raw, b.Stored} {
		payload = binary.AppendUvarint(payload, n)
	}
	return frame(key, payload)
}

func unpackBody(key, value []byte) (bodyRecord, error) {
	payload, err := unframe(key, value)
	if err != nil || len(payload) == 0 {
		return bodyRecord{}, errRecord
	}
	b := bodyRecord{Codec: codec(payload[0])}
	payload = payload[1:]
	for _, n := range []*uint64{&b.ID, &b.Key, &b.Refs, &b.Raw, &b.Stored} {
		v, w := binary.Uvarint(payload)
		if w <= 0 {
			return bodyRecord{}, errRecord
		}
		*n, payload = v, payload[w:]
	}
	return b, nil
}

func readCounts(tx *bolt.Tx) (c counts, err error) {
	if err := unpack(kCounts, tx.Bucket(bMeta).Get(kCounts), &c); err != nil {
		return c, fmt.Errorf("archive.db is %w: its count %w", ErrCorrupt, err)
	}
	return c, nil
}

// The following functions return the name of the owner of a sealed text. A sealed text can only be
// opened with the same name.
func ofBody(digest []byte) string  { return "body " + string(digest) }
func ofCapture(key []byte) string  { return "capture " + string(key) }
func ofResource(url []byte) string { return "resource " + string(url) }
func ofPicture(key []byte) string  { return "picture " + string(key) }

// Digest returns the digest of a body in the form of Capture.Digest.
func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return digestText(sum[:])
}

func digestText(sum []byte) string  { return "sha256:" + hex.EncodeToString(sum) }
func idKey(n uint64) []byte         { return binary.BigEndian.AppendUint64(nil, n) }
func under(url string) []byte       { return append([]byte(url), 0) }
func pair(url, other string) []byte { return append(under(url), other...) }

func versionKey(url string, n int) []byte {
	return binary.BigEndian.AppendUint32(under(url), uint32(n))
}

// number decodes a key made by idKey. It returns 0, which is never used as a number, for a
// malformed key.
func number(k []byte) uint64 {
	if len(k) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(k)
}

func digestBytes(text string) ([]byte, error) {
	const prefix = "sha256:"
	if len(text) != len(prefix)+64 || text[:len(prefix)] != prefix {
		return nil, errRecord
	}
	return hex.DecodeString(text[len(prefix):])
}
