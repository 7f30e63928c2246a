package actions

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// operatorKey returns a key for tests. The same n always gives the same key.
func operatorKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func openWith(t *testing.T, path string, o Options) *Ledger {
	t.Helper()
	l, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// lived returns a ledger that contains every kind of entry.
func lived(t *testing.T, path string, o Options) *Ledger {
	t.Helper()
	o.ConfirmWithin = time.Hour
	l := openWith(t, path, o)
	l.db.NoSync = true
	c := &crew{}
	run(t, l, c, asks(recrawl+"/n", down+"/x", down+"/y*"))
	run(t, l, c, asks(down+"/x"))
	token, _, err := l.AddCredential("desk", []string{origin}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	by, err := l.Authenticate(token)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range []Submission{{By: &by, Action: "take-down", URL: site + "/z", Key: "1"},
		{Action: "take-down", URL: site + "/o"},
		{By: &by, Action: "take-down", URL: "http://other.example/", Key: "2"}} {
		if _, _, err := l.Submit(s); (err != nil) != (i == 2) {
			t.Fatal(i, err)
		}
	}
	run(t, l, c, asks(down+"/x", down+"/z", down+"/unannounced"))
	note(t, l, func(x *txn) error {
		r, _, err := x.request(1)
		if err != nil {
			return err
		}
		return l.putReceipt(x, newReceipt(r))
	})
	return l
}

func note(t *testing.T, l *Ledger, fn func(*txn) error) {
	t.Helper()
	if err := l.update(fn); err != nil {
		t.Fatal(err)
	}
}

// breaks returns the breaks that Verify finds, as text.
func breaks(t *testing.T, l *Ledger, known ...Head) string {
	t.Helper()
	v, err := l.Verify(context.Background(), known...)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, b := range v.Breaks {
		all = append(all, b.String())
	}
	return strings.Join(all, "\n")
}

func TestVerify(t *testing.T) {
	for name, key := range map[string]ed25519.PrivateKey{"unsigned": nil, "signed": operatorKey(1)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "actions.db")
			l := lived(t, path, Options{Key: key})
			for range 2 {
				h, err := l.Head()
				if err != nil || h.Seq == 0 || (h.Signature == "") != (key == nil) {
					t.Fatal(h, err)
				}
				if got := breaks(t, l, h); got != "" {
					t.Error(got)
				}
				v, err := l.Verify(context.Background())
				if err != nil || v.Entries != h.Seq || v.Head != h || (v.Signed != nil) != (key != nil) {
					t.Errorf("%+v, %v", v, err)
				}
				l.Close()
				l = openWith(t, path, Options{Key: key})
			}
		})
	}
}

func putEntry(t *testing.T, l *Ledger, k, v string) {
	t.Helper()
	note(t, l, func(x *txn) error { return x.tx.Bucket(bChain).Put([]byte(k), []byte(v)) })
}

func TestVerifyBytes(t *testing.T) {
	l := openWith(t, filepath.Join(t.TempDir(), "actions.db"), Options{})
	l.db.NoSync = true
	run(t, l, &crew{}, asks(down+"/x"))
	for k, v := range content(t, l)["chain"] {
		for i := range v {
			changed := []byte(v)
			changed[i] ^= 1
			putEntry(t, l, k, string(changed))
			if breaks(t, l) == "" {
				t.Errorf("byte %d of entry %x can be changed", i, k)
			}
		}
		putEntry(t, l, k, v)
	}
	if got := breaks(t, l); got != "" {
		t.Error(got)
	}
}

// Verify finds entries that were changed, moved or removed.
func TestVerifyEntries(t *testing.T) {
	l := lived(t, filepath.Join(t.TempDir(), "actions.db"), Options{})
	entries := content(t, l)["chain"]
	for k, v := range entries {
		for other, w := range entries {
			if other <= k {
				continue
			}
			putEntry(t, l, k, w)
			putEntry(t, l, other, v)
			if breaks(t, l) == "" {
				t.Errorf("the entries %x and %x can be swapped", k, other)
			}
			putEntry(t, l, other, w)
		}
		note(t, l, func(x *txn) error { return x.tx.Bucket(bChain).Delete([]byte(k)) })
		if breaks(t, l) == "" {
			t.Errorf("the entry %x can be removed", k)
		}
		putEntry(t, l, k, v)
	}
	if got := breaks(t, l); got != "" {
		t.Error(got)
	}
}

// All other data follows from the chain: Verify finds every change, removal and addition.
func TestVerifyProjection(t *testing.T) {
	l := lived(t, filepath.Join(t.TempDir(), "actions.db"), Options{})
	for name, pairs := range content(t, l) {
		switch name {
		case "chain", "keys", "rejected", "heard", "meta":
			continue
		}
		if len(pairs) == 0 {
			t.Errorf("%s holds nothing", name)
		}
		set := func(k, v string) {
			note(t, l, func(x *txn) error { return x.tx.Bucket([]byte(name)).Put([]byte(k), []byte(v)) })
		}
		remove := func(k string) {
			note(t, l, func(x *txn) error { return x.tx.Bucket([]byte(name)).Delete([]byte(k)) })
		}
		check := func(k, what string) {
			t.Helper()
			if breaks(t, l) == "" {
				t.Errorf("%s of %s can be %s", k, name, what)
			}
		}
		for k, v := range pairs {
			remove(k)
			check(k, "removed")
			changed := []byte(k)
			changed[len(k)-1] ^= 64
			set(string(changed), v)
			check(k, "renamed")
			set(k, v)
			check(k, "doubled")
			remove(string(changed))
			for i := range v {
				changed := []byte(v)
				changed[i] ^= 2
				set(k, string(changed))
				check(k, fmt.Sprintf("changed at %d", i))
			}
			set(k, v)
		}
		if got := breaks(t, l); got != "" {
			t.Fatal(got)
		}
	}
}

// content returns all data of a ledger.
func content(t *testing.T, l *Ledger) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	err := l.read(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			if b == nil { // name is a key and not the name of a bucket
				return nil
			}
			pairs := map[string]string{}
			all[string(name)] = pairs
			return b.ForEach(func(k, v []byte) error {
				pairs[string(k)] = string(v)
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Verify finds that a ledger file was replaced by an older copy, even after new entries were added
// to the copy.
func TestOlderCopy(t *testing.T) {
	for name, key := range map[string]ed25519.PrivateKey{"unsigned": nil, "signed": operatorKey(1)} {
		for _, missing := range []bool{false, true} {
			t.Run(fmt.Sprint(name, missing), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "actions.db")
				o := Options{Key: key}
				lived(t, path, o).Close()
				old := read(t, path)
				l := openWith(t, path, o)
				run(t, l, &crew{}, asks(down+"/later"))
				l.Close()
				write(t, path, old)
				if missing {
					os.Remove(headPath(path))
				}
				for range 2 {
					l := openWith(t, path, o)
					run(t, l, &crew{}, asks(down+"/more"))
					if got := breaks(t, l); !strings.Contains(got, "when the ledger was opened") ||
						strings.Contains(got, "\n") {
						t.Error(got)
					}
					l.Close()
				}
				acknowledged(t, path, o)
			})
		}
	}
}

// acknowledged acknowledges the only difference in a ledger. Verify then lists it as known and not
// as a break.
func acknowledged(t *testing.T, path string, o Options) {
	t.Helper()
	l := openWith(t, path, o)
	v, err := l.Verify(t.Context())
	var entry uint64
	if _, e := fmt.Sscanf(v.Breaks[0].Where, "entry %d", &entry); e != nil || err != nil {
		t.Fatal(e, err)
	}
	if l.Acknowledge(entry-1) == nil || l.Acknowledge(1<<40) == nil {
		t.Error("what does not differ was acknowledged")
	}
	if err := l.Acknowledge(entry); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l = openWith(t, path, o)
	if v, err = l.Verify(t.Context()); err != nil || len(v.Breaks) != 0 || len(v.Known) != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	l.Close()
}

// A crash after a transaction and before writing actions.head is not reported as a break.
func TestHeadBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	l := lived(t, path, Options{})
	head := read(t, headPath(path))
	run(t, l, &crew{}, asks(down+"/later"))
	write(t, headPath(path), head)
	if got := breaks(t, l); got != "" {
		t.Error(got)
	}
	l.Close()
	l = openWith(t, path, Options{})
	if got := breaks(t, l); got != "" {
		t.Error(got)
	}
	if string(read(t, headPath(path))) == string(head) {
		t.Error("the head stays behind")
	}
}

// If actions.head cannot be written, transactions are still valid, and a later transaction writes
// the file.
func TestHeadUnwritable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	l := openWith(t, path, Options{})
	block := headPath(path) + ".new"
	if err := os.MkdirAll(filepath.Join(block, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	run(t, l, &crew{}, asks(down+"/x"))
	if err := l.Close(); err == nil {
		t.Error("nobody hears of it")
	}
	os.RemoveAll(block)
	l = openWith(t, path, Options{})
	if got := breaks(t, l); got != "" || list(t, l) != "take-down /x done" {
		t.Error(got, list(t, l))
	}
}

// An attacker who extends or shortens the chain and adapts the head in the ledger cannot sign that
// head.
func TestForged(t *testing.T) {
	cut := func(x *txn) error {
		end, err := x.lastLink()
		if err != nil {
			return err
		}
		if err := x.tx.Bucket(bChain).Delete(number(end.seq)); err != nil {
			return err
		}
		end, err = x.lastLink()
		if err != nil {
			return err
		}
		return x.putHead(end.head())
	}
	add := func(x *txn) error {
		if err := x.remark("lie", "nothing was erased"); err != nil {
			return err
		}
		h := x.end.head()
		x.end = nil
		return x.putHead(h)
	}
	for name, forge := range map[string]func(*txn) error{"cut": cut, "add": add} {
		for _, named := range []bool{false, true} {
			t.Run(fmt.Sprint(name, named), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "actions.db")
				l := lived(t, path, Options{Key: operatorKey(1)})
				honest, err := l.Verify(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				note(t, l, forge)
				if named { // name the operator's key in the forged head and copy an existing signature
					note(t, l, func(x *txn) error {
						h, err := x.head()
						if err != nil {
							return err
						}
						h.Key, h.Signature = l.keyName(), honest.Head.Signature
						return x.putHead(h)
					})
				}
				h, _ := l.Head()
				l.Close()
				if err := l.head.write(h); err != nil {
					t.Fatal(err)
				}
				l = openWith(t, path, Options{Key: operatorKey(1)})
				v, err := l.Verify(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if len(v.Breaks) == 0 && v.Signed.Since == honest.Signed.Since {
					t.Errorf("%+v", v)
				}
				if named && len(v.Breaks) == 0 {
					t.Error("a signature of another entry is taken")
				}
				if breaks(t, l, honest.Head) == breaks(t, l) && name == "cut" {
					t.Error("who kept the head cannot tell")
				}
			})
		}
	}
}

// If the whole ledger was rewritten, the ledger is consistent. Only a head that was stored
// elsewhere shows the change.
func TestRewritten(t *testing.T) {
	dir := t.TempDir()
	l := lived(t, filepath.Join(dir, "actions.db"), Options{})
	kept, err := l.Head()
	if err != nil {
		t.Fatal(err)
	}
	other := lived(t, filepath.Join(dir, "other.db"), Options{})
	if got := breaks(t, other); got != "" {
		t.Error(got)
	}
	if got := breaks(t, other, kept); !strings.Contains(got, "was another one") {
		t.Error(got)
	}
}

// If the key that signs heads is new, changed or removed, the chain gets an entry about the key. A
// signature made with another key is not accepted.
func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	lived(t, path, Options{}).Close()
	since := uint64(0)
	for _, key := range []ed25519.PrivateKey{operatorKey(1), operatorKey(1), operatorKey(2), nil, operatorKey(1)} {
		l := openWith(t, path, Options{Key: key})
		v, err := l.Verify(context.Background())
		if err != nil || len(v.Breaks) > 0 || (v.Signed == nil) != (key == nil) {
			t.Fatalf("%+v, %v", v, err)
		}
		if key != nil {
			if v.Signed.Key != thumbprint(l.PublicKey()) || v.Signed.Since < since ||
				v.Head.signedBy(l.PublicKey()) != nil ||
				v.Head.signedBy(operatorKey(3).Public().(ed25519.PublicKey)) == nil {
				t.Errorf("%+v %+v", v.Head, v.Signed)
			}
			since = v.Signed.Since
		}
		l.Close()
	}
}

// BenchmarkVerify verifies a ledger of 100,000 requests and reports time and memory.
func BenchmarkVerify(b *testing.B) {
	l, err := Open(filepath.Join(b.TempDir(), "actions.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	l.db.NoSync = true
	const rows = 100_000
	const maxRows = 1000
	for from := range rows / maxRows {
		err := l.update(func(t *txn) error {
			for i := range maxRows {
				r := Request{Action: "take-down", URL: fmt.Sprintf("%s/%08d", site, from*maxRows+i), Origin: origin,
					Source: strings.Repeat("s", 100), State: Due, Asked: t.now, Standing: true}
				if err := t.note("due", &r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if v, err := l.Verify(context.Background()); err != nil || len(v.Breaks) > 0 || v.Entries != rows {
			b.Fatal(v, err)
		}
	}
}

// An entry with a very large number is reported without counting up to that number.
func TestVerifyFar(t *testing.T) {
	l := lived(t, filepath.Join(t.TempDir(), "actions.db"), Options{})
	for k, v := range content(t, l)["chain"] {
		far := "\x60" + k[1:]
		putEntry(t, l, far, v)
		if got := breaks(t, l); !strings.Contains(got, "are missing") {
			t.Error(got)
		}
		note(t, l, func(x *txn) error { return x.tx.Bucket(bChain).Delete([]byte(far)) })
	}
}
