package index

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2/document"
	bleveindex "github.com/blevesearch/bleve_index_api"
)

// Document is the searchable content of one page. The caller must set Title, Text and Headings only
// to text that policy permits to index.
type Document struct {
	URL      string // identifies the document
	Title    string // words in the title rank higher; Text need not contain the title
	Text     string // a form feed ends a block, such as a paragraph; no phrase crosses the end of a block
	Headings string // the headings of Text, one per line; words in them rank higher
	Language string // a language tag, which a lang: clause finds; "" if unknown
	Analysis string // language whose rules are used to analyse the words; "": Language
	Host     string // host[:port], which a site: clause finds; "": the host of URL
	Type     string // media type, which a type: clause finds
	Feed     bool   // the page is a feed, whatever its media type is
	Fetched  time.Time

	// Positions stores the order of the words, so that phrases can be found. Without the order, a
	// query finds the document by single words, or by a run of dense script if the document
	// contains all characters of the run.
	Positions bool
}

// document converts d to bleve fields. No field content is stored except the URL.
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

// part is a part of a page: title, headings or body.
type part string

const (
	title    part = "title"
	headings part = "headings"
	body     part = "body"
)

// field identifies a field of words.
type field struct {
	part     part
	language string // language of the field's analyser
	kept     kept
}

// kept is what a field stores about its words.
type kept string

const (
	placed kept = "placed" // words with their positions
	bare   kept = "bare"
)

// The names of fields with one or a few labels, such as the host.
const (
	hostField     = "host"
	languageField = "language"
	dayField      = "day"
	typeField     = "type"
)

func (f field) name() string {
	return string(f.part) + "/" + f.language + "/" + string(f.kept)
}

// fieldNamed parses a field name that field.name returned.
func fieldNamed(name string) (f field, ok bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return field{}, false
	}
	return field{part(parts[0]), parts[1], kept(parts[2])}, true
}
