package acap

import "fmt"

// Key returns a text that is equal for two crawlers only if every policy gives them the same
// decisions. It does not depend on the version of Go, so it can be stored.
func (c Crawler) Key() string {
	vocabularies := make([]string, len(c.Vocabularies))
	for i, v := range c.Vocabularies {
		vocabularies[i] = v.Key()
	}
	key := fmt.Sprintf("names %q, purposes %q declared %t, cannot %q, strict %t, pilot %t, "+
		"sub-records %t, vocabularies %q",
		c.Names, c.Purposes, c.Purposes != nil, c.Cannot, c.Strict, c.Pilot, c.SubTakeDowns, vocabularies)
	if len(c.For) > 0 {
		key += fmt.Sprintf(", for %q", c.For)
	}
	return key
}
