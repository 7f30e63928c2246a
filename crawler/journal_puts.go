package crawler

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// The kinds of a put, which is one record in the journal. A put is its kind, one byte; the length
// of its key, an unsigned varint; the key; and the value, which fills the rest. An encoding that
// changes gets a new kind, so the kind is also the version.
//
// A put has no data that follow from other puts, such as indexes and counts, because an entry may
// be applied in part.
const (
	putRecord byte = 1 + iota // key: address; value: Record.encode
	putAsked                  // the same for an address that a re-crawl request names
	putHost                   // key: host; value: hostRecord.portable
	// no key; value: position in the stream of links from other partitions, an unsigned varint:
	// offers up to this position were applied
	putLinks
)

// The limits of a put that is read. They exclude numbers with which the frontier could not compute.
const (
	maxPut    = 64<<10 - 1
	maxPutWhy = 16 << 10 // a longer reason is shortened
	maxPutSeq = 1 << 62
	maxPutNum = 1 << 40
	maxPutGap = 366 * 24 * time.Hour
)

// journalPut is a decoded put.
type journalPut struct {
	kind   byte
	record Record     // for putRecord and putAsked
	host   string     // the host of the record, or the host of state
	state  hostRecord // for putHost
	links  uint64     // for putLinks
}

// LastRecord returns the last record of an address in the journal of its partition. found is false if there is none.
func LastRecord(address string, journal iter.Seq2[JournalRecord, error]) (last Record, found bool, err error) {
	for entry, err := range journal {
		if err != nil {
			return last, false, err
		}
		for _, b := range entry.Puts {
			put, err := decodePut(b)
			if err != nil {
				return last, false, err
			}
			if (put.kind == putRecord || put.kind == putAsked) && put.record.URL == address {
				last, found = put.record, true
			}
		}
	}
	return last, found, nil
}

func appendPut(kind byte, key string, value []byte) []byte {
	b := append(make([]byte, 0, 4+len(key)+len(value)), kind)
	b = binary.AppendUvarint(b, uint64(len(key)))
	return append(append(b, key...), value...)
}

// recordPut returns the put of the stored record v of an address.
func recordPut(url string, v []byte, asked bool) ([]byte, error) {
	kind := putRecord
	if asked {
		kind = putAsked
	}
	if len(v) > maxPutWhy { // such a long record has a long reason
		r, err := decodeRecord(url, v)
		if err != nil {
			return nil, err
		}
		if len(r.Why) > maxPutWhy {
			r.Why = strings.ToValidUTF8(r.Why[:maxPutWhy], "")
		}
		if v, err = r.encode(); err != nil {
			return nil, err
		}
	}
	return appendPut(kind, url, v), nil
}

func linksPut(position uint64) []byte {
	return appendPut(putLinks, "", binary.AppendUvarint(nil, position))
}

// portable encodes what other machines need to know about a host: one byte of flags, then numbers
// as unsigned varints. Known, queued and ready are left out, because they follow from the records
// of the addresses.
func (h *hostRecord) portable() []byte {
	b := append(make([]byte, 0, 40), h.flags())
	for _, n := range []int64{nanos(h.due), nanos(h.held), int64(h.delay), int64(h.pace), int64(h.failures),
		int64(h.beyond)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func decodePortable(b []byte) (h hostRecord, err error) {
	if len(b) == 0 {
		return h, errRecord
	}
	n := numbers{b: b[1:]}
	h.setFlags(b[0])
	h.due, h.held = instant(int64(n.next())), instant(int64(n.next()))
	h.delay, h.pace = time.Duration(n.next()), time.Duration(n.next())
	h.failures, h.beyond = int(n.next()), int(n.next())
	switch {
	case n.bad, h.delay < 0, h.delay > maxPutGap, h.pace < 0, h.pace > maxPutGap:
		return h, errRecord
	case h.failures < 0, h.failures > maxPutNum, h.beyond < 0, h.beyond > maxPutNum:
		return h, errRecord
	}
	return h, nil
}

// decodePut decodes a put of the journal. It accepts only what encode writes, byte for byte.
func decodePut(b []byte) (p journalPut, err error) {
	bad := func(why string) (journalPut, error) {
		return journalPut{}, fmt.Errorf("an entry of the journal cannot be read: %s (%.60q, %d bytes)", why, b, len(b))
	}
	if len(b) == 0 || len(b) > maxPut {
		return bad("its length is not possible")
	}
	n := numbers{b: b[1:]}
	key := string(n.nextBytes(n.next()))
	if n.bad {
		return bad("it ends too early")
	}
	switch p.kind = b[0]; p.kind {
	case putRecord, putAsked:
		if p.record, err = decodeRecord(key, n.b); err == nil {
			p.host, err = p.record.check(p.kind == putAsked)
		}
	case putHost:
		p.host = key
		if p.state, err = decodePortable(n.b); err == nil {
			err = checkHost(key)
		}
	case putLinks:
		p.links = n.next()
	default:
		return bad("its kind is unknown; a newer version of the program wrote it")
	}
	if err != nil {
		return bad(err.Error())
	}
	if again, err := p.encode(); err != nil || !bytes.Equal(again, b) {
		return bad("this program would write it differently")
	}
	return p, nil
}

func (p *journalPut) encode() ([]byte, error) {
	switch p.kind {
	case putHost:
		return appendPut(putHost, p.host, p.state.portable()), nil
	case putLinks:
		return linksPut(p.links), nil
	}
	v, err := p.record.encode()
	return appendPut(p.kind, p.record.URL, v), err
}

// check reports an error if the frontier could not have stored r, and returns the host of r.
func (r *Record) check(asked bool) (host string, err error) {
	page := r.URL
	if normal, named, part := partOf(r.URL); part {
		page = normal
		if key, err := partKey(named); err != nil || key != r.URL {
			return "", fmt.Errorf("%.80q is not the key of a required resource", r.URL)
		}
	}
	if normal, err := address.Normal(page); err != nil || normal != page {
		return "", fmt.Errorf("%.80q is not an address in normal form", page)
	}
	queued := r.State == Queued
	switch {
	case r.Depth < 0 || r.Depth > maxDepth, r.Tries < 0 || r.Tries > maxPutNum, r.Status < 0 || r.Status > maxPutNum:
		return "", errRecord
	case r.Interval < 0, r.place.class > retried, r.place.seq > maxPutSeq, r.place.rank > maxPutSeq<<1:
		return "", errRecord
	case queued && (!r.Again.IsZero() || r.TakenDown != ""), len(r.Why) > maxPutWhy, len(r.Led) > address.MaxLength:
		return "", errRecord
	case asked && (!queued || r.place.class == ordinary), !asked && queued && r.place.class == promoted:
		return "", errRecord
	}
	return address.Host(r.URL)
}

// checkHost reports an error if name is not the name of a host, as in Lease.Host.
func checkHost(name string) error {
	for _, scheme := range []string{"http://", "https://"} {
		normal, err := address.Normal(scheme + name + "/")
		if err != nil || normal != scheme+name+"/" {
			continue
		}
		if host, err := address.Host(normal); err == nil && host == name {
			return nil
		}
	}
	return fmt.Errorf("%.80q is not a host", name)
}
