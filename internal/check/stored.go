package check

import (
	"errors"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/policy"
)

// NewStored returns the robots.txt of a stored version of the policy of the origin key, with the files
// that it refers to. vocabularies are the newer vocabularies in which it is read.
func NewStored(key string, v policy.Version, vocabularies []acap.Vocabulary) *Document {
	d := NewDocument(key+"/robots.txt", v.Robots.Text)
	d.Referred, d.Vocabularies = map[string]*acap.File{}, vocabularies
	vocabulary := map[string]string{}
	for _, c := range append([]acap.Crawler{{}}, Questions(&url.URL{}, d).Crawlers...) {
		c.Vocabularies = vocabularies
		for _, ref := range d.File.References(c) {
			vocabulary[ref.URL] = ref.Vocabulary
		}
	}
	for _, ref := range v.References {
		switch name := vocabulary[ref.URL]; {
		case name == "" && ref.Err == "":
			d.Referred[ref.URL] = acap.ParseReferred(ref.URL, ref.Text)
		case name != "":
			f := acap.Reference{URL: ref.URL, Final: ref.Final, Vocabulary: name, Text: ref.Text}
			if ref.Err != "" {
				f.Err = errors.New(ref.Err)
			}
			d.Files = append(d.Files, f)
		}
	}
	return d
}
