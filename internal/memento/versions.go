package memento

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// Version is a version of a page that may be shown to the reader.
type Version struct {
	Time    time.Time // when it was fetched
	Address string    // address of the version (URI-M)
}

// Versions are the versions of one page in order of time. Their times are whole seconds, and no
// two are equal. The zero value has no versions. Versions are never changed, so that several
// goroutines may use them.
type Versions struct{ list []Version }

// NewVersions returns the versions in list, which may be in any order. Addresses and headers count
// in seconds: if several versions have the same second, NewVersions keeps only the last of them in
// list.
func NewVersions(list []Version) Versions {
	list = slices.Clone(list)
	for i := range list {
		list[i].Time = list[i].Time.UTC().Truncate(time.Second)
	}
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b Version) int { return a.Time.Compare(b.Time) })
	return Versions{slices.CompactFunc(list, func(a, b Version) bool { return a.Time.Equal(b.Time) })}
}

// Len returns the number of versions.
func (v Versions) Len() int { return len(v.list) }

// At returns version i, where 0 is the first version.
func (v Versions) At(i int) Version { return v.list[i] }

// Select returns the index of the version to show for a time: the last version that is not later,
// or if all are later, the first version. It returns -1 if there are no versions.
//
// RFC 7089 4.5.3: a time before the first version selects the first version, and a time after the
// last version selects the last one. Between two versions RFC 7089 leaves the choice to the
// server.
func (v Versions) Select(at time.Time) int {
	later := sort.Search(len(v.list), func(i int) bool { return v.list[i].Time.After(at) })
	return min(max(later-1, 0), len(v.list)-1)
}

// related is a version with its relations to a selected version.
type related struct {
	index int
	rels  []string
}

// around returns the versions that a response about version i links to: first, previous, itself,
// next and last, each once, in order of time. A version with several relations has them all (RFC
// 7089 2.2.4).
func (v Versions) around(i int) []related {
	var list []related
	for _, r := range []struct {
		index int
		rel   string
	}{{0, "first"}, {len(v.list) - 1, "last"}, {i - 1, "prev"}, {i + 1, "next"}, {i, ""}} {
		if r.index < 0 || r.index >= len(v.list) {
			continue
		}
		at, found := slices.BinarySearchFunc(list, r.index, func(a related, i int) int {
			return cmp.Compare(a.index, i)
		})
		if !found {
			list = slices.Insert(list, at, related{index: r.index})
		}
		if r.rel != "" {
			list[at].rels = append(list[at].rels, r.rel)
		}
	}
	for i := range list {
		list[i].rels = append(list[i].rels, "memento")
	}
	return list
}
