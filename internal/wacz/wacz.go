package wacz

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Version is the version of the format that a Writer writes.
const Version = "1.1.1"

// The names of the entries of a WACZ file.
const (
	Archive = "archive/data.warc.gz" // the WARC file that a Writer writes
	Index   = "indexes/index.cdx"    // its index, as CDXJ
	Pages   = "pages/pages.jsonl"    // the pages from which a reader can begin

	archives      = "archive/" // below this are the WARC files
	description   = "datapackage.json"
	packageDigest = "datapackage-digest.json"
	digestPrefix  = "sha256:"
	pagesHeader   = `{"format":"json-pages-1.0","id":"pages","title":"All Pages"}`
	profile       = "data-package"
	maxDescribing = 64 << 20 // limit for datapackage.json in bytes
)

// Page is a line of the list of pages.
type Page struct {
	URL  string `json:"url"`
	Time string `json:"ts"` // when it was fetched, as in RFC 3339
}

// Line returns p as a line of the list, without a line feed.
func (p Page) Line() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(p) // strings can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// Info describes a WACZ file.
type Info struct {
	Title    string
	Created  string // when the file was written, as in RFC 3339
	Software string // which program has written it
}

// dataPackage is the content of datapackage.json.
type dataPackage struct {
	Profile   string     `json:"profile"`
	Version   string     `json:"wacz_version"`
	Title     string     `json:"title,omitempty"`
	Created   string     `json:"created,omitempty"`
	Software  string     `json:"software,omitempty"`
	Resources []resource `json:"resources"`
}

// resource is the description of one entry.
type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"` // sha256: and hexadecimal digits
	Bytes int64  `json:"bytes"`
}

// digest is the content of datapackage-digest.json.
type digest struct {
	Path string `json:"path"`
	Hash string `json:"hash"`
}
