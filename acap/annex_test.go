package acap

import (
	"strings"
	"testing"
)

// annexA is the table of P1 annex A, copied by hand.
const annexA = `
time-limit               index preserve present present-original present-currentcopy present-oldcopy present-snippet present-thumbnail present-oldsnippet present-oldthumbnail present-link
must-use-resource        index present present-snippet present-thumbnail present-oldsnippet present-oldthumbnail present-link
max-length               present-snippet present-oldsnippet
prohibited-modification  present present-original present-currentcopy present-oldcopy
must-include-resource    present present-snippet present-oldsnippet
prohibited-context       present present-original present-currentcopy present-oldcopy
required-context         present present-original present-currentcopy present-oldcopy
target-condition         present
usage-ref                other
location                 crawl follow index preserve present present-original present-currentcopy present-oldcopy present-snippet present-thumbnail present-oldsnippet present-oldthumbnail present-link other
`

// samples holds a valid value for each qualifier type.
var samples = map[string]string{"time-limit": "3-days", "must-use-resource": "/s.txt", "max-length": "9-words",
	"prohibited-modification": "any",
	"must-include-resource":   "the-acap:credit:text:A", "prohibited-context": "within-user-frame",
	"required-context": "within-original-frame",
	"target-condition": "permittedcountrylist:be", "usage-ref": "http://quay.example/terms",
	"location": "http://quay.example/a"}

func TestAnnex(t *testing.T) {
	var want strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(annexA), "\n") {
		words := strings.Fields(line)
		for _, u := range words[1:] {
			want.WriteString(u + " " + words[0] + "\n")
		}
	}
	var got strings.Builder
	pairs := map[Pair]bool{}
	for _, p := range Annex() {
		got.WriteString(string(p.Usage) + " " + p.Qualifier + "\n")
		pairs[p] = true
	}
	if got.String() != want.String() {
		t.Errorf("got\n%s", got.String())
	}

	// A field cannot be interpreted if the table does not contain the pair of its usage and its
	// qualifier.
	for q, v := range samples {
		for k := range kinds {
			read := readQualifiers([]string{q + "=" + v}, k, Meta, &Crawler{})
			if pair := (Pair{k.usage(), q}); read.fault.found() == pairs[pair] {
				t.Errorf("%v: %q", pair, read.fault.text)
			}
		}
	}
}
