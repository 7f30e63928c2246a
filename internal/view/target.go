package view

import (
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/memento"
)

// badURL says what a parameter url must be that target refuses.
const badURL = "The parameter url must be a whole address that begins with http:// or https://."

// target returns the normal form of the address that a path contains after its prefix, byte for byte
// and with its query. The error is a *Problem.
func target(raw string) (string, error) {
	// RFC 3986 3.1: the case of a scheme does not matter
	scheme, _, whole := strings.Cut(raw, "://")
	if !whole || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return "", badRequest("The path needs a whole address that begins with http:// or https://.")
	}
	normal, err := address.Normal(raw)
	if err != nil {
		return "", badRequest("The address in the path cannot be read: " + err.Error() + ".")
	}
	return normal, nil
}

// timed splits "TIMESTAMP/URL" and returns the time and the normal form of the address. The error is a
// *Problem.
func timed(rest string) (at time.Time, page string, err error) {
	stamp, raw, found := strings.Cut(rest, "/")
	if at, err = memento.ParseTimestamp(stamp); err != nil || !found {
		return at, "", badRequest("The path needs a time of 14 digits in UTC, a slash and an address, such as " +
			"20260131120000/https://example.org/.")
	}
	page, err = target(raw)
	return at, page, err
}

// targetIn returns the normal form of the address in a path, behind any timestamps or periods; "" if there is
// none.
func targetIn(rest string) string {
	for before, after, found := strings.Cut(rest, "/"); found && isDigits(before); before, after, found = strings.Cut(
		rest, "/") {
		rest = after
	}
	page, err := target(rest)
	if err != nil {
		return ""
	}
	return page
}
