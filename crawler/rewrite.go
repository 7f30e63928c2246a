package crawler

import (
	"bytes"
	"slices"
)

// maxRewrite is how many records one transaction of Rewrite puts into the journal.
const maxRewrite = 1000

// rewriting is a call of Rewrite.
type rewriting struct {
	host, after string // continue at this host, behind this address
	from        uint64 // result: position of the journal before the first put of Rewrite
}

// Rewrite puts everything that the file knows of a partition into its journal again, and returns
// the position before the first of these puts. Every record was put after that position, so the
// journal up to it may be deleted. Records are never deleted, so nothing else is needed. The work
// of the crawl continues between the transactions of Rewrite.
func (f *Frontier) Rewrite(partition int) (from uint64, err error) {
	f.mu.Lock()
	p := f.partitions[partition]
	f.mu.Unlock()
	if p == nil {
		return 0, ErrLost
	}
	for w := (rewriting{}); ; {
		c := &change{part: p, rewrite: &w}
		if err := f.wait(c); err != nil {
			return 0, err
		}
		if w = c.rewritten; c.next == "" {
			return w.from, nil
		}
	}
}

// rewriteSome notes up to maxRewrite records for the journal. c.rewritten says where to continue;
// c.next is "" at the end.
func (b *batch) rewriteSome(c *change) error {
	s, n, w := b.shared, c.part.number, *c.rewrite
	if w.host == "" { // the first transaction
		st, _, err := s.stamp(n)
		if err != nil {
			return err
		}
		w.from = st.journal
	}
	c.next, s.links[n] = "", true
	prefix, left := partitionKey(n), maxRewrite
	cursor := s.members.Cursor()
	for k, _ := cursor.Seek(memberKey(n, w.host)); bytes.HasPrefix(k, prefix); k, _ = cursor.Next() {
		name := string(k[len(prefix):])
		if name != w.host {
			w.host, w.after = name, ""
		}
		if _, err := b.host(name); err != nil {
			return err
		}
		s.hosts[name] = true
		left--
		if last := b.rewriteHost(name, w.after, &left); left <= 0 {
			w.after, c.next = last, "more"
			break
		}
	}
	c.rewritten = w
	return nil
}

// rewriteHost notes the records of a host behind the address after, until left is 0. It returns the
// last one.
func (b *batch) rewriteHost(name, after string, left *int) string {
	cursor := b.known.Cursor()
	for _, prefix := range addressesOf(name) {
		if after >= prefix && !hasPrefix([]byte(after), prefix) {
			continue
		}
		from := max(prefix, after)
		for k, v := cursor.Seek([]byte(from)); hasPrefix(k, prefix); k, v = cursor.Next() {
			if string(k) == after {
				continue
			}
			if *left <= 0 {
				return after
			}
			after = string(k)
			b.shared.note(after, slices.Clone(v))
			*left--
		}
	}
	return after
}
