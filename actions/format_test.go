package actions

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A ledger of a newer format is not changed.
func TestNewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	l := openWith(t, path, Options{})
	note(t, l, func(x *txn) error { return x.tx.Bucket(bMeta).Put(keyFormat, fmt.Append(nil, format+1)) })
	l.Close()
	if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Error(err)
	}
}

// If a ledger was restored from a backup, its chain has an entry about the restore. Verify gives
// the restore as the reason why entries are missing before a later head.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "actions.db"), filepath.Join(dir, "copy.db")
	o := Options{Key: operatorKey(1)}
	l := lived(t, path, o)
	l.Close()
	write(t, copied, read(t, path))
	l = openWith(t, path, o)
	run(t, l, &crew{}, asks(down+"/later"))
	later, err := l.Head()
	if err != nil {
		t.Fatal(err)
	}
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := Restore(copied, o, made); err != nil {
		t.Fatal(err)
	}
	l = openWith(t, copied, o)
	if got := breaks(t, l); got != "" {
		t.Error(got)
	}
	if got := breaks(t, l, later); !strings.Contains(got, "restored from a backup") {
		t.Error(got)
	}
	h, _ := l.Head()
	var of restoration
	err = l.view(func(x *txn) error {
		e, _, err := x.entry(h.Seq)
		if err != nil {
			return err
		}
		return json.Unmarshal(e.Data, &of)
	})
	if err != nil || !of.Made.Equal(made) {
		t.Error(of, err)
	}
}
