package wacz

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// written returns a WACZ file with a WARC file that has this content.
func written(t *testing.T, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
	for name, text := range map[string]string{Archive: content, Index: "a line\n"} {
		entry, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(entry, text)
	}
	err := w.WritePages(func(w io.Writer) error {
		_, err := fmt.Fprintln(w, Page{URL: "http://a.example/?a&b", Time: "2026-11-28T00:00:00Z"}.Line())
		return err
	})
	if err := errors.Join(err, w.Close(Info{Title: "t", Created: "2026-11-28T00:00:00Z", Software: "s"})); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// entries returns the content of a ZIP file by name.
func entries(t *testing.T, file []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list[f.Name] = string(text)
	}
	return list
}

// packed returns a ZIP file with these entries, in pairs of name and content.
func packed(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		w, err := z.Create(pairs[i])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, pairs[i+1])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(file []byte, verify bool) ([]File, error) {
	return Open(context.Background(), bytes.NewReader(file), int64(len(file)), verify)
}

func TestRoundTrip(t *testing.T) {
	file := written(t, "records")
	list, err := open(file, true)
	if err != nil || len(list) != 1 || list[0].Name != Archive || list[0].Bytes != 7 {
		t.Fatalf("%v, %+v", err, list)
	}
	r, err := list[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || string(text) != "records" {
		t.Errorf("%q, %v", text, err)
	}
	all := entries(t, file)
	var p dataPackage
	if err := json.Unmarshal([]byte(all[description]), &p); err != nil || p.Version != "1.1.1" ||
		len(p.Resources) != 3 {
		t.Errorf("%v, %+v", err, p)
	}
	want := pagesHeader + "\n" + `{"url":"http://a.example/?a&b","ts":"2026-11-28T00:00:00Z"}` + "\n"
	if all[Pages] != want {
		t.Errorf("the pages are %q", all[Pages])
	}
}

// A file that was changed after it was written is refused, unless the caller trusts it.
func TestChanged(t *testing.T) {
	all := entries(t, written(t, "records"))
	for name, change := range map[string]string{Archive: "recordz",
		description: strings.Replace(all[description], "t", "T", 1)} {
		pairs := []string{}
		for entry, text := range all {
			if entry == name {
				text = change
			}
			pairs = append(pairs, entry, text)
		}
		file := packed(t, pairs...)
		if _, err := open(file, true); !errors.Is(err, ErrUnverified) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := open(file, false); err != nil || len(list) != 1 {
			t.Errorf("%s, without verification: %v, %v", name, err, list)
		}
	}
}

// What is no WACZ file, or has entries that nothing describes, is refused with the reason.
func TestRefused(t *testing.T) {
	all := entries(t, written(t, "records"))
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"no ZIP":          {[]byte(Magic + "rest"), "no ZIP file"},
		"cut":             {written(t, "records")[:100], "no ZIP file"},
		"no description":  {packed(t, Archive, "records"), "no datapackage.json"},
		"no JSON":         {packed(t, description, "{"), "cannot be read"},
		"missing":         {packed(t, description, all[description]), "missing"},
		"nothing in it":   {packed(t, description, `{"resources": []}`), "no WARC file"},
		"not described":   {packed(t, description, `{"resources": []}`, Archive, "x"), "does not describe"},
		"two of one name": {packed(t, description, `{}`, Archive, "x", Archive, "y"), "two entries"},
		"collection":      {packed(t, description, `{"profile": "multi-wacz-package"}`), "collection"},
		"no digest":       {packed(t, description, `{}`, packageDigest, "{"), "cannot be read"},
	} {
		if list, err := open(test.file, true); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v", name, err, list)
		}
	}
}

// A file whose description is wrong or incomplete is refused, unless the caller trusts it.
func TestWrongDescription(t *testing.T) {
	sum := "sha256:" + hex.EncodeToString(sha256.New().Sum(nil)) // of no bytes
	entry := func(hash string, bytes int) string {
		return fmt.Sprintf(`{"path": %q, "hash": %q, "bytes": %d}`, Archive, hash, bytes)
	}
	for name, test := range map[string]struct{ resources, extra, want string }{
		"good":           {entry(sum, 0), "", ""},
		"upper case":     {entry(strings.ToUpper(sum), 0), "", ""},
		"no digest":      {entry("", 0), "", "no SHA-256 digest"},
		"another digest": {entry("md5:d41d8cd98f00b204e9800998ecf8427e", 0), "", "no SHA-256 digest"},
		"wrong":          {entry("SHA256:"+strings.Repeat("0", 64), 0), "", "another digest"},
		"wrong size":     {entry(sum, 7), "", "has 0 bytes, not 7"},
		"twice":          {entry(sum, 0) + "," + entry(sum, 0), "", "describes " + Archive + " twice"},
		"more":           {entry(sum, 0), "archive/more.warc", "does not describe archive/more.warc"},
		"more pages":     {entry(sum, 0), Pages, "does not describe " + Pages},
	} {
		pairs := []string{description, `{"resources": [` + test.resources + `]}`, Archive, ""}
		if test.extra != "" {
			pairs = append(pairs, test.extra, "x")
		}
		file := packed(t, pairs...)
		_, err := open(file, true)
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrUnverified) ||
			!strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := open(file, false); err != nil {
			t.Errorf("%s, without verification: %v", name, err)
		}
	}
}

// The check of a large file ends with the context.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := written(t, "records")
	if _, err := Open(ctx, bytes.NewReader(file), int64(len(file)), true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzOpen checks that no file makes Open panic, and that what it returns can be read or is an error.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(Magic))
	f.Fuzz(func(t *testing.T, file []byte) {
		list, err := open(file, true)
		if err != nil {
			return
		}
		for _, each := range list {
			if r, err := each.Open(); err == nil {
				_, _ = io.Copy(io.Discard, r)
				_ = r.Close()
			}
		}
	})
}
