package index

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2/document"
	bleveindex "github.com/blevesearch/bleve_index_api"
)

// Document is what may be found of one page. Title and Text hold what may be indexed and nothing else.
type Document struct {
	URL      string // names the document
	Title    string // its words count more; Text need not repeat it
	Text     string // a form feed ends a paragraph or the like, over which no phrase goes on
	Headings string // those of Text once more, a line each; their words count more
	Language string // a language tag, as lang: asks for it; "" if unknown
	Analysis string // the language by whose rules its words are found, if it is not Language
	Host     string // host[:port], as site: asks for it; taken from URL if empty
	Type     string // media type, as type: asks for it
	Fetched  time.Time

	// Positions keeps the order of the words, so that phrases can be found. Without it a document is found by single
	// words, and by a run of dense script if it holds all its pairs.
	Positions bool
}

// document maps d to fields. Nothing is stored but the URL.
func (ix *Index) document(d Document) *document.Document {
	doc := document.NewDocument(d.URL)
	options := bleveindex.IndexField
	if d.Positions {
		options |= bleveindex.IncludeTermVectors
	}
	code := analyserFor(cmp.Or(d.Analysis, d.Language))
	for _, f := range []struct {
		field
		text string
	}{{field{title, code, !d.Positions}, d.Title}, {field{headings, code, !d.Positions}, strings.ReplaceAll(d.Headings, "\n", string(blockEnd))}, {field{body, code, !d.Positions}, d.Text}} {
		if f.text != "" {
			doc.AddField(newWords(f.name(), f.text, options, ix.analysers[code]))
		}
	}
	host := d.Host
	if host == "" {
		if u, err := url.Parse(d.URL); err == nil {
			host = u.Host
		}
	}
	labels := func(name string, values ...string) {
		for i, v := range values {
			doc.AddField(document.NewTextFieldCustom(name, []uint64{uint64(i)}, []byte(v), bleveindex.IndexField|bleveindex.SkipFreqNorm, nil))
		}
	}
	labels(hostField, hostsAbove(host)...)
	if tag := primary(d.Language); tag != "" {
		labels(languageField, tag)
	}
	labels(typeField, types(d.Type)...)
	if !d.Fetched.IsZero() {
		labels(dayField, d.Fetched.UTC().Format(time.DateOnly))
	}
	return doc
}

// part is where on a page words stand.
type part string

const (
	title    part = "title"
	headings part = "headings"
	body     part = "body"
)

// field names one of the fields that hold words.
type field struct {
	part     part
	language string // of its analyser
	bare     bool   // without positions
}

// The fields that hold one label each, or a few.
const (
	hostField     = "host"
	languageField = "language"
	dayField      = "day"
	typeField     = "type"
)

func (f field) name() string {
	name := string(f.part) + "/" + f.language
	if f.bare {
		name += "/bare"
	}
	return name
}

// fieldNamed reads what name has written.
func fieldNamed(name string) (f field, ok bool) {
	parts := strings.Split(name, "/")
	if len(parts) < 2 {
		return field{}, false
	}
	return field{part(parts[0]), parts[1], len(parts) == 3}, true
}
