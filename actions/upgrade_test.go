package actions

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/acap"
)

// old makes a ledger of format 1.
func old(t *testing.T, path string, rows int) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		requests, err := tx.CreateBucket([]byte("requests"))
		if err != nil {
			return err
		}
		names, err := tx.CreateBucket([]byte("by-name"))
		if err != nil {
			return err
		}
		for i := range rows {
			id, err := requests.NextSequence()
			if err != nil {
				return err
			}
			url := fmt.Sprintf("%s/%d", site, i/2) // each asked for twice
			text := fmt.Sprintf(`{"id":%d,"action":"take-down","url":%q,"origin":%q,"source":"%s/robots.txt:3: ACAP-request-take-down: /x","state":"done","asked":"2026-01-02T03:04:05Z","done":"2026-01-02T03:04:06Z","erased":%d,"standing":%t}`,
				id, url, origin, site, i%2, i%2 == 1)
			if err := requests.Put(number(id), []byte(text)); err != nil {
				return err
			}
			if err := names.Put(named(origin, acap.TakeDown, url), number(id)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestUpgrade(t *testing.T) {
	for _, rows := range []int{0, 1, 2, maxRows, 2*maxRows + 1} {
		path := filepath.Join(t.TempDir(), "actions.db")
		old(t, path, rows)
		for range 2 {
			l := openWith(t, path, Options{})
			h, err := l.Head()
			if err != nil || int(h.Seq) != rows {
				t.Fatal(h, err)
			}
			if got := breaks(t, l); got != "" {
				t.Errorf("%d rows: %s", rows, got)
			}
			n := 0
			if err := l.Each(Filter{Origins: []string{origin}}, func(r Request) error {
				n++
				if r.Asked.IsZero() || r.From.Kind != Robots || !strings.Contains(r.Source, "robots.txt:3") {
					t.Errorf("%+v", r)
				}
				return nil
			}); err != nil || n != rows {
				t.Error(n, err)
			}
			l.Close()
		}
	}
}

// An upgrade that is cut short goes on.
func TestUpgradeCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	const rows = 2*maxRows + 1
	old(t, path, rows)
	l := &Ledger{o: Options{Now: time.Now}, head: headFile{path: headPath(path)}}
	var err error
	if l.db, err = bbolt.Open(path, 0o600, nil); err != nil {
		t.Fatal(err)
	}
	err = l.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bOrigins, bOpen, bChain, bAbout, bMeta, bStanding} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	note(t, l, func(x *txn) error { return x.upgrade() })
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = openWith(t, path, Options{})
	if h, err := l.Head(); err != nil || h.Seq != rows {
		t.Fatal(h, err)
	}
	if got := breaks(t, l); got != "" {
		t.Error(got)
	}
}

// A ledger of a newer version is left alone.
func TestNewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	l := openWith(t, path, Options{})
	note(t, l, func(x *txn) error { return x.tx.Bucket(bMeta).Put(keyFormat, fmt.Append(nil, format+1)) })
	l.Close()
	if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Error(err)
	}
}

// A copy of a backup says so, and what is known from after it is explained by that.
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
