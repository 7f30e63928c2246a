package view

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/cdx"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/warc"
)

// The beginnings of present.Listing.Text.
const (
	cdxText   = "cdx?"
	afterText = "after?"
)

// ListingOf returns the listing of a request that another process answers, from its text.
func ListingOf(text string) (present.Listing, error) {
	if after, is := strings.CutPrefix(text, afterText); is {
		return listingAfter(after), nil
	}
	sent, is := strings.CutPrefix(text, cdxText)
	values, err := url.ParseQuery(sent)
	if !is || err != nil {
		return present.Listing{}, fmt.Errorf("%.40q describes no list", text)
	}
	q, err := cdx.Parse(values)
	if err != nil {
		return present.Listing{}, err
	}
	return cdxListing(q, values), nil
}

// listingAfter returns the listing of all addresses after one of them.
func listingAfter(after string) present.Listing {
	return present.Listing{Key: func(address string) string { return address }, Text: afterText + after,
		In:     func(address string) bool { return address > after },
		Origin: func(origin string) bool { return origin+"0" > after }} // "0" follows the slash after an origin
}

// cdxListing returns the listing for a query with these parameters.
func cdxListing(q *cdx.Query, values url.Values) present.Listing {
	selects := url.Values{}
	for _, name := range []string{"url", "matchType"} {
		if values.Has(name) {
			selects[name] = values[name]
		}
	}
	return present.Listing{Key: warc.URLKey, In: q.InRanges, Origin: q.InOrigin, Addresses: q.Addresses(),
		Text: cdxText + selects.Encode()}
}
