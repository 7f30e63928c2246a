package preference

import (
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Location is a location in a tdmrep.json.
type Location struct {
	Pattern string      // begins with a slash or an asterisk
	Field   *acap.Field // the value of the member location
}

// CheckTDMRep returns the locations of a tdmrep.json in order, without those of broken entries, and the
// findings about the file. If the vocabulary tdmrep is not in force, it returns nothing.
func CheckTDMRep(url string, text []byte, vocabularies []acap.Vocabulary) ([]Location, []acap.Finding) {
	if !Reads(vocabularies, tdmrep{}.Name()) {
		return nil, nil
	}
	var c acap.Collector
	r := newTDMReader(url, text, c.Report)
	patterns, _ := r.read()
	list := make([]Location, len(patterns))
	for i, p := range patterns {
		list[i] = Location{p, r.locations[i]}
	}
	return list, c.Findings()
}

// Reads reports whether a vocabulary with the given name is in a list.
func Reads(vocabularies []acap.Vocabulary, name string) bool {
	return slices.ContainsFunc(vocabularies, func(v acap.Vocabulary) bool { return v.Name() == name })
}
