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

// longestHeader is the maximal length of a record's named fields in octets. Addresses are the
// longest values in practice.
const longestHeader = 1 << 20

// Damage is the error for a record that cannot be read, or cannot be read to its end.
type Damage struct {
	Offset int64  // where the record or its gzip member begins in the file
	What   string // a clause that continues "the record"
}

func (d *Damage) Error() string { return fmt.Sprintf("offset %d: the record %s", d.Offset, d.What) }

// Reader reads records from a stream. It uses a bounded amount of memory. It is not safe for
// concurrent use.
type Reader struct {
	src    *source
	in     *bufio.Reader // the content of the file, or of the open member
	gz     *gzip.Reader  // decompresses the open gzip member
	packed bool          // a gzip member is open
	at     int64         // offset of the last record, or of its gzip member
	block  *block        // block of the record that Next returned last
	lost   bool          // the place of the next record is unknown
	again  int64         // number of octets that searches for a record have read again
	missed *Damage       // octets that a search has left out, so that hostile files do not take too long; nil: none
}

// NewReader returns a Reader for r. The Reader decompresses the file if it begins with the magic
// number of gzip.
func NewReader(r io.Reader) *Reader {
	src := newSource(r)
	return &Reader{src: src, in: bufio.NewReaderSize(src, 32<<10)}
}

// Next returns the next record. The block of the previous record can no longer be read. It returns
// io.EOF at the end, *Damage for a broken record, or the error of the stream. After *Damage, Next
// can be called again and continues with the next record that it finds.
func (r *Reader) Next() (*Record, error) {
	if r.block != nil {
		reported := r.block.err != nil
		_, err := io.Copy(io.Discard, r.block)
		r.block = nil
		if err != nil && !reported {
			return nil, err
		}
	}
	if r.lost {
		r.lost = !r.findRecord()
		switch missed := r.missed; {
		case missed != nil:
			r.missed = nil
			return nil, missed
		case r.lost:
			return nil, r.end()
		}
	}
	if err := r.skipToRecord(); err != nil {
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

// end returns the error of the stream, or io.EOF if there is none.
func (r *Reader) end() error {
	if err := r.src.failure(); err != nil {
		return err
	}
	return io.EOF
}

// damage returns the error of the stream, or, if there is none, a *Damage for the record at r.at.
func (r *Reader) damage(format string, args ...any) error {
	if err := r.src.failure(); err != nil {
		return err
	}
	return &Damage{r.at, fmt.Sprintf(format, args...)}
}

// skipToRecord moves to the first octet of the next record and opens its gzip member if necessary.
func (r *Reader) skipToRecord() error {
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

// open opens the gzip member at the current position of the source.
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

// skipNewlines skips the line ends between records and returns the number of line feeds.
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

// otherFormats lists the first octets of formats other than WARC, and advice for the user.
var otherFormats = []struct{ begins, sentence string }{
	{"filedesc:", "it is an ARC file, the format before WARC; convert it first, for example with: " +
		"warcio recompress FILE.arc.gz FILE.warc.gz"},
	{"PK\x03\x04", "it is a ZIP file; import a WACZ file by its name, and not from standard input"},
	{"\x28\xb5\x2f\xfd", "it is compressed with Zstandard; " +
		"decompress it first, for example with: zstd -d FILE.warc.zst"},
	{"\x5d\x2a\x4d\x18", "it is compressed with Zstandard and a dictionary; " +
		"decompress it first, with a tool that knows .warc.zst"},
}

// otherFormat returns an error if the file, compressed or not, is of another format. The error is
// not a *Damage.
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

// header reads the version and the named fields of a record.
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
		return nil, r.damage("is of version %.20q; the supported versions are 1.0 and 1.1", version)
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
			return nil, r.damage("has a line that is not a named field: %.60q", line)
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

// line reads one line without its end and subtracts its length from room.
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

// block reads the block of a record. At the end of the block it checks that another record or the
// end of the file follows.
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
		if b.err = b.r.checkEnd(); b.err != io.EOF {
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

// checkEnd checks what follows a block: the next record, the end, or, in an uncompressed file, two
// newlines and anything. If one of these follows, checkEnd returns io.EOF, otherwise the damage.
func (r *Reader) checkEnd() error {
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

// findRecord looks for the next record after a broken one. It searches the rest of the gzip member
// first, then the file from the beginning of the broken record.
func (r *Reader) findRecord() bool {
	if r.packed && r.findLine() {
		return true
	}
	here := r.src.offset()
	if !r.packed {
		here -= int64(r.in.Buffered())
	}
	r.packed = false
	// A search may read octets again that an earlier one has read, because several damages may be close together. But a
	// file that is damaged everywhere takes only a multiple of the time of a whole file.
	if r.again <= mostAgain*(here+window) {
		r.src.rewind(r.at + 1)
		r.again += max(here-r.src.offset(), 0)
	} else if r.src.rewind(here); here > r.at+1 {
		r.missed = &Damage{r.at, fmt.Sprintf("is one of very many damaged ones: what follows to %d is left out", here)}
		r.at = here
	}
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

// mostAgain is how often searches for a record read the octets of a file again, on average.
const mostAgain = 8

// trial is the number of octets of a gzip member that are read to find out whether it contains a
// record.
const trial = 4 << 10

// candidate reports whether a record, or a gzip member that contains a record, may begin at the
// current position of the source.
func (r *Reader) candidate() bool {
	switch r.src.buf[r.src.pos] {
	case first[0]:
		// a record need not begin a line, because the octets before it may be missing
		line := r.src.peek(len("WARC/1.0\n"))
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

// findLine looks for a record that begins at the start of a line, in the rest of the open gzip
// member.
func (r *Reader) findLine() bool {
	for {
		switch _, err := r.in.ReadSlice('\n'); err {
		case nil:
			if next, _ := r.in.Peek(len(first)); bytes.Equal(next, first) {
				return true
			}
		case bufio.ErrBufferFull:
		default:
			return err == io.EOF && r.atNextMember()
		}
	}
}

// atNextMember closes a gzip member that was read to its end, and reports whether a member or a
// record follows.
func (r *Reader) atNextMember() bool {
	r.packed = false
	r.in.Reset(r.src)
	head := r.src.peek(len(first))
	return bytes.HasPrefix(head, magic) || bytes.Equal(head, first)
}
