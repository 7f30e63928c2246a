package preference

import (
	"net/url"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Location is a location in a tdmrep.json.
type Location struct {
	Pattern string      // begins with a slash or an asterisk
	Field   *acap.Field // the value of the member location
}

// CheckTDMRep returns the locations of a tdmrep.json in order, without those of broken entries, and
// the findings about the file. name is its name or address. If the vocabulary tdmrep is not in
// force, it returns nothing.
func CheckTDMRep(name string, text []byte, vocabularies []acap.Vocabulary) ([]Location, []acap.Finding) {
	if !Reads(vocabularies, tdmrep{}.Name()) {
		return nil, nil
	}
	var c acap.Collector
	address := name // policies may be relative to it
	if u, err := url.Parse(name); err != nil || u.Host == "" {
		address = "https://robots.invalid" + tdmPath
	}
	r := newTDMReader(address, text, c.Report)
	patterns, _ := r.read()
	list := make([]Location, len(patterns))
	for i, p := range patterns {
		r.locations[i].URL = name
		list[i] = Location{p, r.locations[i]}
	}
	found := c.Findings()
	for i := range found {
		found[i].URL = name
	}
	return list, found
}

// Reads reports whether a vocabulary with the given name is in a list.
func Reads(vocabularies []acap.Vocabulary, name string) bool {
	return slices.ContainsFunc(vocabularies, func(v acap.Vocabulary) bool { return v.Name() == name })
}
