package crawler

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// Check verifies that the queues, the lists of hosts and addresses by due time, the lists of
// re-crawl requests and take-downs, and the counts agree with the record of each address. It also
// verifies the database pages. It reads the whole file and returns all errors found, joined.
func (f *Frontier) Check() error {
	if err := f.Flush(); err != nil {
		return err
	}
	f.checking.Lock() // the check of the database pages reads the free list of the last commit
	defer f.checking.Unlock()
	return f.view(func(tx *bbolt.Tx) error {
		var found []error
		for err := range tx.Check() { // tx.Check starts a goroutine, which ends only when all its errors are read
			found = append(found, err)
		}
		c := checker{tx: tx, journal: f.o.Journal, noted: map[string]int{}, queued: map[string]int{},
			found: map[string]int{}}
		err := errors.Join(c.known(), c.queue(), c.hosts(), c.ready(), c.again(), c.asked(), c.barred(),
			c.foundCounts(), c.numbers(), c.partitions())
		return errors.Join(append(found, err)...)
	})
}

type checker struct {
	tx      *bbolt.Tx
	journal Journal
	noted   map[string]int // host → number of recorded addresses of the host
	queued  map[string]int // host → number of queued addresses of the host
	found   map[string]int // key of the bucket bFound → number of queued addresses
	counts  counts
	bars    int // number of addresses that are not visited because of a take-down
}

func (c *checker) known() error {
	queue := c.tx.Bucket(bQueue)
	return each(c.tx.Bucket(bKnown), "", "", func(r Record) error {
		n, err := r.State.number()
		if err != nil {
			return err
		}
		c.counts[n]++
		host, err := address.Host(r.URL)
		if err != nil {
			return err
		}
		c.noted[host]++
		if !r.Again.IsZero() {
			c.counts[waitingCount]++
			if r.State == Queued || c.tx.Bucket(bAgain).Get(timeKey(nanos(r.Again), r.URL)) == nil {
				return fmt.Errorf("%s, %s, is to be revisited but is not in the index of revisits",
					r.URL, r.State)
			}
		}
		if r.TakenDown != "" {
			c.bars++
			if r.State == Queued || c.tx.Bucket(bBarred).Get(barKey(r.TakenDown, r.URL)) == nil {
				return fmt.Errorf("%s, %s, is taken down but is not in the list of barred addresses",
					r.URL, r.State)
			}
		}
		if r.State != Queued {
			return nil
		}
		key := queueKey(host, r.place)
		v := queue.Get(key)
		if v == nil {
			return fmt.Errorf("the record of %s says queued, but it is in no queue", r.URL)
		}
		it, err := decodeItem(key, v)
		c.found[string(foundKey(r.from, host))]++
		switch {
		case err == nil && it.url != r.URL:
			err = fmt.Errorf("the queue has %[2]s at the place of %[1]s", r.URL, it.url)
		case err == nil && it.from != r.from:
			err = fmt.Errorf("%s was found from seed %d, but its queue entry says seed %d", r.URL, r.from, it.from)
		}
		return err
	})
}

func (c *checker) queue() error {
	entries := 0
	err := c.tx.Bucket(bQueue).ForEach(func(k, _ []byte) error {
		host, ok := hostOf(k)
		if !ok {
			return errRecord
		}
		c.queued[host]++
		entries++
		return nil
	})
	if err == nil && entries != c.counts[0] {
		err = fmt.Errorf("%d records say queued, but the queues have %d entries", c.counts[0], entries)
	}
	return err
}

func (c *checker) hosts() error {
	hosts := 0
	err := c.tx.Bucket(bHosts).ForEach(func(k, v []byte) error {
		h, err := decodeHost(v)
		if err != nil {
			return err
		}
		if h.known != c.noted[string(k)] {
			return fmt.Errorf("host %s counts %d addresses, but %d are recorded", k, h.known, c.noted[string(k)])
		}
		if h.known > 0 {
			hosts++
		}
		c.counts[beyondCount] += h.beyond
		if h.queued != c.queued[string(k)] {
			return fmt.Errorf("host %s counts %d queued addresses, but its queue has %d", k, h.queued,
				c.queued[string(k)])
		}
		indexed := h.ready != 0 && c.tx.Bucket(bReady).Get(timeKey(h.ready, string(k))) != nil
		if indexed != (h.queued > 0) {
			return fmt.Errorf("host %s has %d queued addresses; in the index of due hosts: %t", k,
				h.queued, indexed)
		}
		return nil
	})
	if err == nil && hosts != len(c.noted) {
		err = fmt.Errorf("addresses of %d hosts are recorded, but %d hosts are", len(c.noted), hosts)
	}
	return err
}

// again checks that the index of revisits has as many entries as the stored count says. The method
// known has checked that the index has an entry for each address to revisit.
func (c *checker) again() error {
	entries := 0
	err := c.tx.Bucket(bAgain).ForEach(func(_, _ []byte) error {
		entries++
		return nil
	})
	if err == nil && entries != c.counts[waitingCount] {
		err = fmt.Errorf("%d addresses are to be revisited, but the index of revisits has %d", c.counts[waitingCount],
			entries)
	}
	return err
}

// asked checks the list of re-crawl requests: each address in the list is queued, and each address
// that the queues hold as promoted is in the list.
func (c *checker) asked() error {
	asked := c.tx.Bucket(bAsked)
	err := asked.ForEach(func(k, from []byte) error {
		_, address, _ := strings.Cut(string(k), "\x00")
		v := c.tx.Bucket(bKnown).Get([]byte(address))
		r, err := decodeRecord(address, v)
		if err == nil && (r.State != Queued || r.place.class == ordinary) {
			err = fmt.Errorf("%s, %s, is in the list of re-crawl requests", address, r.State)
		}
		if err == nil && r.place.class == retried && !bytes.Equal(from, number(r.place.rank)) {
			err = fmt.Errorf("the retry of %s for a re-crawl request and its queue entry have different times", address)
		}
		return err
	})
	return errors.Join(err, c.tx.Bucket(bQueue).ForEach(func(k, v []byte) error {
		it, err := decodeItem(k, v)
		if host, _ := hostOf(k); err == nil && it.place.class == promoted && asked.Get(askedKey(host, it.url)) == nil {
			err = fmt.Errorf("%s is at the front of its queue, but no re-crawl request names it", it.url)
		}
		return err
	}))
}

// barred checks that the list of barred addresses has as many entries as the stored count says. The
// method known has checked that the list has an entry for each barred address.
func (c *checker) barred() error {
	entries := 0
	err := c.tx.Bucket(bBarred).ForEach(func(_, _ []byte) error {
		entries++
		return nil
	})
	if err == nil && entries != c.bars {
		err = fmt.Errorf("%d addresses are not visited because of take-downs, but their list has %d", c.bars, entries)
	}
	return err
}

func (c *checker) ready() error {
	err := c.tx.Bucket(bReady).ForEach(func(k, _ []byte) error {
		c.counts[hostCount]++
		if _, host := splitTime(k); c.queued[host] == 0 {
			return fmt.Errorf("host %s is in the index of due hosts, but has no queued address", host)
		}
		return nil
	})
	if err == nil && c.counts[hostCount] != len(c.queued) {
		err = fmt.Errorf("%d hosts have queued addresses, but the index of due hosts has %d", len(c.queued),
			c.counts[hostCount])
	}
	return err
}

func (c *checker) numbers() error {
	kept, err := decodeCounts(c.tx.Bucket(bMeta).Get([]byte("counts")))
	if err == nil && kept != c.counts {
		err = fmt.Errorf("the stored counts are %v, but the actual counts are %v", kept, c.counts)
	}
	return err
}

// partitions checks that the file has data only of partitions of which it knows the position in the
// journal, and that the index of hosts by partition agrees with the hosts.
func (c *checker) partitions() error {
	if c.journal == nil {
		return nil
	}
	stamps, members, hosts := c.tx.Bucket(bPartitions), c.tx.Bucket(bMembers), c.tx.Bucket(bHosts)
	indexed := 0
	err := eachMember(members, func(n int, host string) error {
		indexed++
		switch {
		case stamps.Get(partitionKey(n)) == nil:
			return fmt.Errorf("host %s is in partition %d, which the file does not contain", host, n)
		case c.journal.Partition(host) != n:
			return fmt.Errorf("host %s is in partition %d, but its index entry says %d", host,
				c.journal.Partition(host), n)
		case hosts.Get([]byte(host)) == nil:
			return fmt.Errorf("host %s is in the index of hosts by partition but has no record", host)
		}
		return nil
	})
	all := 0
	countErr := hosts.ForEach(func(_, _ []byte) error {
		all++
		return nil
	})
	if err == nil && all != indexed {
		err = fmt.Errorf("%d hosts are recorded, but the index of hosts by partition has %d", all, indexed)
	}
	stampErr := stamps.ForEach(func(k, v []byte) error {
		_, err := decodeStamp(v)
		if err == nil && len(k) != len(partitionKey(0)) {
			err = errRecord
		}
		return err
	})
	return errors.Join(err, countErr, stampErr)
}
