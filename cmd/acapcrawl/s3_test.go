package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/fakes3"
)

// TestBucketHasNoKeys checks that no key of a body, whole or in part, is in the bucket with the bodies.
func TestBucketHasNoKeys(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	store := fakes3.Start(t)
	settings := filepath.Join(t.TempDir(), "c.yaml")
	text := fmt.Sprintf("s3: {endpoint: '%s', bucket: %s, prefix: one}\n", store.URL, fakes3.Bucket)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h, data := startHarbour(t), filepath.Join(t.TempDir(), "data")
	said := call(t.Context(), data, "crawl", "--config", settings, "--delay", "0", "--depth", "1",
		h.URL+"/news/ferry.html", h.URL+"/essays/knots.html", h.URL+"/letters/pier.html")
	if said.status != statusDone {
		t.Fatal(said)
	}
	keys, err := os.ReadFile(filepath.Join(data, "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	const part = 8 // bytes of a key that occur nowhere by chance
	scanned := 0
	for i := 0; i+part <= len(keys); i += part {
		piece := keys[i : i+part]
		if bytes.Count(piece, []byte{0}) > part/2 { // an unused slot
			continue
		}
		scanned++
		for name, object := range store.Objects() {
			if bytes.Contains(object, piece) {
				t.Errorf("%s has bytes %d to %d of keys.db", name, i, i+part)
			}
		}
	}
	if scanned < 3*4 || len(store.Objects()) < 4 {
		t.Errorf("%d parts of keys, %d objects", scanned, len(store.Objects()))
	}
}
