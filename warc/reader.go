package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// longestHeader bounds the named fields of a record, in octets. Addresses are the longest values that are known.
const longestHeader = 1 << 20

// Damage is a record that cannot be read, or not to its end.
type Damage struct {
	Offset int64  // in the file, where the record or its gzip member begins
	What   string // a clause that goes on from "the record"
}

func (d *Damage) Error() string { return fmt.Sprintf("offset %d: the record %s", d.Offset, d.What) }

// Reader reads records from a stream. Its memory is bounded whatever the file. It is not safe for concurrent use.
type Reader struct {
	src    *source
	in     *bufio.Reader // the text of the file, or of the member that is open
	gz     *gzip.Reader  // of the member that is open
	packed bool          // a member is open
	at     int64         // where the record that was read last begins, or its member
	block  *block        // of the record that was given last
	lost   bool          // nothing is known of what comes next
	seen   int64         // how far the search for records has read already: what is broken before it is not gone back for again
}

// NewReader reads from r, which is taken for compressed where it begins as gzip does.
func NewReader(r io.Reader) *Reader {
	src := newSource(r)
	return &Reader{src: src, in: bufio.NewReaderSize(src, 32<<10)}
}

// Next gives the next record, and ends the one before. Errors: io.EOF at the end; a *Damage, after which it can be called again and
// goes on with the next record that it finds; or what kept the stream from being read.
func (r *Reader) Next() (*Record, error) {
	if r.block != nil {
		told := r.block.err != nil
		_, err := io.Copy(io.Discard, r.block)
		r.block = nil
		if err != nil && !told {
			return nil, err
		}
	}
	if r.lost && !r.find() {
		return nil, r.end()
	}
	r.lost = false
	if err := r.begin(); err != nil {
		return nil, err
	}
	rec, err := r.header()
	if err != nil {
		r.lost = true
		return nil, err
	}
	r.block = &block{r: r, left: rec.Length}
	rec.Block = r.block
	return rec, nil
}

// end is what Next says when there is no more record.
func (r *Reader) end() error {
	if err := r.src.failure(); err != nil {
		return err
	}
	return io.EOF
}

// damage says what is wrong with the record at r.at, unless the file could not be read.
func (r *Reader) damage(format string, args ...any) error {
	if err := r.src.failure(); err != nil {
		return err
	}
	return &Damage{r.at, fmt.Sprintf(format, args...)}
}

// begin stands at the first octet of the next record.
func (r *Reader) begin() error {
	for {
		if r.packed {
			r.skipNewlines()
			if _, err := r.in.Peek(1); err == nil {
				return nil
			} else if err != io.EOF {
				r.lost = true
				return r.damage("is in a gzip member that is broken: %v", err)
			}
			r.packed = false
		} else {
			r.skipNewlines()
			r.src.rewind(r.src.offset() - int64(r.in.Buffered()))
		}
		r.at = r.src.offset()
		r.in.Reset(r.src)
		if !r.src.ready(1) {
			return r.end()
		}
		if !bytes.HasPrefix(r.src.peek(2), magic) {
			return nil
		}
		if err := r.open(); err != nil {
			r.lost = true
			return r.damage("is in a gzip member that is broken: %v", err)
		}
	}
}

var magic = []byte{0x1f, 0x8b}

// open opens the gzip member at which the source stands.
func (r *Reader) open() (err error) {
	if r.gz == nil {
		r.gz, err = gzip.NewReader(r.src)
	} else {
		err = r.gz.Reset(r.src)
	}
	if err != nil {
		return err
	}
	r.gz.Multistream(false)
	r.in.Reset(r.gz)
	r.packed = true
	return nil
}

// skipNewlines passes over what separates records, and gives the number of lines that end there.
func (r *Reader) skipNewlines() (n int) {
	for {
		b, err := r.in.Peek(1)
		if err != nil || b[0] != '\r' && b[0] != '\n' {
			return n
		}
		if b[0] == '\n' {
			n++
		}
		r.in.Discard(1)
	}
}

// otherFormats are files that are no WARC files, by how they begin, and what can be done with them.
var otherFormats = []struct{ begins, sentence string }{
	{"filedesc:", "it is an ARC file, the format before WARC; convert it first, for example with: warcio recompress FILE.arc.gz FILE.warc.gz"},
	{"PK\x03\x04", "it is a ZIP file, such as WACZ; unpack it first, and import the WARC files in its folder archive"},
	{"\x28\xb5\x2f\xfd", "it is compressed with Zstandard; decompress it first, for example with: zstd -d FILE.warc.zst"},
	{"\x5d\x2a\x4d\x18", "it is compressed with Zstandard and a dictionary; decompress it first, with a tool that knows .warc.zst"},
}

// otherFormat returns an error for a file of another format, compressed or not. It is no *Damage.
func (r *Reader) otherFormat() error {
	if r.at != 0 {
		return nil
	}
	for _, format := range otherFormats {
		if begins, _ := r.in.Peek(len(format.begins)); string(begins) == format.begins {
			return errors.New(format.sentence)
		}
	}
	return nil
}

// header reads version and named fields.
func (r *Reader) header() (*Record, error) {
	if err := r.otherFormat(); err != nil {
		return nil, err
	}
	room := longestHeader
	line, err := r.line(&room)
	version, found := strings.CutPrefix(line, "WARC/")
	switch {
	case err != nil && line == "":
		return nil, r.damage("breaks off in its first line")
	case !found:
		return nil, r.damage("does not begin with WARC/ and a version: %.40q", line)
	case version != "1.0" && version != "1.1":
		return nil, r.damage("is of version %.20q; 1.0 and 1.1 are known", version)
	}
	rec := &Record{Version: version, Offset: r.at}
	var fields folded
	for {
		line, err := r.line(&room)
		switch {
		case err == errLong:
			return nil, r.damage("has more than %d octets of named fields", longestHeader)
		case err != nil:
			return nil, r.damage("breaks off in its named fields")
		case line == "":
			rec.Fields = fields.all()
			return rec, r.length(rec)
		}
		if !fields.add(line) {
			return nil, r.damage("has a line that is no named field: %.60q", line)
		}
	}
}

func (r *Reader) length(rec *Record) error {
	text := rec.Fields.Get(fieldLength)
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return r.damage("has no Content-Length that can be read: %.40q", text)
	}
	rec.Length = int64(n)
	return nil
}

var errLong = errors.New("the line is too long")

// line reads one line without its end, and takes its length from room.
func (r *Reader) line(room *int) (string, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if *room -= len(part); *room < 0 {
			return "", errLong
		}
		line = append(line, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		return strings.TrimRight(string(line), "\r\n"), err
	}
}

// block is what a record holds. It ends where the next record begins, and says so if it does not.
type block struct {
	r    *Reader
	left int64
	err  error
}

func (b *block) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.left == 0 {
		if b.err = b.r.close(); b.err != io.EOF {
			b.r.lost = true
		}
		return 0, b.err
	}
	n, err := b.r.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err != nil {
		b.r.lost = true
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			b.err = b.r.damage("breaks off: %d octets of its block are missing", b.left)
		} else {
			b.err = b.r.damage("is in a gzip member that is broken: %v", err)
		}
	}
	return n, b.err
}

// close looks whether what follows a block can follow one: the next record, the end, or in a file that is not compressed two newlines,
// whatever comes then. It gives io.EOF, the end of the block, or the damage.
func (r *Reader) close() error {
	newlines := r.skipNewlines()
	next, err := r.in.Peek(len(first))
	switch {
	case len(next) == 0 && err != io.EOF:
		return r.damage("is in a gzip member that is broken: %v", err)
	case len(next) == 0, bytes.Equal(next, first), !r.packed && (newlines > 1 || bytes.HasPrefix(next, magic)):
		return io.EOF
	}
	return r.damage("is not followed by another: its Content-Length is wrong, or something is between them")
}

var first = []byte("WARC/")

// find looks for the next record after one that is broken: in the rest of its member first, then in the file from where the broken
// one began.
func (r *Reader) find() bool {
	if r.packed && r.findLine() {
		return true
	}
	here := r.src.offset()
	if !r.packed {
		here -= int64(r.in.Buffered())
	}
	r.packed = false
	if r.at < r.seen {
		r.src.rewind(here)
	} else {
		r.src.rewind(r.at + 1)
	}
	r.seen = max(r.seen, here)
	for r.src.ready(1) {
		here := r.src.offset()
		if r.candidate() {
			r.at = here
			r.src.rewind(here)
			r.in.Reset(r.src)
			return true
		}
		r.src.rewind(here + 1)
	}
	return false
}

// trial is how much of a gzip member is looked at to see whether it holds a record, in octets.
const trial = 4 << 10

// candidate reports whether a record may begin where the source stands, or a gzip member with one.
func (r *Reader) candidate() bool {
	switch r.src.buf[r.src.pos] {
	case first[0]:
		line := r.src.peek(len("WARC/1.0\n")) // which need not begin a line: what was before it may be cut off
		return len(line) > 8 && bytes.HasPrefix(line, first) && (line[8] == '\r' || line[8] == '\n')
	case magic[0]:
		if head := r.src.peek(4); len(head) < 4 || head[1] != magic[1] || head[2] != 8 || head[3] > 0x1f {
			return false
		}
		r.src.limit = r.src.offset() + trial
		defer func() { r.src.limit = 0 }()
		if r.open() != nil {
			r.packed = false
			return false
		}
		r.packed = false
		var begins [5]byte
		_, err := io.ReadFull(r.gz, begins[:])
		return err == nil && bytes.Equal(begins[:], first)
	}
	return false
}

// findLine looks for a record at the beginning of a line in what is left of the member that is open.
func (r *Reader) findLine() bool {
	for {
		switch _, err := r.in.ReadSlice('\n'); err {
		case nil:
			if next, _ := r.in.Peek(len(first)); bytes.Equal(next, first) {
				return true
			}
		case bufio.ErrBufferFull:
		default:
			return err == io.EOF && r.after()
		}
	}
}

// after stands at the end of a member that was whole, behind which the next one begins.
func (r *Reader) after() bool {
	r.packed = false
	r.in.Reset(r.src)
	head := r.src.peek(len(first))
	return bytes.HasPrefix(head, magic) || bytes.Equal(head, first)
}
