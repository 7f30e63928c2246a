package address

import (
	"hash/fnv"
	"net"
	"strings"
)

// Partition returns the number of the partition, from 0 to n-1, to which a host belongs. host may have a port. All
// hosts of a registrable domain, and all ports of an IP address, are in one partition.
func Partition(host string, n int) int {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	sum := fnv.New64a()
	sum.Write([]byte(Domain(name)))
	// the low bits of FNV-1a depend on few bits of the last octets, so the high bits are mixed in
	v := sum.Sum64()
	v ^= v >> 32
	return int(v % uint64(n))
}
