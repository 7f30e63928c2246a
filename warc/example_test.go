package warc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/acapcrawl/acapcrawl/warc"
)

// A Writer writes records, and says where each of them is, for an index.
func ExampleWriter() {
	var file bytes.Buffer
	w := warc.NewWriter(&file, true)
	answer := warc.Entry{Type: warc.Response, ID: warc.NewID(), Date: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC),
		Target: "http://example.com/", ContentType: warc.TypeResponse,
		Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Payload: []byte("<p>The ferry")}
	place, err := w.Write(answer)
	if err != nil {
		fmt.Println(err)
		return
	}
	line, _ := answer.Index(place, "example.warc.gz")
	fmt.Println(line.Key, line.Timestamp, place.Offset)
	// Output:
	// com,example)/ 20260105120000 0
}

// A Reader returns one record after the other. A broken record is an error with its place; reading goes on after it.
func ExampleReader() {
	var file bytes.Buffer
	w := warc.NewWriter(&file, false)
	for _, target := range []string{"http://example.com/a", "http://example.com/b"} {
		_, err := w.Write(warc.Entry{Type: warc.Resource, ID: warc.NewID(), Date: time.Now(), Target: target,
			ContentType: "text/plain", Payload: []byte("text of " + target)})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	r := warc.NewReader(&file)
	for {
		record, err := r.Next()
		switch _, damaged := errors.AsType[*warc.Damage](err); {
		case errors.Is(err, io.EOF):
			return
		case damaged:
			fmt.Println(err)
			continue
		case err != nil:
			fmt.Println(err)
			return
		}
		block, err := io.ReadAll(record.Block)
		fmt.Println(record.Target(), string(block), err)
	}
	// Output:
	// http://example.com/a text of http://example.com/a <nil>
	// http://example.com/b text of http://example.com/b <nil>
}
