package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
)

// FuzzReader reads arbitrary data. The Reader must terminate, must report an offset with each
// damage, and each record that it reads can be written and read again without change.
func FuzzReader(f *testing.F) {
	http := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
	for _, compressed := range []bool{true, false} {
		var out bytes.Buffer
		w := NewWriter(&out, compressed)
		for _, e := range exchange(2) {
			if _, err := w.Write(e); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(out.Bytes())
		f.Add(out.Bytes()[:out.Len()-20])
		f.Add(append(out.Bytes()[30:], out.Bytes()...))
	}
	f.Add([]byte(record(http)))
	f.Add([]byte(record(http) + fmt.Sprintf(foreign, 3, http) + record(http)))
	f.Fuzz(func(t *testing.T, file []byte) {
		in := NewReader(bytes.NewReader(file))
		for n := 0; ; n++ {
			if n > 2*len(file)+2 {
				t.Fatal("it does not end")
			}
			rec, err := in.Next()
			if err == io.EOF {
				return
			}
			var d *Damage
			if errors.As(err, &d) {
				if d.Offset < 0 || d.Offset > int64(len(file)) {
					t.Fatalf("%v in a file of %d octets", d, len(file))
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if rec.Offset < 0 || rec.Offset >= int64(len(file)) || rec.Length < 0 {
				t.Fatalf("a record of %d octets at %d of %d", rec.Length, rec.Offset, len(file))
			}
			block, err := io.ReadAll(io.LimitReader(rec.Block, 1<<20))
			if err != nil && !errors.As(err, &d) {
				t.Fatal(err)
			}
			again(t, rec, block)
		}
	})
}

// again writes a record, reads it back and compares.
func again(t *testing.T, rec *Record, block []byte) {
	m, err := ParseMessage(block)
	payload, _ := m.Payload()
	rec.Check(block, m.Body, payload)
	if err != nil {
		return
	}
	at, _ := rec.Date()
	e := Entry{Type: Response, ID: "urn:x", Date: at, Target: rec.Target(), ContentType: rec.ContentType(),
		Head: Complete(renameFields(m.Head, "Transfer-Encoding")), Payload: payload}
	var out bytes.Buffer
	p, err := NewWriter(&out, false).Write(e)
	if err != nil {
		t.Fatal(err)
	}
	if l, ok := e.Index(p, "x"); !ok || bytes.ContainsAny([]byte(l.String()), "\r\n") {
		t.Fatalf("the line %q", l)
	}
	back, err := NewReader(&out).Next()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(back.Block)
	if err != nil || !bytes.Equal(text, append(bytes.Clone(e.Head), e.Payload...)) ||
		back.Check(text, e.Payload) != "" {
		t.Fatalf("what was read is not what was written: %v", err)
	}
}
