package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
)

// nodeModule returns the directory with the modules of npm, or skips the test if one of the names is missing there.
func nodeModule(t *testing.T, names ...string) string {
	t.Helper()
	dir := os.Getenv(pagecheck.Modules)
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); dir == "" || err != nil {
			t.Skipf("ACAPCRAWL_NODE_MODULES names no directory with %s: npm install --prefix DIR %[1]s", name)
		}
	}
	return dir
}

// exportedSite crawls a site with two HTML pages and a text, and exports it to a file of this name.
func exportedSite(t *testing.T, name string) (p *polled, file string) {
	p = newPolled(t, filepath.Join(t.TempDir(), "d"), map[string]string{
		"index.html": "<!DOCTYPE html><title>Tide</title><p>high <a href=/a.html>a</a> <a href=/b.txt>b</a>",
		"a.html":     "<!DOCTYPE html><title>Ebb</title><p>low", "b.txt": "plain"})
	p.verb(0, "crawl", "--delay", "0", p.site.URL+"/")
	file = filepath.Join(t.TempDir(), name)
	p.verb(0, "archive", "export", "-o", file)
	return p, file
}

// The engine of ReplayWeb.page reads the pages, the index and the records of a WACZ file of an export.
func TestWACZInterop(t *testing.T) {
	modules := nodeModule(t, "@webrecorder/wabac", "fake-indexeddb")
	p, file := exportedSite(t, "x.wacz")
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "wabac.mjs"), file, modules)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %.1000s", err, complaints.String())
	}
	var got struct {
		Pages   []string
		Records []struct {
			URL, MIME, Text string
			Status          int
		}
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %.1000s", err, out)
	}
	if want := []string{p.site.URL + "/", p.site.URL + "/a.html"}; !slices.Equal(got.Pages, want) {
		t.Errorf("the pages are %q, want %q", got.Pages, want)
	}
	texts := map[string]string{}
	for _, r := range got.Records {
		if r.Status != 200 {
			t.Errorf("%+v", r)
		}
		texts[strings.TrimPrefix(r.URL, p.site.URL)] = r.MIME + " " + r.Text
	}
	if len(texts) != 3 || !strings.HasPrefix(texts["/"], "text/html <!DOCTYPE html><title>Tide") ||
		!strings.Contains(texts["/a.html"], "low") || texts["/b.txt"] != "text/plain plain" {
		t.Errorf("the records are %q", texts)
	}
}

// An import reads what another program has written. js-wacz 0.1.6 computes the digests of WARC files wrongly, so it
// needs the flag for files that are not as they describe themselves.
func TestWACZOfOthers(t *testing.T) {
	modules := nodeModule(t, "@harvard-lil/js-wacz")
	p, records := exportedSite(t, "x.warc.gz")
	file := filepath.Join(t.TempDir(), "foreign.wacz")
	program := filepath.Join(modules, ".bin", "js-wacz")
	out, err := exec.CommandContext(t.Context(), program, "create", "-f", records, "-o", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.1000s", err, out)
	}
	other := *p
	other.data = filepath.Join(t.TempDir(), "other")
	other.verb(statusFailed, "archive", "import", "--assume-policy", "none", file)
	if out := other.verb(0, "archive", "import", "--assume-policy", "none", "--unverified",
		file); !strings.HasPrefix(out, "3 pages imported from 1 file") {
		t.Error(out)
	}
	other.verb(0, "archive", "verify")
}
