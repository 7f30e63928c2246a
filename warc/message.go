package warc

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"strconv"
	"strings"
)

// Message is an HTTP request or response as a block holds it.
type Message struct {
	Head   []byte // from its first line to the blank line, as it stands
	Line   string // the first line
	Header http.Header
	Body   []byte // what follows the head, as it stands; nil where no blank line ends the head
}

// longestHead bounds the head of a message, in octets.
const longestHead = 1 << 20

// ParseMessage takes a block apart. It is as lenient as archives need it: lines may end with a line feed alone, and those that are
// no header field are left out. Of a head that is too long nothing is read.
func ParseMessage(block []byte) (Message, error) {
	head, body := splitHead(block)
	m := Message{Head: head, Body: body, Header: http.Header{}}
	if len(head) > longestHead {
		return m, fmt.Errorf("has a head of more than %d octets", longestHead)
	}
	var fields folded
	for line := range bytes.Lines(head) {
		text := strings.TrimRight(string(line), "\r\n")
		if m.Line == "" {
			m.Line = text
			continue
		}
		fields.add(text)
	}
	for _, f := range fields.all() {
		name := textproto.CanonicalMIMEHeaderKey(f.Name)
		m.Header[name] = append(m.Header[name], f.Value)
	}
	if !strings.HasPrefix(m.Line, "HTTP/") && !strings.Contains(m.Line, " HTTP/") {
		return m, fmt.Errorf("is no HTTP message: it begins with %.40q", m.Line)
	}
	return m, nil
}

// splitHead finds the blank line that ends a head. Without one, all of the block is head.
func splitHead(block []byte) (head, body []byte) {
	for at := 0; at < len(block); {
		end := bytes.IndexByte(block[at:], '\n')
		if end < 0 {
			break
		}
		blank := len(bytes.TrimRight(block[at:at+end], "\r")) == 0
		at += end + 1
		if blank {
			return block[:at], block[at:]
		}
	}
	return block, nil
}

// Status is the code of a response; 0 where the first line has none.
func (m Message) Status() int {
	_, rest, _ := strings.Cut(m.Line, " ")
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	n, err := strconv.Atoi(code)
	if err != nil || n < 100 || n > 999 {
		return 0
	}
	return n
}

// Proto is the protocol and its version that the first line names.
func (m Message) Proto() string {
	if i := strings.LastIndex(m.Line, "HTTP/"); i >= 0 {
		proto, _, _ := strings.Cut(m.Line[i:], " ")
		return proto
	}
	return ""
}

// Method is that of a request.
func (m Message) Method() string {
	method, _, _ := strings.Cut(m.Line, " ")
	return method
}

// Payload is the body with its transfer coding undone (RFC 9112 7.1); whole says that it does not break off. Some tools undo the
// coding and leave the field: a body that does not begin with a chunk is taken as it is.
func (m Message) Payload() (payload []byte, whole bool) {
	codings := strings.ToLower(strings.Join(m.Header.Values("Transfer-Encoding"), ","))
	last := strings.TrimSpace(codings[strings.LastIndexByte(codings, ',')+1:])
	if last != "chunked" || !beginsChunk(m.Body) {
		return m.Body, true
	}
	payload, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(m.Body)))
	return payload, err == nil
}

// beginsChunk reports whether body begins with the size of a chunk, on a line of its own, and what follows is as long.
func beginsChunk(body []byte) bool {
	line, _, found := bytes.Cut(body, []byte("\n"))
	size, _, _ := strings.Cut(strings.TrimRight(string(line), "\r"), ";")
	n, err := strconv.ParseUint(strings.TrimSpace(size), 16, 31)
	if !found || err != nil {
		return false
	}
	rest := body[len(line)+1:]
	return uint64(len(rest)) < n || bytes.HasPrefix(rest[n:], []byte("\r\n")) || bytes.HasPrefix(rest[n:], []byte("\n")) || n == 0
}

// original is how a field is named that no longer says how the body is made, as other tools of archives do it.
const original = "X-Archive-Orig-"

// Consistent returns head without what contradicts the body behind it, of length octets and without
// transfer coding: such fields are renamed to X-Archive-Orig-NAME. coded says that the body is in
// the codings that Content-Encoding names.
func Consistent(head []byte, length int64, coded bool) []byte {
	names := []string{"Transfer-Encoding"}
	if !coded {
		names = append(names, "Content-Encoding")
	}
	m, _ := ParseMessage(head) // fields that cannot be read say nothing
	for _, said := range m.Header.Values("Content-Length") {
		if said != strconv.FormatInt(length, 10) {
			names = append(names, "Content-Length")
			break
		}
	}
	return undone(head, names...)
}

// undone returns a head in which the fields named speak of the original message alone: they are
// renamed to X-Archive-Orig-NAME. All else stays as it is.
func undone(head []byte, names ...string) []byte {
	out := make([]byte, 0, len(head)+len(original)*len(names))
	for line := range bytes.Lines(head) {
		name, _, found := bytes.Cut(line, []byte(":"))
		for _, each := range names {
			if found && strings.EqualFold(string(bytes.TrimRight(name, " \t")), each) {
				out = append(out, original...)
			}
		}
		out = append(out, line...)
	}
	return out
}

// complete reports whether head is none or ends with its first blank line.
func complete(head []byte) bool {
	before, after := splitHead(head)
	return len(head) == 0 || len(after) == 0 && bytes.HasSuffix(before, []byte("\n")) && endsBlank(before)
}

// endsBlank reports whether the last line of head is blank.
func endsBlank(head []byte) bool {
	head = bytes.TrimSuffix(bytes.TrimSuffix(head, []byte("\n")), []byte("\r"))
	return len(head) == 0 || bytes.HasSuffix(head, []byte("\n"))
}

// Complete gives a head as Writer takes it: up to its blank line, which is added where there is none.
func Complete(head []byte) []byte {
	head, _ = splitHead(head)
	if !complete(head) {
		head = bytes.TrimRight(head, "\r\n")
		head = append(head[:len(head):len(head)], "\r\n\r\n"...)
	}
	return head
}
