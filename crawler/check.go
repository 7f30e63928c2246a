package crawler

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/address"
)

// Check verifies the file: that queue, index of due hosts, index of addresses to be visited again,
// lists of what re-crawls ask for and take-downs bar, and counts agree with what is known of each
// address, and that the pages of the store are sound. It reads everything, and returns all
// contradictions found, joined.
func (f *Frontier) Check() error {
	if err := f.Flush(); err != nil {
		return err
	}
	return f.view(func(tx *bbolt.Tx) error {
		var found []error
		for err := range tx.Check() { // to the end, or its goroutine stays
			found = append(found, err)
		}
		c := checker{tx: tx, noted: map[string]int{}, queued: map[string]int{}, found: map[string]int{}}
		err := errors.Join(c.known(), c.queue(), c.hosts(), c.ready(), c.again(), c.asked(), c.barred(),
			c.foundCounts(), c.numbers())
		return errors.Join(append(found, err)...)
	})
}

type checker struct {
	tx     *bbolt.Tx
	noted  map[string]int // host → addresses
	queued map[string]int // host → addresses queued
	found  map[string]int // key of bFound → addresses queued
	counts counts
	bars   int // addresses barred
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
				return fmt.Errorf("%s, %s, is to be visited again but does not stand in the index of such addresses",
					r.URL, r.State)
			}
		}
		if r.TakenDown != "" {
			c.bars++
			if r.State == Queued || c.tx.Bucket(bBarred).Get(barKey(r.TakenDown, r.URL)) == nil {
				return fmt.Errorf("%s, %s, is barred by a take-down but does not stand in the list of such addresses",
					r.URL, r.State)
			}
		}
		if r.State != Queued {
			return nil
		}
		key := queueKey(host, r.place)
		v := queue.Get(key)
		if v == nil {
			return fmt.Errorf("%s is said to be queued and is in no queue", r.URL)
		}
		it, err := decodeItem(key, v)
		c.found[string(foundKey(r.from, host))]++
		switch {
		case err == nil && it.url != r.URL:
			err = fmt.Errorf("the place of %s in the queue is taken by %s", r.URL, it.url)
		case err == nil && it.from != r.from:
			err = fmt.Errorf("%s was found from seed %d, its queue says %d", r.URL, r.from, it.from)
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
		err = fmt.Errorf("%d addresses are known as queued, the queues hold %d", c.counts[0], entries)
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
			return fmt.Errorf("host %s counts %d addresses of %d", k, h.known, c.noted[string(k)])
		}
		if h.known > 0 {
			hosts++
		}
		c.counts[beyondCount] += h.beyond
		if h.queued != c.queued[string(k)] {
			return fmt.Errorf("host %s counts %d addresses in its queue of %d", k, h.queued, c.queued[string(k)])
		}
		indexed := h.ready != 0 && c.tx.Bucket(bReady).Get(timeKey(h.ready, string(k))) != nil
		if indexed != (h.queued > 0) {
			return fmt.Errorf("host %s with %d addresses queued: it stands in the index of due hosts: %t", k,
				h.queued, indexed)
		}
		return nil
	})
	if err == nil && hosts != len(c.noted) {
		err = fmt.Errorf("addresses of %d hosts are known, %d of the hosts", len(c.noted), hosts)
	}
	return err
}

// again counts the index of addresses to be visited again; known has found each of them in it.
func (c *checker) again() error {
	entries := 0
	err := c.tx.Bucket(bAgain).ForEach(func(_, _ []byte) error {
		entries++
		return nil
	})
	if err == nil && entries != c.counts[waitingCount] {
		err = fmt.Errorf("%d addresses are to be visited again, their index holds %d", c.counts[waitingCount], entries)
	}
	return err
}

// asked looks at what re-crawls ask for: each is queued, and all that is queued first is asked for.
func (c *checker) asked() error {
	asked := c.tx.Bucket(bAsked)
	err := asked.ForEach(func(k, from []byte) error {
		_, address, _ := strings.Cut(string(k), "\x00")
		v := c.tx.Bucket(bKnown).Get([]byte(address))
		r, err := decodeRecord(address, v)
		if err == nil && (r.State != Queued || r.place.class == ordinary) {
			err = fmt.Errorf("%s, %s, is said to be asked for by a re-crawl", address, r.State)
		}
		if err == nil && r.place.class == retried && !bytes.Equal(from, number(r.place.rank)) {
			err = fmt.Errorf("%s is tried again for a re-crawl at another time than the queue says", address)
		}
		return err
	})
	return errors.Join(err, c.tx.Bucket(bQueue).ForEach(func(k, v []byte) error {
		it, err := decodeItem(k, v)
		if host, _ := hostOf(k); err == nil && it.place.class == promoted && asked.Get(askedKey(host, it.url)) == nil {
			err = fmt.Errorf("%s is queued first, but no re-crawl asks for it", it.url)
		}
		return err
	}))
}

// barred counts the list of what take-downs bar; known has found each of them in it.
func (c *checker) barred() error {
	entries := 0
	err := c.tx.Bucket(bBarred).ForEach(func(_, _ []byte) error {
		entries++
		return nil
	})
	if err == nil && entries != c.bars {
		err = fmt.Errorf("%d addresses are barred by take-downs, the list of them holds %d", c.bars, entries)
	}
	return err
}

func (c *checker) ready() error {
	err := c.tx.Bucket(bReady).ForEach(func(k, _ []byte) error {
		c.counts[hostCount]++
		if _, host := splitTime(k); c.queued[host] == 0 {
			return fmt.Errorf("host %s stands in the index of due hosts with nothing queued", host)
		}
		return nil
	})
	if err == nil && c.counts[hostCount] != len(c.queued) {
		err = fmt.Errorf("%d hosts have something queued, the index of due hosts holds %d", len(c.queued),
			c.counts[hostCount])
	}
	return err
}

func (c *checker) numbers() error {
	kept, err := decodeCounts(c.tx.Bucket(bMeta).Get([]byte("counts")))
	if err == nil && kept != c.counts {
		err = fmt.Errorf("the counts kept are %v, counted were %v", kept, c.counts)
	}
	return err
}
