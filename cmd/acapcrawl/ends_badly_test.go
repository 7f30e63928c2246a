package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

const oneRecord = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:1>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n" +
	"WARC-Target-URI: http://quay.example/1\r\nContent-Length: 51\r\n\r\n" +
	"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nA gull\r\n\r\n"

// An import that fails reports what was imported before the failure.
func TestImportFails(t *testing.T) {
	dir := t.TempDir()
	first := filepath.Join(dir, "first.warc")
	if err := os.WriteFile(first, []byte(oneRecord), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	c := Command{Stdin: iotest.ErrReader(errors.New("the tape tore")), Stdout: &stdout, Stderr: &stderr}
	status := c.Main(t.Context(), []string{"archive", "import", "--json", "--assume-policy", "none", "--data",
		filepath.Join(dir, "data"), first, "-"})
	if status != statusFailed || !strings.Contains(stdout.String(), `"imported":1`) ||
		!strings.Contains(stderr.String(), "the tape tore") {
		t.Errorf("status %d, said %q, %q", status, stdout.String(), stderr.String())
	}
}

// An interrupted sweep reports nothing about pages that it did not examine.
func TestSweepInterrupted(t *testing.T) {
	_, data := crawled(t, "/a.html", "/shy.html", "/big.html")
	for _, flag := range []string{"--json=false", "--json"} {
		ctx, interrupt := context.WithCancel(t.Context())
		var stdout bytes.Buffer
		// drawing the progress of the first page interrupts the sweep
		screen := &progress{w: io.Discard, columns: func() int { interrupt(); return 80 }}
		c := Command{Stdout: &stdout, Stderr: screen}
		if status := c.Main(ctx, []string{"sweep", flag, "--data", data}); status != statusFailed || stdout.Len() > 0 ||
			ctx.Err() == nil {
			t.Errorf("%s: status %d, said %q", flag, status, stdout.String())
		}
	}
}
