package cdx

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/acapcrawl/acapcrawl/internal/memento"
)

// Records is a sequence of records in the order of their keys; records with the same key are in
// the order of their timestamps. An error ends the sequence.
type Records = iter.Seq2[Record, error]

// The limits on what a sorted query holds in memory.
const (
	maxSorted      = 10_000  // records
	maxSortedBytes = 8 << 20 // bytes of these records
)

// Select returns the records that answer the query: they are in its ranges, between from and to,
// and pass all filters. They are sorted as the query demands, and cut to its page and limit. If
// the page does not exist, or if there are too many records to sort, the first element is an
// *Error.
func (q *Query) Select(records Records) Records {
	records = q.matching(records)
	switch {
	case q.paged:
		return q.onPage(records)
	case q.sort == "reverse":
		return q.reverse(records)
	case q.sort == "closest":
		return q.nearest(records)
	case q.limit > 0:
		return first(records, q.limit)
	}
	return records
}

// matching returns the records in the ranges and within the times that pass all filters.
func (q *Query) matching(records Records) Records {
	return func(yield func(Record, error) bool) {
		for r, err := range records {
			if err != nil {
				yield(Record{}, err)
				return
			}
			if q.matches(&r) && !yield(r, nil) {
				return
			}
		}
	}
}

func (q *Query) matches(r *Record) bool {
	if q.from != "" && r.Timestamp < q.from || q.to != "" && r.Timestamp > q.to {
		return false
	}
	inside := q.InRanges(r.URLKey)
	for i := range q.filters {
		inside = inside && q.filters[i].match(r)
	}
	return inside
}

// first returns the first n records.
func first(records Records, n int64) Records {
	return func(yield func(Record, error) bool) {
		left := n
		for r, err := range records {
			if left--; !yield(r, err) || left == 0 {
				return
			}
		}
	}
}

// onPage returns the records of the page. It is an error if there is no such page. An empty result
// has one page, number 0, without records.
func (q *Query) onPage(records Records) Records {
	most := q.pageSize
	if q.limit > 0 {
		most = min(most, q.limit)
	}
	return func(yield func(Record, error) bool) {
		seen, start := int64(0), q.page*q.pageSize
		for r, err := range records {
			if seen++; err == nil && seen <= start {
				continue
			}
			if !yield(r, err) || err != nil || seen == start+most {
				return
			}
		}
		if seen <= start && q.page > 0 {
			reason := fmt.Sprintf("there is no such page; the last page is %d", max(0, (seen-1)/q.pageSize))
			yield(Record{}, &Error{"page", strconv.FormatInt(q.page, 10), reason})
		}
	}
}

// reverse returns the last records, in reverse order.
func (q *Query) reverse(records Records) Records {
	return q.sorted(records, func([]Record) bool { return false }, slices.Reverse)
}

// nearest returns the records nearest to the time closest, the nearest one first; of two that are
// equally near, the earlier one comes first. As records of one page are in order of time, the
// nearest ones are next to each other: it holds no more than limit of them.
func (q *Query) nearest(records Records) Records {
	target := memento.Timestamp(q.closest)
	// if the last record is farther than the first one, so are all later records
	farther := func(list []Record) bool {
		last := list[len(list)-1]
		return last.Timestamp >= target && q.distance(list[0]) <= q.distance(last)
	}
	return q.sorted(records, farther, func(list []Record) {
		slices.SortStableFunc(list, func(a, b Record) int { return cmp.Compare(q.distance(a), q.distance(b)) })
	})
}

// sorted returns the last records up to the limit of the query, as order sorts them. If enough
// returns true for records that exceed the limit by one, the last of these and all later ones are
// left out.
func (q *Query) sorted(records Records, enough func([]Record) bool, order func([]Record)) Records {
	return func(yield func(Record, error) bool) {
		var kept window
		for r, err := range records {
			if err == nil {
				kept.add(r)
				if q.limit > 0 && int64(len(kept.list)) > q.limit {
					if enough(kept.list) {
						kept.dropLast()
						break
					}
					kept.dropFirst()
				}
				err = kept.check(q.sort)
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
		}
		order(kept.list)
		for _, r := range kept.list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// distance returns the seconds between a record and the time closest. A record whose timestamp is
// not a time is farther than all others.
func (q *Query) distance(r Record) int64 {
	at, err := memento.ParseTimestamp(r.Timestamp)
	if err != nil {
		return 1 << 62
	}
	if d := at.Unix() - q.closest.Unix(); d >= 0 {
		return d
	}
	return q.closest.Unix() - at.Unix()
}

// window holds records that are to be sorted.
type window struct {
	list  []Record
	bytes int
}

func (w *window) add(r Record) {
	w.list = append(w.list, r)
	w.bytes += r.size()
}

func (w *window) dropFirst() {
	w.bytes -= w.list[0].size()
	w.list[0] = Record{}
	w.list = w.list[1:]
}

func (w *window) dropLast() {
	last := len(w.list) - 1
	w.bytes -= w.list[last].size()
	w.list = w.list[:last]
}

// check returns an error if the window holds more than may be held.
func (w *window) check(sort string) error {
	if len(w.list) <= maxSorted && w.bytes <= maxSortedBytes {
		return nil
	}
	return &Error{"sort", sort,
		"there are too many records to sort; write a limit of at most 1000, or ask for fewer pages"}
}
