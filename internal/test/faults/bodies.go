package faults

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// bodies returns the faults of the body before content decoding.
func bodies() []Fault {
	const ok = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\n"
	const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	return []Fault{
		text("/empty", Whole, ok+"Content-Length: 0\r\n\r\n"),
		text("/short", Cut, ok+"Content-Length: 100\r\n\r\nnot a hundred"),
		text("/long", Whole, ok+"Content-Length: 2\r\n\r\nok and more"),
		text("/huge-length", Cut, ok+"Content-Length: 9223372036854775807\r\n\r\nnot so long"),
		{Path: "/endless", End: Cut, serve: func(x *exchange) { x.send(ok + "\r\n"); x.forever("no end in sight ") }},
		{Path: "/drops", End: Cut, Slow: true, serve: func(x *exchange) { x.send(ok + "\r\n"); x.drip("drop ") }},
		{Path: "/stalled", End: Cut, Slow: true, serve: func(x *exchange) {
			x.send(ok +
				"Content-Length: 100\r\n\r\na beginning")
			x.hold()
		}},
		{Path: "/body-reset", End: Cut, serve: func(x *exchange) {
			x.send(ok +
				"Content-Length: 100\r\n\r\na beginning")
			x.reset()
		}},
		text("/chunk-cut", Cut, chunked+"9\r\na beginning"),
		text("/chunk-last", Cut, chunked+"4\r\ntext\r\n"),
		text("/chunk-size", Cut, chunked+"4\r\ntext\r\nzz\r\nmore\r\n0\r\n\r\n"),
		text("/chunk-huge", Cut, chunked+"4\r\ntext\r\nffffffffffffffff\r\nmore\r\n0\r\n\r\n"),
		text("/chunk-long-line", Cut, chunked+"4;"+strings.Repeat("x", 1<<20)+"\r\ntext\r\n0\r\n\r\n"),
		{Path: "/chunk-flood", End: Cut,
			serve: func(x *exchange) { x.send(chunked); x.forever("1;padding-padding-padding\r\nx\r\n") }},
		text("/trailer", Whole, chunked+"2\r\nok\r\n0\r\nX-Late: yes\r\n\r\n"),
		{Path: "/trailer-flood", End: Cut, serve: func(x *exchange) {
			x.send(chunked +
				"4\r\ntext\r\n0\r\n")
			x.forever("X-Late: yes, very late\r\n")
		}},
		text("/charset", Whole,
			"HTTP/1.1 200 OK\r\nConnection: close\r\n"+
				"Content-Type: text/html; charset=\"no/such\"; charset=utf-7\r\n"+
				"Content-Length: 4\r\n\r\n\xff\xfe\x00\x80"),
		text("/type", Whole,
			"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: ;;=/\"\r\nContent-Length: 2\r\n\r\nok"),
		text("/partial", Part,
			"HTTP/1.1 206 Partial Content\r\nConnection: close\r\n"+
				"Content-Range: bytes 0-1/100\r\nContent-Length: 2\r\n\r\nok"),
		text("/no-content", Whole, "HTTP/1.1 204 No Content\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"),
	}
}

// bombs returns the faults of the content coding.
func bombs() ([]Fault, error) {
	var all []Fault
	zeros := make([]byte, Size)
	short := []byte(strings.Repeat("The harbour lay still under the fog. ", 100))
	for _, c := range []struct {
		name string
		make func(io.Writer) (io.WriteCloser, error)
	}{
		{"gzip", func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, gzip.BestSpeed) }},
		{"deflate", func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriterLevel(w, zlib.BestSpeed) }},
		{"br", func(w io.Writer) (io.WriteCloser, error) { return brotli.NewWriterLevel(w, 1), nil }},
		{"zstd", func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		}},
	} {
		pack := func(b []byte) ([]byte, error) {
			var buf bytes.Buffer
			w, err := c.make(&buf)
			if err != nil {
				return nil, err
			}
			if _, err := w.Write(b); err != nil {
				return nil, err
			}
			err = w.Close()
			return buf.Bytes(), err
		}
		bomb, err := pack(zeros)
		if err != nil {
			return nil, err
		}
		twice, err := pack(bomb)
		if err != nil {
			return nil, err
		}
		whole, err := pack(short)
		if err != nil {
			return nil, err
		}
		all = append(all,
			packed("/"+c.name, Whole, c.name, whole),
			packed("/"+c.name+"-cut", Cut, c.name, whole[:len(whole)/2]),
			packed("/"+c.name+"-lie", Cut, c.name, []byte("\xff\xff this was never packed")),
			packed("/"+c.name+"-bomb", Cut, c.name, bomb),
			packed("/"+c.name+"-bomb-twice", Cut, c.name+", "+c.name, twice))
	}
	// This frame declares a window of 2 GiB (RFC 8878 3.1.1.1.2).
	return append(all, packed("/zstd-window", Cut, "zstd", []byte("\x28\xb5\x2f\xfd\x00\xa8\x29\x00\x00hello"))), nil
}

func packed(path string, end End, coding string, body []byte) Fault {
	return Fault{Path: path, End: end, serve: func(x *exchange) {
		if x.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n"+
			"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n",
			coding, len(body)) {
			_, _ = x.Write(body)
		}
	}}
}
