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

// Message is the HTTP request or response in a block.
type Message struct {
	Head   []byte // from its first line to the blank line, unchanged
	Line   string // the first line of the head
	Header http.Header
	Body   []byte // what follows the head, unchanged; nil if no blank line ends the head
}

// longestHead is the maximal length of a message's head in octets.
const longestHead = 1 << 20

// ParseMessage splits a block into head and body. It is lenient, because archives contain messages
// with errors: a line may end with a line feed only, and lines that are not header fields are
// skipped. It returns an error if the head is too long, or is not the head of an HTTP message.
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
		return m, fmt.Errorf("is not an HTTP message: it begins with %.40q", m.Line)
	}
	return m, nil
}

// splitHead splits block after the blank line that ends a head. Without a blank line, the whole
// block is the head.
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

// Status returns the status code of a response, or 0 if the first line has none.
func (m Message) Status() int {
	_, rest, _ := strings.Cut(m.Line, " ")
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	n, err := strconv.Atoi(code)
	if err != nil || n < 100 || n > 999 {
		return 0
	}
	return n
}

// Proto returns the protocol and version in the first line, or "".
func (m Message) Proto() string {
	if i := strings.LastIndex(m.Line, "HTTP/"); i >= 0 {
		proto, _, _ := strings.Cut(m.Line[i:], " ")
		return proto
	}
	return ""
}

// Method returns the method of a request.
func (m Message) Method() string {
	method, _, _ := strings.Cut(m.Line, " ")
	return method
}

// Payload returns the body without its transfer coding (RFC 9112 7.1). whole is false if the body
// is truncated. Some tools remove the coding but leave the header field. Therefore a body that does
// not begin with a chunk is returned unchanged.
func (m Message) Payload() (payload []byte, whole bool) {
	codings := strings.ToLower(strings.Join(m.Header.Values("Transfer-Encoding"), ","))
	last := strings.TrimSpace(codings[strings.LastIndexByte(codings, ',')+1:])
	if last != "chunked" || !beginsChunk(m.Body) {
		return m.Body, true
	}
	payload, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(m.Body)))
	return payload, err == nil
}

// beginsChunk reports whether body begins with a chunk: a line with its size, followed by that many
// octets and a line end. The result is also true if the end of the chunk is missing.
func beginsChunk(body []byte) bool {
	line, _, found := bytes.Cut(body, []byte("\n"))
	size, _, _ := strings.Cut(strings.TrimRight(string(line), "\r"), ";")
	n, err := strconv.ParseUint(strings.TrimSpace(size), 16, 31)
	if !found || err != nil {
		return false
	}
	rest := body[len(line)+1:]
	return uint64(len(rest)) < n || n == 0 ||
		bytes.HasPrefix(rest[n:], []byte("\r\n")) || bytes.HasPrefix(rest[n:], []byte("\n"))
}

// original is the prefix of the names of header fields that no longer describe the body. Other
// archiving tools use the same prefix.
const original = "X-Archive-Orig-"

// Consistent returns head without fields that contradict the body. The body has length octets and
// no transfer coding. Contradicting fields are renamed to X-Archive-Orig-NAME. coded says that the
// body still has the codings in Content-Encoding.
func Consistent(head []byte, length int64, coded bool) []byte {
	names := []string{"Transfer-Encoding"}
	if !coded {
		names = append(names, "Content-Encoding")
	}
	m, _ := ParseMessage(head) // fields that cannot be read are ignored
	for _, said := range m.Header.Values("Content-Length") {
		if said != strconv.FormatInt(length, 10) {
			names = append(names, "Content-Length")
			break
		}
	}
	return renameFields(head, names...)
}

// renameFields returns head with the prefix X-Archive-Orig- added to the named fields. All other
// lines are unchanged.
func renameFields(head []byte, names ...string) []byte {
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

// complete reports whether head is empty or ends with its first blank line.
func complete(head []byte) bool {
	before, after := splitHead(head)
	return len(head) == 0 || len(after) == 0 && bytes.HasSuffix(before, []byte("\n")) && endsBlank(before)
}

// endsBlank reports whether the last line of head is blank.
func endsBlank(head []byte) bool {
	head = bytes.TrimSuffix(bytes.TrimSuffix(head, []byte("\n")), []byte("\r"))
	return len(head) == 0 || bytes.HasSuffix(head, []byte("\n"))
}

// Complete returns the head in the form that Writer requires: up to its blank line, which Complete
// adds if it is missing.
func Complete(head []byte) []byte {
	head, _ = splitHead(head)
	if !complete(head) {
		head = bytes.TrimRight(head, "\r\n")
		head = append(head[:len(head):len(head)], "\r\n\r\n"...)
	}
	return head
}
