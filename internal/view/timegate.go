package view

import (
	"bytes"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/memento"
)

// farFuture is later than every version.
var farFuture = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// timeGate redirects to the version of a page for the time in Accept-Datetime, or to the latest version
// (RFC 7089 4.2.1: status 302, Location, Vary and Link, and no Memento-Datetime).
func (h *Handler) timeGate(w http.ResponseWriter, r *request) error {
	// errors depend on the header too, because it may be malformed
	w.Header().Set("Vary", "accept-datetime")
	page, err := target(r.rest)
	if err != nil {
		return err
	}
	at, asked, err := memento.AcceptDatetime(r.Header)
	if err != nil {
		return badRequest("In " + err.Error() + ".") // RFC 7089 4.5.3: a malformed Accept-Datetime is status 400
	}
	if !asked { // RFC 7089 4.5.3: without Accept-Datetime a TimeGate selects the latest version
		at = farFuture
	}
	held, err := h.around(r.Context(), page, at, r.visitor)
	if err != nil {
		return err
	}
	i := held.versions.Select(at)
	maps.Copy(w.Header(), held.page.TimeGateHeader(held.versions, i))
	w.Header().Set("Cache-Control", "private, no-store") // terms and versions can change at any moment
	w.WriteHeader(http.StatusFound)
	return nil
}

// timeMap returns an answer that lists the versions of a page in a form (RFC 7089 5). The address may
// follow the number of a page of the TimeMap: /timemap/link/2/URL.
func (h *Handler) timeMap(f memento.Form) answer {
	return func(w http.ResponseWriter, r *request) error {
		n, address, err := numbered(r.rest)
		if err != nil {
			return err
		}
		page, err := target(address)
		if err != nil {
			return err
		}
		held, err := h.history(r.Context(), page, r.visitor)
		if err != nil {
			return err
		}
		if last := held.page.Pages(held.versions); n > last {
			return &Problem{Status: http.StatusNotFound, Code: "no-timemap-page", Title: "The TimeMap has no such page",
				Detail: "The number in the path must be from 1 to " + strconv.Itoa(last) + "."}
		}
		var out bytes.Buffer
		if err := held.page.WriteTimeMap(&out, f, held.versions, n); err != nil {
			return err
		}
		return writeTagged(w, r, f.ContentType(), out.Bytes())
	}
}

// numbered splits "NUMBER/URL", whose number is from 1. Without a number it is 1. An address cannot be
// taken for a number, because it begins with a scheme. The error is a *Problem.
func numbered(rest string) (n int, address string, err error) {
	digits, after, found := strings.Cut(rest, "/")
	if !found || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 1, rest, nil
	}
	if n, err = strconv.Atoi(digits); err != nil || n < 1 || digits[0] == '0' {
		return 0, "", badRequest("The number of a page of a TimeMap must be from 1.")
	}
	return n, after, nil
}
