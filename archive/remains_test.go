package archive

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/acap"
)

// remains contains byte strings by name: plain text, sealed text, keys and digests of which a trace
// could remain in the files.
type remains map[string][]byte

// of adds the byte strings that are stored of a capture and of its resource.
func (r remains) of(t *testing.T, a *Archive, c Capture) {
	t.Helper()
	_, slots := sealedThings(t, a, c)
	for i, k := range readKeys(t, a, slots[1:]) {
		r[fmt.Sprintf("key %d of %s", i, c.URL)] = bytes.Clone(k[:])
	}
	r.ofBody(t, a, "body of "+c.URL, c.Payload)
	if c.Rendered != "" {
		r.ofBody(t, a, "body rendered of "+c.URL, c.Rendered)
	}
	err := a.view(func(tx *bolt.Tx) error {
		var rec captureRecord
		text, err := unpackSealed(idKey(c.ID), tx.Bucket(bCaptures).Get(idKey(c.ID)), &rec)
		r["sealed header of "+c.URL] = bytes.Clone(text[:24])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ofBody adds the byte strings that are stored of a body.
func (r remains) ofBody(t *testing.T, a *Archive, what, digest string) {
	t.Helper()
	sealed, slot := sealedBodyOf(t, a, digest)
	k := readKeys(t, a, []uint64{slot})[0]
	r["key of "+what] = bytes.Clone(k[:])
	for at := 0; at+24 <= len(sealed); at += 512 {
		r[fmt.Sprintf("sealed %s at %d", what, at)] = sealed[at : at+24]
	}
	sum, err := digestBytes(digest)
	if err != nil {
		t.Fatal(err)
	}
	r["digest of "+what], r["digest in digits of "+what] = sum, []byte(hex.EncodeToString(sum))
}

// in returns the names of the strings in r that occur in any file of dir.
func (r remains) in(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := os.ReadFile(path)
		for what, b := range r {
			if bytes.Contains(file, b) {
				found = append(found, what+" in "+filepath.Base(path))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// whole removes the few strings that are not found in the files of dir because they cross a page
// boundary.
func (r remains) whole(t *testing.T, dir string) {
	t.Helper()
	there := map[string]bool{}
	for _, f := range r.in(t, dir) {
		what, _, _ := strings.Cut(f, " in ")
		there[what] = true
	}
	for what := range r {
		switch {
		case there[what]:
		case !strings.HasPrefix(what, "sealed body") && !strings.HasPrefix(what, "digest in digits"):
			t.Error("the test looks in the wrong place:", what)
		default:
			delete(r, what)
		}
	}
	if len(r) < 100 {
		t.Errorf("the test looks in the wrong place: %d pieces are there", len(r))
	}
}

// After compaction, no file contains any trace of erased data, not even sealed data, whether the
// archive is open or closed. Before compaction, no file contains the keys of erased data. Data that
// was not erased is found in every search.
func TestNothingRemains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	ctx := context.Background()
	plain, sealed, kept := remains{}, remains{}, remains{}
	receive := func(url string, body []byte, r remains) Capture {
		t.Helper()
		word := "unmistakable" + strings.ReplaceAll(url, "/", "")
		d := deposit(url, "")
		d.Body, d.Rendered, d.Index = body, noise("rendered "+url, 4000), true
		if url == "http://example.com/noise" { // documents that are equal are stored once
			d.Rendered = body
		}
		d.Resource.Kept.Title, d.Resource.Kept.Index, d.Resource.ETag = word+"-title", word+"-excerpt", word+"-etag"
		d.Resource.Own = acap.Own{URL: url, Tags: []acap.Tag{{Name: "robots", Content: word + "-meta"}}}
		d.Header = map[string][]string{"X-A": {word + "-header"}}
		d.Head = []byte("HTTP/1.1 200 OK\r\nX-A: " + word + "-head\r\n\r\n")
		d.Decided = map[acap.Usage]string{acap.Index: word + "-line"}
		plain["words of "+url] = []byte(word)
		if len(body) > 0 {
			plain["body of "+url] = body[len(body)/2 : min(len(body)/2+20, len(body))]
			plain["body rendered of "+url] = d.Rendered[:20]
		}
		c := put(t, a, d)
		if r != nil {
			r.of(t, a, c)
		}
		return c
	}
	compressible := []byte(strings.Repeat("The harbour lay still under the fog. ", 400))
	for i := range 60 { // other data on the same pages of the file
		receive(fmt.Sprintf("http://example.com/stays/%d", i), noise(fmt.Sprint("stays", i), 5000), kept)
	}
	receive("http://example.com/text", compressible, sealed)
	receive("http://example.com/noise", noise("noise", 300_000), sealed)
	receive("http://example.com/little", []byte("quite unlike any other"), sealed)
	receive("http://example.com/noise", noise("a later version", 30_000), sealed)
	expired := receive("http://example.com/expired", noise("expired", 7000), sealed)
	shared := noise("shared", 9000)
	receive("http://example.com/shared/1", shared, nil)
	two := receive("http://example.com/shared/2", shared, nil)
	delete(plain, "words of http://example.com/expired") // EraseCapture keeps the data about this page, sealed

	if found := plain.in(t, dir); found != nil {
		t.Error("held, and not sealed:", found)
	}
	for _, r := range []remains{sealed, kept} {
		r.whole(t, dir)
	}
	for _, url := range []string{"text", "noise", "little", "shared/1"} {
		if _, err := a.Erase(ctx, Tombstone{URL: "http://example.com/" + url, Why: "asked"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.EraseCapture(ctx, expired.ID, Tombstone{Why: "expired"}); err != nil {
		t.Fatal(err)
	}
	hasBody(t, a, two.ID, string(shared)) // another capture still refers to the shared body
	sealed.of(t, a, two)
	if _, err := a.Erase(ctx, Tombstone{URL: two.URL, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	// this is the key of the data about the page, which EraseCapture keeps
	delete(sealed, "key 1 of http://example.com/expired")
	for _, what := range sealed.in(t, dir) {
		if strings.HasPrefix(what, "key ") {
			t.Error("erased, and still there:", what)
		}
	}
	compact(t, a)
	look := func(when string) {
		t.Helper()
		if found := append(sealed.in(t, dir), plain.in(t, dir)...); found != nil {
			t.Error(when, "there are still:", found)
		}
		if found := kept.in(t, dir); len(found) < len(kept) {
			t.Errorf("%s %d of %d are there that were not erased", when, len(found), len(kept))
		}
	}
	look("open,")
	shut(t, a)
	look("closed,")
	a = open(t, dir, Options{})
	look("opened again,")
	for _, url := range []string{"text", "noise", "little", "shared/1", "shared/2"} {
		if r := receipt(t, a, "http://example.com/"+url); !r.Verified() {
			t.Errorf("%+v", r)
		}
	}
	if r := receipt(t, a, expired.URL); len(r.Left) != 2 { // the data about the page and its index entry
		t.Errorf("%+v", r)
	}
}
