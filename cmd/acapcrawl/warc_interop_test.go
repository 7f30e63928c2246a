package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/warcio"
	"github.com/acapcrawl/acapcrawl/site"
	"github.com/acapcrawl/acapcrawl/warc"
)

// checkVariable is the environment variable for the path of Python's warcio. The test needs it
// because only Python's warcio has the command check; npm's warcio does not.
const checkVariable = "ACAPCRAWL_WARCIO_CHECK"

// fleet returns a site whose answers use every way in which HTTP/1.1 can delimit and encode a body.
func fleet(t *testing.T) *httptest.Server {
	t.Helper()
	text := "<!DOCTYPE html><html lang=en><title>Pier</title><p>A gull sat on the pier. " +
		strings.Repeat("The tide was out. ", 300)
	html := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html; charset=utf-8") }
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "ACAP-crawler: *\nACAP-disallow-preserve: /private/\n")
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		html(w)
		for _, path := range []string{"/a.html", "/copy.html", "/chunked", "/packed", "/old", "/private/x",
			"/q?b=1&a='x'", "/none", "/data"} {
			fmt.Fprintf(w, "<a href=\"%s\">%s</a>\n", strings.ReplaceAll(path, "&", "&amp;"), path)
		}
	})
	// /a.html and /copy.html have the same content
	for _, path := range []string{"/a.html", "/copy.html", "/private/x", "/q", "/moved"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			io.WriteString(w, text)
		})
	}
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		html(w)
		for i := range 5 {
			fmt.Fprintf(w, "<p>Chunk %d.", i)
			http.NewResponseController(w).Flush()
		}
	})
	mux.HandleFunc("/packed", func(w http.ResponseWriter, _ *http.Request) {
		html(w)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, text+"<p>Packed.")
		z.Close()
	})
	mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/moved", http.StatusMovedPermanently)
	})
	mux.HandleFunc("/data", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write([]byte{0, 1, 2, 255, 13, 10, 13, 10, 'W', 'A', 'R', 'C', '/', '1', '.', '1', 13, 10})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// exported exports a data directory to a WARC file and returns its name.
func exported(t *testing.T, data, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if said := call(t.Context(), data, "archive", "export", "-o", file); said.status != statusDone {
		t.Fatal(said)
	}
	return file
}

// payloads returns a digest for each page in a WARC file, by address. The digests are computed
// after the transfer coding was removed. payloads also checks every digest that the file contains.
func payloads(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for in := warc.NewReader(f); ; {
		rec, err := in.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(rec.Block)
		if err != nil {
			t.Fatal(err)
		}
		m, notHTTP := warc.ParseMessage(block)
		payload, whole := m.Payload()
		switch {
		case rec.Type() == warc.Revisit:
			out[rec.Target()] = rec.PayloadDigest()
			continue
		case rec.Type() == warc.Response && notHTTP == nil && whole && m.Status() == http.StatusOK:
			out[rec.Target()] = warc.Digest(payload)
		}
		if wrong := rec.Check(block, m.Body, payload, block); wrong != "" {
			t.Errorf("%s: %s of %s: %s", file, rec.Type(), rec.Target(), wrong)
		}
	}
}

// npm's warcio reads the export of a crawl without errors and makes the same index, except for its
// keys. Python's warcio finds every digest correct.
func TestExportInterop(t *testing.T) {
	t.Parallel()
	s, data := fleet(t), filepath.Join(t.TempDir(), "data")
	if said := call(t.Context(), data, "crawl", "--delay", "0", s.URL+"/"); said.status != statusDone {
		t.Fatal(said)
	}
	for _, name := range []string{"fleet.warc.gz", "fleet.warc"} {
		file := exported(t, data, name)
		if n := len(payloads(t, file)); n != 8 {
			t.Errorf("%s has %d pages", name, n)
		}
		t.Run(name+", warcio", func(t *testing.T) { indexed(t, file) })
		t.Run(name+", check", func(t *testing.T) {
			program := os.Getenv(checkVariable)
			if program == "" {
				t.Skip(checkVariable + " does not name the warcio of Python")
			}
			if out, err := exec.CommandContext(t.Context(), program, "check", file).CombinedOutput(); err != nil ||
				len(out) > 0 {
				t.Errorf("warcio check: %v\n%s", err, out)
			}
		})
	}
}

// indexed compares the index that this project makes of a WARC file with the index that npm's
// warcio makes.
func indexed(t *testing.T, file string) {
	program, err := warcio.Find()
	if err != nil {
		t.Skip(err)
	}
	run := func(verb string) string {
		cmd := exec.CommandContext(t.Context(), program, verb, file)
		var complaints strings.Builder
		cmd.Stderr = &complaints
		out, err := cmd.Output()
		if err != nil || complaints.Len() > 0 {
			t.Fatalf("warcio %s: %v\n%s", verb, err, complaints.String())
		}
		return string(out)
	}
	if n := strings.Count(run("index"), "\n"); n != 1+9*3 {
		t.Errorf("warcio index: %d records", n)
	}
	theirs := strings.SplitAfter(run("cdx-index"), "\n")
	ours, err := os.ReadFile(site.IndexName(file))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(file, ".gz") {
		if got, want := withoutKeys(strings.SplitAfter(string(ours), "\n")), withoutKeys(theirs); !slices.Equal(got,
			want) {
			t.Errorf("the index\nours\n%s\ntheirs\n%s", got, want)
		}
		// warcio does not count newlines in the lengths of uncompressed records
	} else if strings.Count(string(ours), "\n") != len(theirs)-1 {
		t.Errorf("the index has\n%s", ours)
	}
}

// withoutKeys sorts the lines of an index and removes the keys at their beginning, because this
// project writes keys as pywb does, and warcio writes different ones.
func withoutKeys(lines []string) (out []string) {
	for _, line := range lines {
		_, rest, _ := strings.Cut(line, " ")
		out = append(out, rest)
	}
	slices.Sort(out)
	return out
}

// An import of a WARC file of wget finds every digest correct, and an export writes the same
// payloads.
func TestImportInterop(t *testing.T) {
	t.Parallel()
	wget, err := exec.LookPath("wget")
	if err != nil {
		t.Skip("wget is not in PATH")
	}
	s, dir := fleet(t), t.TempDir()
	for file, flag := range map[string]string{"packed.warc.gz": "--no-hsts", "plain.warc": "--no-warc-compression",
		"coded.warc.gz": "--compression=gzip"} {
		t.Run(file, func(t *testing.T) {
			name, _, _ := strings.Cut(file, ".")
			archived(t, wget, dir, name, s.URL, flag)
			data := filepath.Join(t.TempDir(), "data")
			said := call(t.Context(), data, "archive", "import", "--json", "--assume-policy", "none",
				filepath.Join(dir, file))
			var sum site.ImportSummary
			if err := json.Unmarshal([]byte(said.stdout), &sum); err != nil || said.status != statusDone ||
				sum.Damaged != 0 || sum.Refused != 0 || sum.Imported != 9 || sum.Redirects != 1 {
				t.Fatal(said, err)
			}
			want := payloads(t, filepath.Join(dir, file))
			out := exported(t, data, "again.warc.gz")
			got := payloads(t, out)
			for url, digest := range want {
				if got[url] != digest {
					t.Errorf("%s was %s and is %s", url, digest, got[url])
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d pages of %d", len(got), len(want))
			}
			decoded(t, filepath.Join(dir, file), out)
		})
	}
}

// archived makes wget crawl a site into a WARC file.
func archived(t *testing.T, wget, dir, name, url string, flags ...string) {
	t.Helper()
	args := append(flags, "--quiet", "--recursive", "--level=2", "--no-directories", "--delete-after", "--execute",
		"robots=off", "--warc-file="+filepath.Join(dir, name), url+"/")
	cmd := exec.CommandContext(t.Context(), wget, args...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 8) { // wget reports that a page answered 404
		t.Fatalf("wget: %v\n%s", err, out)
	}
}

// decoded checks that npm's warcio decodes the original file was and the exported file is to the
// same content.
func decoded(t *testing.T, was, is string) {
	program, err := warcio.Find()
	if err != nil {
		t.Log("not compared by warcio: ", err)
		return
	}
	read := func(file string) map[string]string {
		out, err := warcio.Node(t.Context(), program, `
import { createReadStream } from "node:fs";
import { createHash } from "node:crypto";
for await (const r of new WARCIO.WARCParser(createReadStream(process.argv[2])))
  if (r.warcType === "response" && r.httpHeaders.statusCode === 200)
    console.log(r.warcTargetURI + " " + createHash("sha256").update(await r.readFully(true)).digest("hex"));`, file)
		if err != nil {
			t.Fatal(err)
		}
		list := map[string]string{}
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			url, digest, _ := strings.Cut(line, " ")
			list[url] = digest
		}
		return list
	}
	before := read(was)
	for url, digest := range read(is) { // the exported file contains each body once
		if before[url] != digest {
			t.Errorf("warcio reads %s as %s, and was given %s", url, digest, before[url])
		}
	}
	if len(before) != 9 {
		t.Errorf("warcio reads %d pages", len(before))
	}
}
