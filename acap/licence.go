package acap

import (
	"errors"
	"net/url"
)

// Values of Licence.Err.
const (
	LicenceNotRead  = "it was not read"
	TooManyLicences = "the page names too many licence documents"
)

// Licence is an association of a resource with a licence document of RSL: by a Link header, by a
// LINK element, or by a SCRIPT element that contains the document. It is plain data, so that it can
// be stored with the resource, with the document as evidence.
type Licence struct {
	Tag
	// the absolute URL of the document; "" if the page contains it, or if the URL is unusable
	URL   string `json:",omitempty"`
	Final string `json:",omitempty"` // the URL after redirects, if it differs from URL
	Part  bool   `json:",omitempty"` // an element of the body makes the association
	Text  []byte `json:",omitempty"` // the document; nil if it could not be read
	Err   string `json:",omitempty"` // the reason why it could not be read; "" if it was read
}

// LicenceURL returns the URL of a licence document that a resource at from names. It must be
// absolute, and of the https scheme; it may be of the http scheme only if from is.
func LicenceURL(value string, from *url.URL) (string, error) {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "":
		return "", errors.New("the address of the licence is not absolute")
	case u.Scheme != "https" && (u.Scheme != "http" || from == nil || from.Scheme != "http"):
		return "", errors.New("the address of the licence is not of the https scheme")
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String(), nil
}
