package cdx

import (
	"slices"
	"strings"
)

// Record is one version of a page.
type Record struct {
	URLKey    string // key of the address, as warc.URLKey returns it
	Timestamp string // when it was fetched: 14 digits in UTC
	URL       string // address
	MIME      string // media type; "" if unknown
	Status    string // HTTP status; "" if unknown
	Digest    string // digest of the body; "" if unknown
	Length    string // size in octets; "" if unknown
}

// names are the fields of a record in the order of the output.
var names = []string{"urlkey", "timestamp", "url", "mime", "status", "digest", "length"}

// older are other names of fields, from older formats of the index.
var older = map[string]string{"original": "url", "mimetype": "mime", "statuscode": "status"}

// value returns the value of a field, which must be one of names.
func (r *Record) value(name string) string {
	switch name {
	case "urlkey":
		return r.URLKey
	case "timestamp":
		return r.Timestamp
	case "url":
		return r.URL
	case "mime":
		return r.MIME
	case "status":
		return r.Status
	case "digest":
		return r.Digest
	}
	return r.Length
}

// size returns the approximate memory of a record, in bytes.
func (r *Record) size() int {
	n := 0
	for _, name := range names {
		n += 16 + len(r.value(name))
	}
	return n
}

// field returns the name of a field as in names, or a clause that says why it cannot be used.
func field(name string) (field, reason string) {
	if now := older[name]; now != "" {
		name = now
	}
	switch {
	case slices.Contains(names, name):
		return name, ""
	case name == "filename" || name == "offset":
		return "", "the field " + name + " is not published, because it says how records are stored"
	}
	return "", "there is no such field; the fields are " + strings.Join(names, ", ")
}
