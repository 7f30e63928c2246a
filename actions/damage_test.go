package actions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/spool"
)

// damaged writes a ledger with the given content and a correct head, and returns its path.
func damaged(t *testing.T, name string, whole, head []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name, "actions.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, path, whole)
	write(t, headPath(path), head)
	return path
}

// If any byte of the file is changed, Verify or Open reports it, or no data depends on that byte.
func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	l := lived(t, path, Options{})
	want := vouched(content(t, l))
	l.Close()
	whole, head := read(t, path), read(t, headPath(path))
	stride := 211 // a prime number, so that the changed bytes are at all positions within pages
	if testing.Short() {
		stride = 2111
	}
	told := 0
	for i := 0; i < len(whole); i += stride {
		whole[i] ^= 0x41
		broken := damaged(t, fmt.Sprint(i), whole, head)
		whole[i] ^= 0x41
		l, err := Open(broken, Options{})
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("byte %d: %v", i, err)
			}
			told++
			continue
		}
		v, err := l.Verify(context.Background())
		if err != nil || len(v.Breaks) > 0 {
			told++
		} else if got := vouched(content(t, l)); !reflect.DeepEqual(got, want) {
			t.Errorf("byte %d: nobody is told that it is another one", i)
		}
		if err := l.Close(); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	if told == 0 {
		t.Error("no byte counts")
	}
}

// vouched removes from the content of a ledger everything that Verify does not protect, and returns
// the rest.
func vouched(all map[string]map[string]string) map[string]map[string]string {
	delete(all, "keys")
	delete(all, "rejected")
	delete(all, "heard") // Verify does not protect the readings, see TestDamagedReading
	return all
}

// If a page of the file refers to itself as its child, the check ends with an error.
func TestPageInCircle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	l := open(t, path)
	l.db.NoSync = true
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("%s/%d*", down, i))
	}
	run(t, l, &crew{}, asks(lines...))
	l.Close()
	whole, head := read(t, path), read(t, headPath(path))
	size, circles := os.Getpagesize(), 0
	for id := 2; id < len(whole)/size; id++ {
		page := whole[id*size : (id+1)*size]
		if spool.Native.Uint16(page[8:]) != spool.Branch {
			continue
		}
		child := page[spool.PageHead+8:] // the child page of the first element
		was := spool.Native.Uint64(child)
		spool.Native.PutUint64(child, uint64(id))
		broken := damaged(t, fmt.Sprint(id), whole, head)
		spool.Native.PutUint64(child, was)
		circles++
		l, err := Open(broken, Options{})
		if err == nil { // no transaction uses the changed page
			if got := breaks(t, l); got != "" {
				t.Error(got)
			}
			l.Close()
		} else if !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
	}
	if circles == 0 {
		t.Error("there is no such page")
	}
}

// If the stored digest of an origin's requests is changed, Verify reports the change. If the record
// cannot be read, nothing else is affected.
func TestDamagedReading(t *testing.T) {
	for name, text := range map[string]string{"unreadable": "{", "another": `{"sum":"1"}`} {
		l := open(t, filepath.Join(t.TempDir(), "actions.db"))
		reading := Reading{Origin: origin, Actions: asks(down+"/x", down+"/y*")}
		x := NewExecutor(l, &crew{}, nil, Limits{})
		if err := x.ExecuteReading(t.Context(), reading); err != nil {
			t.Fatal(err)
		}
		if got := breaks(t, l); got != "" {
			t.Error(name, got)
		}
		note(t, l, func(x *txn) error { return x.tx.Bucket(bHeard).Put([]byte(origin), []byte(text)) })
		if got := breaks(t, l); (got == "") != (name == "unreadable") {
			t.Errorf("%s: %q", name, got)
		}
		before := len(rows(t, l))
		if err := x.ExecuteReading(t.Context(), reading); err != nil {
			t.Error(name, err)
		}
		if got := breaks(t, l); got != "" || len(rows(t, l)) != before {
			t.Errorf("%s: %q, %d requests", name, got, len(rows(t, l)))
		}
	}
}
