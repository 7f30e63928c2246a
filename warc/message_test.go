package warc

import (
	"crypto/sha1"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

func TestMessage(t *testing.T) {
	for _, test := range []struct {
		name, block   string
		status        int
		kind, payload string
		whole         bool
	}{
		{"plain", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nbody", 200, "text/html", "body", true},
		{"line feeds", "HTTP/1.1 200 OK\ncontent-TYPE: text/html\n\nbody", 200, "text/html", "body", true},
		{"no reason", "HTTP/1.0 404\r\n\r\n", 404, "", "", true},
		{"HTTP/2", "HTTP/2 200\r\n\r\nx", 200, "", "x", true},
		{"no blank line", "HTTP/1.1 200 OK\r\nContent-Type: a/b", 200, "a/b", "", true},
		{"folded", "HTTP/1.1 200 OK\r\nContent-Type: text/html;\r\n charset=x\r\n\r\n", 200, "text/html; charset=x", "",
			true},
		{"no field", "HTTP/1.1 200 OK\r\nwhat is this\r\nContent-Type: a/b\r\n\r\n", 200, "a/b", "", true},
		{"no code", "HTTP/1.1 OK\r\n\r\n", 0, "", "", true},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n3;x=y\r\n!!!\r\n0\r\n\r\n", 200,
			"", "body!!!", true},
		{"chunked, undone already", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nbody\r\n", 200, "",
			"body\r\n", true},
		{"chunked, undone, like a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbody of two\r\n",
			200, "", "2\r\nbody of two\r\n", true},
		{"chunked, broken off", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4\r\nbody\r\n8\r\nbo", 200,
			"", "bodybo", false},
		{"chunked, empty", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, "", "", true},
	} {
		m, err := ParseMessage([]byte(test.block))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		payload, whole := m.Payload()
		if m.Status() != test.status || m.Header.Get("Content-Type") != test.kind || string(payload) != test.payload ||
			whole != test.whole {
			t.Errorf("%s: status %d, %q, payload %q, whole %v", test.name, m.Status(), m.Header.Get("Content-Type"),
				payload, whole)
		}
		if string(m.Head)+string(m.Body) != test.block {
			t.Errorf("%s: head and body are not the block", test.name)
		}
	}
	for _, block := range []string{"", "\r\n\r\n", "<html>", "\x1f\x8b"} {
		if _, err := ParseMessage([]byte(block)); err == nil {
			t.Errorf("%q is taken for HTTP", block)
		}
	}
	if m, err := ParseMessage([]byte("POST /x HTTP/1.1\r\nHost: h\r\n\r\na=b")); err != nil || m.Method() != "POST" ||
		m.Proto() != "HTTP/1.1" {
		t.Errorf("a request: %v, %q %q", err, m.Method(), m.Proto())
	}
}

func TestRenameFields(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nA: Transfer-Encoding: x\r\ntransfer-encoding : chunked\r\nContent-Length: 5\r\n\r\n"
	want := "HTTP/1.1 200 OK\r\nA: Transfer-Encoding: x\r\nX-Archive-Orig-transfer-encoding : " +
		"chunked\r\nContent-Length: 5\r\n\r\n"
	if got := string(renameFields([]byte(head), "Transfer-Encoding")); got != want {
		t.Errorf("%q", got)
	}
}

func TestDigests(t *testing.T) {
	text := []byte("the text")
	sum := sha1.Sum(text)
	for _, d := range []string{
		"sha1:" + base32.StdEncoding.EncodeToString(sum[:]), "SHA-1:" + hex.EncodeToString(sum[:]), "sha1:" +
			base64.StdEncoding.EncodeToString(sum[:]),
		"sha1:" + base64.RawURLEncoding.EncodeToString(sum[:]), Digest(text), Digest(text[:3], text[3:]),
	} {
		if ok, known := Matches(d, text[:5], text[5:]); !ok || !known {
			t.Errorf("%s: %v, %v", d, ok, known)
		}
		if ok, known := Matches(d, text[:5]); ok || !known {
			t.Errorf("%s of another text: %v, %v", d, ok, known)
		}
	}
	for d, sayable := range map[string]bool{"": false, "sha1": false, "crc32:00000000": false, "sha1:": true,
		"sha1:xyz": true} {
		if ok, known := Matches(d, text); ok || known != sayable {
			t.Errorf("%q: %v, %v", d, ok, known)
		}
	}
}

// Parsing a value that is folded over many lines takes linear time. It used to take quadratic time.
func TestManyLines(t *testing.T) {
	const n = 20000
	lines := "a: b\n" + strings.Repeat(" x\n", n)
	want := "b" + strings.Repeat(" x", n)
	if got := testing.AllocsPerRun(1, func() {
		if f := ParseFields([]byte(lines)); len(f) != 1 || f[0].Value != want {
			t.Error("the value is another")
		}
	}); got > n/10 {
		t.Errorf("%v allocations for %d lines", got, n)
	}
	m, err := ParseMessage([]byte("HTTP/1.1 200 OK\r\n" + lines + "\r\nbody"))
	if err != nil || m.Header.Get("a") != want || string(m.Body) != "body" {
		t.Errorf("%.40q, %v", m.Header.Get("a"), err)
	}
	if _, err := ParseMessage([]byte("HTTP/1.1 200 OK\r\na: b\r\n" + strings.Repeat(" x\n", longestHead/3) +
		"\r\nbody")); err == nil {
		t.Error("a head of any length is read")
	}
	if m, err := ParseMessage([]byte("HTTP/1.1 200 OK\r\na: b\r\n")); err != nil || m.Body != nil {
		t.Errorf("a head without its end: %+v, %v", m, err)
	}
}
