package cdx

import (
	"strings"

	"github.com/acapcrawl/acapcrawl/warc"
)

// Range is a range of keys in the order of their bytes. It includes From and excludes To. If To is
// "", the range has no end.
type Range struct{ From, To string }

// Contains reports whether a key is in the range.
func (r Range) Contains(key string) bool { return r.From <= key && (r.To == "" || key < r.To) }

// ranges returns the ranges of keys for an address and a matchType. reason is a clause that says
// why there are none.
func ranges(address, match string) (list []Range, reason string) {
	key := warc.URLKey(address)
	host, _, hasHost := strings.Cut(key, ")")
	switch match {
	case "exact":
		return []Range{{key, key + "\x00"}}, ""
	case "prefix":
		// the key lacks a slash or question mark at the end
		for _, last := range []string{"/", "?"} {
			if strings.HasSuffix(address, last) && !strings.HasSuffix(key, last) {
				key += last
			}
		}
		return []Range{{key, after(key)}}, ""
	}
	if !hasHost || host == "" {
		return nil, "matchType=" + match + " needs an address with a host, such as example.com"
	}
	if match == "host" {
		return []Range{{host + ")", host + "*"}}, ""
	}
	if strings.Contains(host, ":") {
		return nil, "matchType=domain needs a host without a port; use matchType=host for one port"
	}
	// A comma separates the labels of a host: the keys of its subdomains begin with host and comma.
	return []Range{{host + ")", host + "*"}, {host + ",", host + "-"}}, ""
}

// after returns the smallest string that is greater than all strings with this prefix, or "" if
// there is no such string.
func after(prefix string) string {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return string(end)
}
