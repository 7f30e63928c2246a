package spool

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

func open(t *testing.T) (db *bbolt.DB, dir string) {
	t.Helper()
	dir = t.TempDir()
	db, err := bbolt.Open(filepath.Join(dir, "some.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("b"))
		if err == nil {
			err = b.Put([]byte("k"), []byte("v"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return db, dir
}

// While the copy is written, no transaction is open. The copy is equal to the database, and no
// temporary file remains.
func TestBackup(t *testing.T) {
	db, dir := open(t)
	var content bytes.Buffer
	var told int64
	err := Backup(db.View, func(size int64) (io.Writer, error) {
		if n := db.Stats().OpenTxN; n != 0 {
			t.Errorf("%d transactions are open", n)
		}
		told = size
		return &content, nil
	})
	if err != nil || told != int64(content.Len()) {
		t.Errorf("%v, %d bytes, told %d", err, content.Len(), told)
	}
	name := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(name, content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := bbolt.Open(name, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	again.View(func(tx *bbolt.Tx) error {
		if got := tx.Bucket([]byte("b")).Get([]byte("k")); string(got) != "v" {
			t.Errorf("it holds %q", got)
		}
		return nil
	})
	nothingLeft(t, dir)
}

// Backup returns the error of create and leaves no temporary file.
func TestBackupFails(t *testing.T) {
	db, dir := open(t)
	full := errors.New("full")
	if err := Backup(db.View, func(int64) (io.Writer, error) { return nil, full }); !errors.Is(err, full) {
		t.Errorf("said %v", err)
	}
	nothingLeft(t, dir)
}

func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
