package index

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2/document"
	bleveindex "github.com/blevesearch/bleve_index_api"
)

// Document is what may be found of one page. Title and Text hold what may be indexed and nothing
// else.
type Document struct {
	URL      string // names the document
	Title    string // its words count more; Text need not repeat it
	Text     string // a form feed ends a block, such as a paragraph; no phrase crosses it
	Headings string // those of Text once more, a line each; their words count more
	Language string // a language tag, as lang: asks for it; "" if unknown
	Analysis string // the language by whose rules its words are found, if it is not Language
	Host     string // host[:port], as site: asks for it; taken from URL if empty
	Type     string // media type, as type: asks for it
	Feed     bool   // the page is a feed, whatever its media type is
	Fetched  time.Time

	// Positions keeps the order of the words, so that phrases can be found. Without it a document
	// is found by single words, and by a run of dense script if it holds all its characters.
	Positions bool
}

// document maps d to fields. Nothing is stored but the URL.
func (ix *Index) document(d Document) *document.Document {
	doc := document.NewDocument(d.URL)
	options, kept := bleveindex.IndexField, bare
	if d.Positions {
		options, kept = options|bleveindex.IncludeTermVectors, placed
	}
	code := analyserFor(cmp.Or(d.Analysis, d.Language))
	for _, f := range []struct {
		part part
		text string
	}{{title, d.Title}, {headings, strings.ReplaceAll(d.Headings, "\n", string(blockEnd))}, {body, d.Text}} {
		if f.text != "" {
			doc.AddField(newWords(field{f.part, code, kept}.name(), f.text, options, ix.analysers[code]))
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
			doc.AddField(document.NewTextFieldCustom(name, []uint64{uint64(i)}, []byte(v),
				bleveindex.IndexField|bleveindex.SkipFreqNorm, nil))
		}
	}
	labels(hostField, hostsAbove(host)...)
	if tag := primary(d.Language); tag != "" {
		labels(languageField, tag)
	}
	labels(typeField, types(d.Type, d.Feed)...)
	if !d.Fetched.IsZero() {
		labels(dayField, d.Fetched.UTC().Format(time.DateOnly))
	}
	return doc
}

// part is a part of a page that has words.
type part string

const (
	title    part = "title"
	headings part = "headings"
	body     part = "body"
)

// field names a field of words.
type field struct {
	part     part
	language string // of its analyser
	kept     kept
}

// kept is what a field stores of its words.
type kept string

const (
	placed kept = "placed" // with their positions
	bare   kept = "bare"
)

// The fields that hold one label each, or a few.
const (
	hostField     = "host"
	languageField = "language"
	dayField      = "day"
	typeField     = "type"
)

func (f field) name() string {
	return string(f.part) + "/" + f.language + "/" + string(f.kept)
}

// fieldNamed parses what name returns.
func fieldNamed(name string) (f field, ok bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return field{}, false
	}
	return field{part(parts[0]), parts[1], kept(parts[2])}, true
}
