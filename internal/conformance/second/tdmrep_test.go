package second

import (
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
)

// reservation is what one source or all sources so far say of a reservation.
type reservation struct {
	value   string // "0", "1", "" if nothing is said
	because []because
	policy  []string // URLs, of which any may be named
}

// replacedBy returns the reservation after a later source: reservation and policy are replaced each
// for itself, and absence replaces nothing.
func (r reservation) replacedBy(later reservation) reservation {
	if later.value != "" {
		r.value, r.because = later.value, later.because
	}
	if len(later.policy) > 0 {
		r.policy = later.policy
	}
	return r
}

// add adds one value of a source. Within a source 1 beats 0, and other values say nothing.
func (r *reservation) add(value string, at because) {
	switch {
	case value != "0" && value != "1" || value < r.value:
	case value == r.value:
		r.because = append(r.because, at)
	default:
		r.value, r.because = value, []because{at}
	}
}

func (r *reservation) addPolicy(value string, base *url.URL) {
	if value = strings.TrimSpace(value); value == "" {
		return
	}
	u, err := base.Parse(value)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		r.policy = append(r.policy, u.String())
	}
}

// tdmrep reads the file of the origin, then the header, then META.
func (e *engine) tdmrep(v views, u *url.URL, p *page) {
	r := e.tdmrepFile(u)
	if p != nil {
		var header, metas reservation
		for i, value := range p.header["Tdm-Reservation"] {
			for _, part := range strings.Split(value, ",") { // several header lines may have been joined
				header.add(strings.TrimSpace(part), p.headerAt(i))
			}
		}
		for _, value := range p.header["Tdm-Policy"] {
			header.addPolicy(value, p.url)
		}
		for _, m := range p.metas {
			switch strings.ToLower(m.name) {
			case "tdm-reservation":
				metas.add(strings.TrimSpace(m.content), p.metaAt(m))
			case "tdm-policy":
				metas.addPolicy(m.content, p.url)
			}
		}
		r = r.replacedBy(header).replacedBy(metas)
	}
	about := []string{"tdm"}
	if e.q.TDMRepCoversAI == nil || *e.q.TDMRepCoversAI {
		about = newer()
	}
	switch {
	case r.value == "0":
		v.add(opinion{stance: permit, because: r.because}, about...)
	case r.value == "1" && len(r.policy) == 0:
		v.add(opinion{stance: prohibit, because: r.because}, about...)
	case r.value == "1":
		v.add(opinion{stance: agreement, because: r.because, terms: r.policy}, about...)
	}
}

// tdmrepFile returns what the first matching entry of the origin's tdmrep.json says.
func (e *engine) tdmrepFile(u *url.URL) reservation {
	var out reservation
	at := root(u, "/.well-known/tdmrep.json")
	if e.q.robots(u).status == "unreachable" || !e.crawlable(at) {
		return out
	}
	got := e.q.get(at, anywhere)
	if !got.ok || got.response.Status < 200 || got.response.Status > 299 {
		return out
	}
	for _, entry := range readEntries(got.response.bytes()) {
		location := entry.location
		if !strings.HasPrefix(location, "/") {
			location = "/" + location
		}
		if !matches(normalPath(location), matchString(u)) {
			continue
		}
		for _, value := range entry.values {
			out.add(value, because{Source: "tdmrep.json", URL: at.String(), Line: entry.line})
		}
		if out.value != "" {
			for _, policy := range entry.policies {
				out.addPolicy(policy, got.url)
			}
		}
		return out
	}
	return out
}

// entry is an object of tdmrep.json. A key may occur twice.
type entry struct {
	location         string
	values, policies []string
	line             int
}

// readEntries returns the entries of a JSON array that are not broken, nil if it is none.
func readEntries(body string) []entry {
	body = strings.TrimPrefix(body, "\ufeff")
	var all []json.RawMessage
	if json.Unmarshal([]byte(body), &all) != nil {
		return nil
	}
	var out []entry
	d := json.NewDecoder(strings.NewReader(body))
	if _, err := d.Token(); err != nil {
		return nil
	}
	for range all {
		from := int(d.InputOffset())
		from += strings.IndexFunc(body[from:], func(r rune) bool { return !strings.ContainsRune(", \t\r\n", r) })
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return nil
		}
		if e, ok := readEntry(raw); ok {
			e.line = 1 + strings.Count(body[:from], "\n")
			out = append(out, e)
		}
	}
	return out
}

// readEntry reads one entry. It is broken if it is no object, or without a location or a
// reservation.
func readEntry(raw json.RawMessage) (entry, bool) {
	var e entry
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return e, false
	}
	located, reserved := false, false
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil && !errors.Is(err, io.EOF) {
			return e, false
		}
		var s string
		isText := json.Unmarshal(value, &s) == nil && value[0] == '"'
		switch key {
		case "location":
			if !isText || located { // two locations are no location
				return e, false
			}
			e.location, located = s, true
		case "tdm-reservation":
			reserved = true
			if !isText {
				s = string(value)
			}
			e.values = append(e.values, strings.TrimSpace(s))
		case "tdm-policy":
			e.policies = append(e.policies, s)
		}
	}
	return e, located && reserved
}
