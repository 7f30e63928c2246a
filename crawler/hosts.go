package crawler

import (
	"errors"
	"time"

	"go.etcd.io/bbolt"
)

// HostState is what the frontier stores about a host.
type HostState struct {
	Due      time.Time     // when the host may be requested next; zero: no address of it is queued
	Delay    time.Duration // delay between two requests that the host asks for (Crawl-delay)
	Pace     time.Duration // delay derived from its response times; 0: no response yet
	Failures int           // number of failures in a row
	Known    int           // number of recorded addresses, of pages and of required resources
	Queued   int           // number of queued addresses
	Beyond   int           // number of links that were not recorded, because the host has too many
}

// Host returns the committed state of a host, which is named as in Lease.Host. known is false if no
// address of the host is recorded.
func (f *Frontier) Host(name string) (s HostState, known bool, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		v := tx.Bucket(bHosts).Get([]byte(name))
		if known = v != nil; !known {
			return nil
		}
		h, err := decodeHost(v)
		s = HostState{Due: instant(h.ready), Delay: h.delay, Pace: h.pace, Failures: h.failures, Known: h.known,
			Queued: h.queued, Beyond: h.beyond}
		return err
	})
	return s, known, err
}

// errFull ends a walk that has found enough records.
var errFull = errors.New("enough records")

// Records returns at most limit records of addresses that begin with prefix and come after the address
// after, in order of address. Unlike Each, it leaves no transaction open between two calls.
func (f *Frontier) Records(prefix, after string, limit int) (list []Record, err error) {
	from := prefix
	if after != "" {
		from = after + "\x00"
	}
	err = f.view(func(tx *bbolt.Tx) error {
		err := each(tx.Bucket(bKnown), prefix, from, func(r Record) error {
			if len(list) == limit {
				return errFull
			}
			list = append(list, r)
			return nil
		})
		if errors.Is(err, errFull) {
			return nil
		}
		return err
	})
	return list, err
}
