package warc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

// exchange returns a small archive: a warcinfo, and the request, response and metadata of each
// page.
func exchange(pages int) []Entry {
	list := []Entry{{Type: Warcinfo, ID: NewID(), Date: noon, ContentType: TypeFields,
		More:    Fields{{Filename, "x.warc.gz"}},
		Payload: Fields{{"software", "acapcrawl"}, {"format", "WARC File Format 1.1"}}.Bytes()}}
	for i := range pages {
		url := fmt.Sprintf("https://www.example.com/Page-%d.html?b=%d&a='", i, i)
		body := bytes.Repeat([]byte(fmt.Sprintf("<p>page %d</p>\r\n\r\n", i)), i)
		response := Entry{Type: Response, ID: NewID(), Date: noon.Add(time.Duration(i) * time.Second), Target: url,
			ContentType: TypeResponse,
			Head:        []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nServer: naïve\r\n\r\n"),
			Payload:     body}
		list = append(list,
			Entry{Type: Request, ID: NewID(), Date: response.Date, Target: url, ContentType: TypeRequest,
				More: Fields{{ConcurrentTo, Ref(response.ID)}},
				Head: []byte("GET / HTTP/1.1\r\nHost: www.example.com\r\n\r\n")},
			response,
			Entry{Type: Metadata, ID: NewID(), Date: response.Date, Target: url, ContentType: TypeFields,
				More:    Fields{{RefersTo, Ref(response.ID)}},
				Payload: Fields{{"fetchTimeMs", "12"}}.Bytes()})
	}
	return list
}

func write(t *testing.T, compressed bool, entries ...Entry) ([]byte, []Place) {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, compressed)
	var places []Place
	for _, e := range entries {
		p, err := w.Write(e)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, p)
	}
	return out.Bytes(), places
}

// got is the result of reading a record: its type and block, or the damage.
type got struct {
	kind, target string
	offset       int64
	block        []byte
	digest       string // result of Check
	damage       *Damage
}

// readAll reads a file to its end. It fails the test on any error except *Damage.
func readAll(t *testing.T, r io.Reader) (list []got) {
	t.Helper()
	in := NewReader(r)
	for {
		rec, err := in.Next()
		var d *Damage
		switch {
		case err == io.EOF:
			return list
		case errors.As(err, &d):
			list = append(list, got{damage: d, offset: d.Offset})
			continue
		case err != nil:
			t.Fatal(err)
		}
		g := got{kind: rec.Type(), target: rec.Target(), offset: rec.Offset}
		if g.block, err = io.ReadAll(rec.Block); err != nil && !errors.As(err, &g.damage) {
			t.Fatal(err)
		}
		_, body := splitHead(g.block)
		g.digest = rec.Check(g.block, body, g.block)
		list = append(list, g)
	}
}

func TestRoundTrip(t *testing.T) {
	entries := exchange(40)
	for _, compressed := range []bool{true, false} {
		file, places := write(t, compressed, entries...)
		for name, r := range map[string]io.Reader{"whole": bytes.NewReader(file),
			"octets": iotest.OneByteReader(bytes.NewReader(file))} {
			list := readAll(t, r)
			if len(list) != len(entries) {
				t.Fatalf("compressed %v, %s: %d records of %d", compressed, name, len(list), len(entries))
			}
			for i, g := range list {
				e := entries[i]
				if g.damage != nil || g.digest != "" || g.kind != e.Type || g.target != e.Target ||
					g.offset != places[i].Offset ||
					!bytes.Equal(g.block, slices.Concat(e.Head, e.Payload)) {
					t.Errorf("compressed %v, %s, record %d: %+v", compressed, name, i, g)
				}
			}
		}
		if last := places[len(places)-1]; last.Offset+last.Length != int64(len(file)) {
			t.Errorf("the last record ends at %d of %d", last.Offset+last.Length, len(file))
		}
	}
}

// Each record can be read from its place, which the index needs.
func TestPlaces(t *testing.T) {
	entries := exchange(5)
	for _, compressed := range []bool{true, false} {
		file, places := write(t, compressed, entries...)
		for i, p := range places {
			list := readAll(t, bytes.NewReader(file[p.Offset:p.Offset+p.Length]))
			if len(list) != 1 || list[0].damage != nil || list[0].kind != entries[i].Type {
				t.Errorf("compressed %v: at %v there is %+v", compressed, p, list)
			}
		}
	}
}

// Next skips a block that was not read, or not to its end.
func TestUnread(t *testing.T) {
	file, _ := write(t, true, exchange(10)...)
	in := NewReader(bytes.NewReader(file))
	for i := range 31 {
		rec, err := in.Next()
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if i%2 == 0 {
			io.CopyN(io.Discard, rec.Block, 5)
		}
	}
	if _, err := in.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// Only the broken record is lost and reported. The records before and after it are read.
func TestDamage(t *testing.T) {
	entries := exchange(6)
	const broken = 8 // index of the record with the response of page 2
	for _, compressed := range []bool{true, false} {
		whole, places := write(t, compressed, entries...)
		p := places[broken]
		end, middle := p.Offset+p.Length, p.Offset+p.Length/2
		if !compressed {
			middle = p.Offset + 12 // an octet in the name of a field
		}
		for name, file := range map[string][]byte{
			"changed":            slices.Concat(whole[:middle], []byte{0xff, 0, 0xff, 0, 0xff}, whole[middle+5:]),
			"changed at the end": slices.Concat(whole[:end-10], []byte{0xff, 0, 0xff, 0, 0xff}, whole[end-5:]),
			"its end is cut out": slices.Concat(whole[:end-10], whole[end:]),
			"lines in its place": slices.Concat(whole[:p.Offset], []byte("something else\r\n\r\nof two lines\r\n"),
				whole[end:]),
			"octets in its place": slices.Concat(whole[:p.Offset], []byte{0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8,
				0x1f, 0x8b}, whole[end:]),
		} {
			damaged, read := 0, map[string]bool{}
			for _, g := range readAll(t, bytes.NewReader(file)) {
				if g.damage != nil || g.digest != "" {
					damaged++
					continue
				}
				read[g.kind+g.target] = true
			}
			for i, e := range entries {
				// without compression, the end of a record is detected only if the next record
				// begins on a new line
				if i != broken && !read[e.Type+e.Target] && (compressed || name != "octets in its place" ||
					i != broken+1) {
					t.Errorf("compressed %v, %s: record %d, %s %s, is lost too", compressed, name, i, e.Type, e.Target)
				}
			}
			if damaged == 0 {
				t.Errorf("compressed %v, %s: nothing is said of it", compressed, name)
			}
			if read[entries[broken].Type+entries[broken].Target] {
				t.Errorf("compressed %v, %s: the broken record is read", compressed, name)
			}
		}
	}
}

// All complete records of a truncated file are read, wherever it is cut off.
func TestBreaksOff(t *testing.T) {
	entries := exchange(3)
	for _, compressed := range []bool{true, false} {
		whole, places := write(t, compressed, entries...)
		for end := range whole {
			list := readAll(t, bytes.NewReader(whole[:end]))
			complete := 0
			for _, p := range places {
				if p.Offset+p.Length <= int64(end) {
					complete++
				}
			}
			read := 0
			for _, g := range list {
				if g.damage == nil && g.digest == "" {
					read++
				}
			}
			// only the newlines after the block of the last record may be missing
			if read < complete || read > complete+1 {
				t.Fatalf("compressed %v, of %d octets: %d records, %d are whole", compressed, end, read, complete)
			}
		}
	}
}

const foreign = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://example.com/a>\r\nWARC-Date: " +
	"2020-02-03T04:05:06Z\r\n" +
	"WARC-Record-ID: <urn:uuid:1>\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n" +
	"%s\r\n\r\n"

func record(block string) string { return fmt.Sprintf(foreign, len(block), block) }

func TestForeign(t *testing.T) {
	http := "HTTP/1.1 200 OK\r\n\r\nhello"
	packed := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
		return b.String()
	}
	for _, test := range []struct {
		name, file    string
		read, damaged int
	}{
		{"empty", "", 0, 0},
		{"newlines", "\r\n\r\n\n", 0, 0},
		{"text", "no WARC at all, but a text\nof lines\n", 0, 1},
		{"gzip of text", packed("no WARC at all"), 0, 1},
		{"one member for all", packed(record(http) + record(http)), 2, 0},
		{"lines end with a line feed", strings.ReplaceAll(record("x"), "\r\n", "\n"), 1, 0},
		{"no newlines after the block", strings.TrimRight(record(http), "\r\n") + record(http), 2, 0},
		{"many newlines", record(http) + "\r\n\r\n\r\n" + record(http), 2, 0},
		{"folded field", strings.Replace(record(http), "WARC-Type: response", "WARC-Type:\r\n\tresponse", 1), 1, 0},
		{"plain, then packed", record(http) + packed(record(http)) + record(http), 3, 0},
		{"other version", strings.Replace(record(http), "WARC/1.0", "WARC/0.18", 1) + record(http), 1, 1},
		{"no length", strings.Replace(record(http), "Content-Length", "X-Length", 1) + record(http), 1, 1},
		{"negative length", strings.Replace(record(http), "Content-Length: ", "Content-Length: -", 1) + record(http), 1,
			1},
		{"huge length", strings.Replace(record(http), "Content-Length: ", "Content-Length: 99999999999999999999", 1) +
			record(http), 1, 1},
		{"too long", record(http) + fmt.Sprintf(foreign, len(http)+40, http) + record(http), 2, 1},
		{"too short", record(http) + fmt.Sprintf(foreign, len(http)-3, http) + record(http), 2, 1},
		{"too long, packed", packed(record(http)) + packed(fmt.Sprintf(foreign, len(http)+40, http)) +
			packed(record(http)), 2, 1},
		{"too short, packed", packed(record(http)) + packed(fmt.Sprintf(foreign, len(http)-3, http)) +
			packed(record(http)), 2, 1},
		{"too short, one member", packed(record(http) + fmt.Sprintf(foreign, len(http)-3, http) + record(http)), 2, 1},
		{"line that is no field", strings.Replace(record(http), "WARC-Type", "WARC Type is\r\nWARC-Type", 1) +
			record(http), 1, 1},
		{"endless fields", "WARC/1.0\r\n" + strings.Repeat("A: b\r\n", longestHeader/6+2) + "\r\n" + record(http), 1,
			1},
		{"endless line", "WARC/1.0\r\nA: " + strings.Repeat("b", longestHeader) + "\r\n\r\n" + record(http), 1, 1},
	} {
		read, damaged := 0, 0
		for _, g := range readAll(t, strings.NewReader(test.file)) {
			if g.damage != nil {
				damaged++
				continue
			}
			read++
			if g.kind != "response" || g.target != "http://example.com/a" {
				t.Errorf("%s: %+v", test.name, g)
			}
		}
		if read != test.read || damaged != test.damaged {
			t.Errorf("%s: %d read and %d damaged, want %d and %d", test.name, read, damaged, test.read, test.damaged)
		}
	}
}

// Each intact record is read, however close to it others are damaged: octets between two members, and a member that is
// cut off, which is noticed only behind the beginning of the next one.
func TestDamagesCloseTogether(t *testing.T) {
	member := func(block string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, record(block))
		_ = w.Close()
		return b.Bytes()
	}
	cut := member("<p>The second.")
	file := slices.Concat(member("<p>The first."), []byte("XX"), cut[:len(cut)-20], []byte("XX"), cut[:len(cut)-20],
		member("<p>The last."))
	whole, damaged := 0, 0
	for _, g := range readAll(t, bytes.NewReader(file)) {
		if g.damage != nil || g.digest != "" {
			damaged++
		} else {
			whole++
		}
	}
	if whole != 2 || damaged < 3 {
		t.Errorf("%d records are read, %d are damaged", whole, damaged)
	}
}

// A file that is damaged everywhere is read in a time that grows with its length, and what is left out is reported.
func TestDamagesEverywhere(t *testing.T) {
	file := strings.Repeat("WARC/1.0\r\nContent-Length: 200000\r\n\r\n", 1<<16)
	var read counter
	leftOut := 0
	for _, g := range readAll(t, io.TeeReader(strings.NewReader(file), &read)) {
		if g.damage != nil && strings.Contains(g.damage.Error(), "left out") {
			leftOut++
		}
	}
	if leftOut == 0 || int(read) != len(file) {
		t.Errorf("%d records are left out; %d octets of %d are read", leftOut, read, len(file))
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// Damage at the end of a record far longer than the window is reported, and the next record is
// read.
func TestLongDamage(t *testing.T) {
	noise := make([]byte, 3*window)
	rand.NewChaCha8([32]byte{}).Read(noise)
	entries := exchange(3)
	entries[5].Payload = noise
	whole, places := write(t, true, entries...)
	p := places[5]
	file := slices.Clone(whole)
	file[p.Offset+p.Length-6] ^= 1 // an octet of the checksum of the gzip member
	file = slices.Concat(file[:p.Offset+p.Length/2], file[p.Offset+p.Length/2+1:])
	read := 0
	for _, g := range readAll(t, bytes.NewReader(file)) {
		if g.damage == nil && g.digest == "" {
			read++
		}
	}
	if read != len(entries)-1 {
		t.Errorf("%d of %d records are read", read, len(entries)-1)
	}
}

func TestReadError(t *testing.T) {
	whole, _ := write(t, true, exchange(10)...)
	broken := errors.New("the disk is broken")
	for _, end := range []int{0, 1, 200, len(whole) / 2, len(whole)} {
		in := NewReader(io.MultiReader(bytes.NewReader(whole[:end]), iotest.ErrReader(broken)))
		var err error
		for err == nil {
			_, err = in.Next()
		}
		if !errors.Is(err, broken) {
			t.Errorf("after %d octets: %v", end, err)
		}
		if _, err = in.Next(); !errors.Is(err, broken) {
			t.Errorf("after %d octets, again: %v", end, err)
		}
	}
}

func TestWriteError(t *testing.T) {
	e := exchange(1)[2]
	e.Head = []byte("HTTP/1.1 200 OK\r\n")
	if _, err := NewWriter(io.Discard, true).Write(e); err == nil {
		t.Error("a head without a blank line is written")
	}
	e.Head = []byte("HTTP/1.1 200 OK\r\n\r\nbody")
	if _, err := NewWriter(io.Discard, true).Write(e); err == nil {
		t.Error("a head with a body is written")
	}
}

// No value of a field can begin a new line in the file, whatever a site sends.
func TestInjection(t *testing.T) {
	e := Entry{Type: Metadata, ID: NewID(), Date: noon, Target: "http://example.com/\r\nWARC-Type: response",
		ContentType: TypeFields,
		Payload:     Fields{{"line", "a\r\n\r\nWARC/1.0\r\nb\x00\xff"}}.Bytes()}
	file, _ := write(t, false, e)
	list := readAll(t, bytes.NewReader(file))
	if len(list) != 1 || list[0].kind != Metadata || string(list[0].block) != "line: a    WARC/1.0  b \uFFFD\r\n" {
		t.Errorf("%+v", list)
	}
}

func TestDates(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-21T12:00:00Z": "2026-11-21T12:00:00Z", "2026-11-21T12:00:00.5Z": "2026-11-21T12:00:00.5Z",
		"2026-11-21T13:00:00+01:00": "2026-11-21T12:00:00Z",
		"2026-11-21":                "2026-11-21T00:00:00Z", "2026-11": "2026-11-01T00:00:00Z",
		"2026":              "2026-01-01T00:00:00Z",
		"2026-11-21T12:00Z": "2026-11-21T12:00:00Z", "20261121120000": "2026-11-21T12:00:00Z", "yesterday": "", "": "",
	} {
		at, ok := ParseDate(text)
		if ok != (want != "") || ok && Date(at) != want {
			t.Errorf("%q: %v, %v", text, at, ok)
		}
	}
}
