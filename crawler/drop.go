package crawler

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// maxDrop is how many addresses one transaction removes from the file.
const maxDrop = 2000

// drop begins to remove a partition from the file, unless that is already under way. It does not
// wait.
func (f *Frontier) drop(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropLocked(n)
}

// dropLocked is drop for a caller that holds f.mu. Several transactions remove a large partition,
// so that the changes of other partitions do not wait. If the frontier is closed in between, the
// next Open continues.
func (f *Frontier) dropLocked(n int) {
	if f.closed || f.drops[n] != nil {
		return
	}
	done := make(chan struct{})
	f.drops[n] = done
	f.background.Go(func() {
		for c := (&change{next: "more"}); c.next != ""; {
			c = &change{drop: &n}
			if f.wait(c) != nil {
				break // awaitDrop and every other call report the error
			}
		}
		f.mu.Lock()
		delete(f.drops, n)
		f.mu.Unlock()
		close(done)
	})
}

// awaitDrop waits until nothing of a partition is being removed any more.
func (f *Frontier) awaitDrop(n int) error {
	f.mu.Lock()
	done := f.drops[n]
	f.mu.Unlock()
	if done != nil {
		<-done
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed
	}
	return f.err
}

// dropIncomplete continues to remove the partitions that an earlier process began to remove.
func (f *Frontier) dropIncomplete() error {
	return f.eachStamp(func(n int, s stamp) {
		if s.dropping {
			f.drop(n)
		}
	})
}

// dropSome removes up to maxDrop addresses of the partition c.drop from the file, and sets c.next
// if more remain. The indexes and counts agree with the remaining records after each transaction.
func (b *batch) dropSome(c *change) error {
	c.next = ""
	s, n := b.shared, *c.drop
	if s.partitions.Get(partitionKey(n)) == nil {
		return nil
	}
	var hosts []string
	prefix, left := partitionKey(n), maxDrop
	cursor := s.members.Cursor()
	for k, _ := cursor.Seek(prefix); bytes.HasPrefix(k, prefix) && len(hosts) < maxDrop; k, _ = cursor.Next() {
		hosts = append(hosts, string(k[len(prefix):]))
	}
	for _, name := range hosts {
		if err := b.dropRecords(name, &left); err != nil {
			return err
		}
		if left == 0 {
			break
		}
		if err := b.dropHost(n, name); err != nil {
			return err
		}
	}
	if left == 0 || len(hosts) == maxDrop {
		c.next = "more"
		s.stamps[n] = stamp{dropping: true}
		return nil
	}
	delete(s.stamps, n)
	return s.partitions.Delete(prefix)
}

// dropRecords removes records of addresses of a host until none remain or left is 0.
func (b *batch) dropRecords(name string, left *int) error {
	h, err := b.host(name)
	if err != nil {
		return err
	}
	for _, prefix := range addressesOf(name) {
		var list []Record
		cursor := b.known.Cursor()
		for k, v := cursor.Seek([]byte(prefix)); hasPrefix(k, prefix) && len(list) < *left; k, v = cursor.Next() {
			r, err := decodeRecord(string(k), v)
			if err != nil {
				return err
			}
			list = append(list, r)
		}
		*left -= len(list)
		for i := range list {
			if err := b.dropRecord(&list[i], name, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// addressesOf returns the prefixes of all addresses of a host, in order.
func addressesOf(host string) []string {
	list := make([]string, 0, len(schemes))
	for _, scheme := range schemes {
		list = append(list, scheme+"://"+host+"/")
	}
	slices.Sort(list)
	return list
}

func (b *batch) dropRecord(r *Record, name string, h *hostRecord) error {
	n, err := r.State.number()
	if err != nil {
		return err
	}
	b.counts[n]--
	h.known--
	if r.State == Queued {
		err = b.unqueue(name, h, r.URL, r.place)
	}
	r.State, r.Again, r.TakenDown = "", time.Time{}, "" // removes r from the indexes
	return cmp.Or(err, b.updateFound(r), b.updateRevisits(r), b.updateBarred(r), b.known.Delete([]byte(r.URL)))
}

// dropHost removes a host of which no address is recorded any more.
func (b *batch) dropHost(n int, name string) error {
	h := b.dirty[name]
	b.counts[beyondCount] -= h.beyond
	delete(b.dirty, name)
	delete(b.shared.before, name)
	return cmp.Or(b.move(name, h.ready, 0), b.hosts.Delete([]byte(name)), b.shared.members.Delete(memberKey(n, name)))
}

// eachMember calls fn for each host of the index of hosts by partition.
func eachMember(members *bbolt.Bucket, fn func(n int, host string) error) error {
	return members.ForEach(func(k, _ []byte) error {
		if len(k) <= 4 {
			return errRecord
		}
		return fn(int(binary.BigEndian.Uint32(k)), string(k[4:]))
	})
}
