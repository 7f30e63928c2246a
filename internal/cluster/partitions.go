package cluster

import "slices"

// Partitions is a set of partitions: partition p is in it if bit p%8 of byte p/8 is set. The zero value is empty.
type Partitions []byte

// Add adds a partition. It reports whether the set has changed.
func (s *Partitions) Add(partition int) bool {
	if s.Has(partition) {
		return false
	}
	if n := partition/8 + 1 - len(*s); n > 0 {
		*s = append(*s, make([]byte, n)...)
	}
	(*s)[partition/8] |= 1 << (partition % 8)
	return true
}

// Has reports whether a partition is in the set.
func (s Partitions) Has(partition int) bool {
	return partition/8 < len(s) && s[partition/8]&(1<<(partition%8)) != 0
}

// Clone returns a copy of the set.
func (s Partitions) Clone() Partitions { return slices.Clone(s) }

// Ranges returns the first and the last partition of each range of successive partitions in the set, in order.
func (s Partitions) Ranges() [][2]int {
	list := [][2]int{}
	for p := range 8 * len(s) {
		switch last := len(list) - 1; {
		case !s.Has(p):
		case last >= 0 && list[last][1] == p-1:
			list[last][1] = p
		default:
			list = append(list, [2]int{p, p})
		}
	}
	return list
}
