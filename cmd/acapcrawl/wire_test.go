package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// noise returns the text of a page that cannot be compressed.
func noise() string {
	random := make([]byte, 4*chunk)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(random)
	return "<!DOCTYPE html><html lang=en><p>" + base64.StdEncoding.EncodeToString(random)
}

// A verb reads its standard input in its own process and in the process of another verb.
func TestStandardInput(t *testing.T) {
	_, data := crawled(t, "/a.html", "/noise.html")
	exported := call(t.Context(), data, "archive", "export", "-o", "-")
	if exported.status != statusDone || len(exported.stdout) < 4*chunk {
		t.Fatalf("status %d, %d bytes, %s", exported.status, len(exported.stdout), exported.stderr)
	}
	take := func(data string, in io.Reader, args ...string) answer {
		var stdout, stderr bytes.Buffer
		c := Command{Stdin: in, Stdout: &stdout, Stderr: &stderr, Env: []string{"HOME=" + t.TempDir()}}
		status := c.Main(t.Context(), append([]string{"archive", "import", "--data", data}, args...))
		return answer{status, stdout.String(), stderr.String()}
	}
	alone, through := t.TempDir(), t.TempDir()
	s, end := own(t, through, "crawl")
	s.serve()
	want := take(alone, strings.NewReader(exported.stdout), "--assume-policy", "none", "-")
	if got := take(through, strings.NewReader(exported.stdout), "--assume-policy", "none", "-"); got != want ||
		got.status != statusDone {
		t.Errorf("said %v, alone %v", got, want)
	}
	broken := io.MultiReader(strings.NewReader(exported.stdout[:chunk+1]),
		iotest.ErrReader(errors.New("a cable is cut")))
	if got := take(through, broken, "--assume-policy", "none", "-"); got.status != statusFailed ||
		!strings.Contains(got.stderr, "a cable is cut") {
		t.Errorf("said %v", got)
	}

	// The command must not be started twice: the second start could not read standard input again.
	file := filepath.Join(t.TempDir(), "a.warc.gz")
	if err := os.WriteFile(file, []byte(exported.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := take(through, strings.NewReader("ACAP-crawler: *\n"), "--assume-policy", "-",
		file); got.status != statusFailed || !strings.Contains(got.stderr, "Try: name a file") {
		t.Errorf("said %v", got)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if got, want := call(t.Context(), through, "archive", "stats"), call(t.Context(), alone, "archive",
		"stats"); got != want || got.status != statusDone {
		t.Errorf("%v, alone %v", got, want)
	}
}
