package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// adopt gives a partition to a machine. Its owner knows nothing of it, but its right to request
// hosts has ended.
func (u *sharedUse) adopt(m *machineUse, n int) {
	owner := u.owner(n)
	if owner == m.j || slices.Contains(m.f.Owned(), n) {
		return
	}
	for _, other := range u.machines {
		if other.j == owner {
			u.expel(other)
			u.forget(other, func(host string) bool { return u.store.partition(host) == n })
		}
	}
	u.moved++
	if !u.ok(m, u.store.adopt(m.f, m.j, n)) {
		return
	}
	if u.r.IntN(4) == 0 {
		u.rebuild(m, n)
	}
}

// expel ends the right of a machine to request hosts. It gets the right again for the partitions
// that it still owns when it has noticed that it lost others.
func (u *sharedUse) expel(m *machineUse) { m.j.setUntil(u.c.now()) }

// renew gives a machine the right to request hosts, after it has learned which partitions it owns.
func (u *sharedUse) renew(m *machineUse) {
	stored, err := m.f.Stored()
	must(u.t, err)
	for _, n := range slices.Concat(m.f.Owned(), stored) {
		if u.owner(n) != m.j {
			m.f.Lose(n)
		}
	}
	m.j.setUntil(u.c.now().Add(time.Minute))
	m.f.Wake()
}

// release hands a partition over to nobody.
func (u *sharedUse) release(m *machineUse) {
	owned := m.f.Owned()
	if len(owned) == 0 {
		return
	}
	n := owned[u.r.IntN(len(owned))]
	for _, v := range slices.Clone(u.visits) {
		if v.m == m && u.store.partition(v.l.Host) == n {
			u.visits = slices.DeleteFunc(u.visits, func(w *visitUse) bool { return w == v })
			life := m.life
			if u.endVisit(v); m.life != life {
				return
			}
		}
	}
	if !u.ok(m, m.f.Release(context.Background(), n)) {
		return
	}
	u.disown(m, n)
	if slices.Contains(m.f.Owned(), n) {
		u.t.Fatalf("partition %d is still owned", n)
	}
}

// rewrite puts a partition into its journal again and deletes what was there before.
func (u *sharedUse) rewrite(m *machineUse) {
	for _, n := range m.f.Owned() {
		from, err := m.f.Rewrite(n)
		if !u.ok(m, err) {
			return
		}
		u.store.purge(n, from)
		u.rebuild(m, n)
	}
}

// rebuild compares what a machine has of a partition with a file that is made of the journal alone.
func (u *sharedUse) rebuild(m *machineUse, n int) {
	u.t.Helper()
	if !u.ok(m, m.f.Flush()) || u.owner(n) != m.j || !slices.Contains(m.f.Owned(), n) {
		return
	}
	o := u.o
	o.Journal = u.store.machine()
	f, err := Open(filepath.Join(u.t.TempDir(), "rebuilt.db"), o)
	must(u.t, err)
	defer closeFrontier(u.t, f)
	_, list := u.store.entries(n, 0)
	must(u.t, f.Adopt(n, true, list))
	want, got := dump(u.t, m.f, n), dump(u.t, f, n)
	if !slices.Equal(want, got) {
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				u.t.Fatalf("partition %d is rebuilt differently:\n%q\n%q", n, want[i], got[i])
			}
		}
		u.t.Fatalf("partition %d is rebuilt with %d lines, not %d", n, len(got), len(want))
	}
}

// dump returns everything that a file has of a partition.
func dump(t *testing.T, f *Frontier, n int) (lines []string) {
	must(t, f.view(func(tx *bbolt.Tx) error {
		in := func(host string) bool { return f.o.Journal.Partition(host) == n }
		err := tx.Bucket(bKnown).ForEach(func(k, v []byte) error {
			host, err := address.Host(string(k))
			if err == nil && in(host) {
				lines = append(lines, fmt.Sprintf("known %s %x", k, v))
			}
			return err
		})
		// the depth in a queue entry is not compared: when a link lowers the depth of a leased
		// address, only its record is written
		must(t, tx.Bucket(bQueue).ForEach(func(k, v []byte) error {
			if host, _ := hostOf(k); in(host) {
				it, err := decodeItem(k, v)
				lines = append(lines, fmt.Sprintf("queue %x %s %d %d", k, it.url, it.tries, it.from))
				return err
			}
			return nil
		}))
		must(t, tx.Bucket(bAsked).ForEach(func(k, v []byte) error {
			if host, _, _ := strings.Cut(string(k), "\x00"); in(host) {
				lines = append(lines, fmt.Sprintf("asked %s %x", k, v))
			}
			return nil
		}))
		must(t, tx.Bucket(bHosts).ForEach(func(k, v []byte) error {
			if in(string(k)) {
				lines = append(lines, fmt.Sprintf("host %s %x", k, v))
			}
			return nil
		}))
		s, decodeErr := decodeStamp(tx.Bucket(bPartitions).Get(partitionKey(n)))
		lines = append(lines, fmt.Sprint("links ", s.links))
		return errors.Join(err, decodeErr)
	}))
	return lines
}

// crash ends the process of a machine and starts another one. Usually the file is as it was last
// committed; it may be older, or lost.
func (u *sharedUse) crash(m *machineUse) {
	copied := filepath.Join(u.t.TempDir(), "copy")
	out, err := os.Create(copied)
	must(u.t, err)
	must(u.t, m.f.Backup(func(int64) (io.Writer, error) { return out, nil }))
	must(u.t, out.Close())
	for n := range sharedPartitions { // what is not in the journal now never will be
		u.disown(m, n)
	}
	m.f.Abort()
	_ = m.f.Close()
	u.visits = slices.DeleteFunc(u.visits, func(v *visitUse) bool { return v.m == m })
	u.forget(m, func(string) bool { return true })
	old := filepath.Join(m.dir, "old")
	switch u.r.IntN(6) {
	case 0:
		must(u.t, os.Remove(m.file()))
		u.wiped++
	case 1:
		if _, err := os.Stat(old); err == nil {
			must(u.t, os.Rename(old, m.file()))
			break
		}
		fallthrough
	default:
		must(u.t, os.Rename(copied, m.file()))
	}
	u.open(m)
	u.check(m)
}

// forget drops what a machine promised to a host but had not made durable when it lost the
// partition.
func (u *sharedUse) forget(m *machineUse, of func(host string) bool) {
	maps.DeleteFunc(u.rest, func(host string, r rest) bool {
		return !r.durable && r.m == m && r.life == m.life && of(host)
	})
}
