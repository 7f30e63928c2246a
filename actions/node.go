package actions

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Name returns the ID of the request as callers write it: 17, or a:17 if it is in the ledger of the machine a.
func (r Request) Name() string { return Name(r.Node, r.ID) }

// Name returns the name of the request with an ID in the ledger of a machine; "" is the only machine.
func Name(node string, id uint64) string {
	text := strconv.FormatUint(id, 10)
	if node == "" {
		return text
	}
	return node + ":" + text
}

// ParseName returns machine and ID of a name in the form that Name returns. ok is false if text has another form.
func ParseName(text string) (node string, id uint64, ok bool) {
	at := strings.LastIndexByte(text, ':')
	id, err := strconv.ParseUint(text[at+1:], 10, 64)
	node = text[:max(at, 0)]
	return node, id, err == nil && Name(node, id) == text
}

// Positions are the place at which a list of the requests of several machines goes on: the ID of the request that was
// listed last, by machine; 0 if there is none.
type Positions map[string]uint64

// String returns the positions as ParsePositions reads them, as in a:17,b:9.
func (p Positions) String() string {
	var list []string
	for _, node := range slices.Sorted(maps.Keys(p)) {
		list = append(list, Name(node, p[node]))
	}
	return strings.Join(list, ",")
}

// ParsePositions returns the positions in text. ok is false if text is not in the form of String.
func ParsePositions(text string) (p Positions, ok bool) {
	p = Positions{}
	for one := range strings.SplitSeq(text, ",") {
		node, id, ok := ParseName(one)
		if !ok || node == "" {
			return nil, false
		}
		p[node] = id
	}
	return p, true
}
