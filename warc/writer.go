package warc

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Entry is a record to write.
type Entry struct {
	Type        string
	ID          string // record ID, from NewID
	Date        time.Time
	Target      string // address of the captured resource; "" for a warcinfo
	ContentType string
	More        Fields // additional named fields
	Head        []byte // head of an HTTP message; nil for none
	Payload     []byte // the part of the block after Head; the whole block if Head is nil
	// digest of a payload that is not in the block; "": computed from Payload for record types that
	// have a payload digest
	Digest string
}

// Place is the position of a record in its file.
type Place struct{ Offset, Length int64 }

// NewID returns a new record ID: a random UUID (RFC 9562 5.4).
func NewID() string {
	var u [16]byte
	rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return uuid(u[:])
}

func uuid(u []byte) string {
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// IDOf derives a record ID from another ID, a number and a kind. Equal arguments yield equal IDs
// (RFC 9562 5.8).
func IDOf(space string, number uint64, kind string) string {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64([]byte(space), number), kind...))
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return uuid(u)
}

// Ref returns the form in which a field refers to another record: the ID in angle brackets.
func Ref(id string) string { return "<" + id + ">" }

// Date formats a time for WARC 1.1 with its full precision.
func Date(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

var errHead = errors.New("the head of an HTTP message ends with its first blank line")

// Writer writes WARC 1.1 records. It is not safe for concurrent use.
type Writer struct {
	w      io.Writer
	n      int64 // number of bytes written
	encode *Encoder
}

// NewWriter returns a Writer for w. If compressed is set, each record is a gzip member of its own.
func NewWriter(w io.Writer, compressed bool) *Writer {
	return &Writer{w: w, encode: NewEncoder(compressed)}
}

// Write writes a record with its length and digests, and returns its place. After an error the
// Writer must not be used again.
func (w *Writer) Write(e Entry) (Place, error) {
	record, err := w.encode.Encode(&e)
	if err != nil {
		return Place{}, err
	}
	return w.WriteEncoded(record)
}

// WriteEncoded writes a record that an Encoder has encoded, and returns its place.
func (w *Writer) WriteEncoded(record []byte) (p Place, err error) {
	p.Offset = w.n
	n, err := w.w.Write(record)
	w.n += int64(n)
	p.Length = int64(n)
	return p, err
}

// Encoder encodes records. It is not safe for concurrent use.
type Encoder struct {
	out bytes.Buffer
	gz  *gzip.Writer // nil: no compression
}

// level is the compression level. Higher levels save few bytes and take much more time.
const level = 3

// NewEncoder returns an Encoder. If compressed is set, each record is a gzip member of its own.
func NewEncoder(compressed bool) *Encoder {
	e := &Encoder{}
	if compressed {
		e.gz, _ = gzip.NewWriterLevel(nil, level) // the level is valid
	}
	return e
}

// Encode returns the bytes of a record with its length and digests. They are valid until the next
// call.
func (c *Encoder) Encode(e *Entry) ([]byte, error) {
	if !complete(e.Head) {
		return nil, errHead
	}
	c.out.Reset()
	var to io.Writer = &c.out
	if c.gz != nil {
		c.gz.Reset(&c.out)
		to = c.gz
	}
	fields := e.fields().Bytes()
	for _, part := range [][]byte{[]byte("WARC/1.1\r\n"), fields, []byte("\r\n"), e.Head, e.Payload,
		[]byte("\r\n\r\n")} {
		if _, err := to.Write(part); err != nil {
			return nil, err
		}
	}
	if c.gz != nil {
		if err := c.gz.Close(); err != nil {
			return nil, err
		}
	}
	return c.out.Bytes(), nil
}

func (e *Entry) fields() Fields {
	f := Fields{{fieldType, e.Type}, {fieldID, Ref(e.ID)}, {fieldDate, Date(e.Date)}}
	if e.Target != "" {
		f = append(f, Field{fieldTarget, e.Target})
	}
	f = append(f, e.More...)
	if d := e.payloadDigest(); d != "" {
		f = append(f, Field{fieldPayloadDigest, d})
	}
	return append(f, Field{fieldBlockDigest, Digest(e.Head, e.Payload)}, Field{fieldContentType, e.ContentType},
		Field{fieldLength, strconv.Itoa(len(e.Head) + len(e.Payload))})
}

// payloadDigest returns the digest of the payload. It returns "" for types without a payload (WARC
// 1.1, 4), and for requests, because nothing uses their digest.
func (e *Entry) payloadDigest() string {
	switch {
	case e.Digest != "":
		return e.Digest
	case e.Type == Response || e.Type == Resource || e.Type == Conversion:
		return Digest(e.Payload)
	}
	return ""
}
