package preference

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// tdmReader reads a tdmrep.json.
type tdmReader struct {
	url    string
	report reporting
	places
	locations []*acap.Field // the values of the member location, one for each entry that read returns
}

func newTDMReader(url string, text []byte, report reporting) *tdmReader {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return &tdmReader{url: url, report: report, places: places{text: text, line: 1, column: 1}}
}

// read returns the locations of the file and what each says, in order. It skips broken entries. If
// the text is not a JSON array, read returns nothing.
func (r *tdmReader) read() (patterns []string, entries []reservation) {
	if len(r.text) > acap.MaxSize {
		r.fault(0, "too-long", "split it, or use fewer locations", "the file is too long, so it says nothing")
		return nil, nil
	}
	var list []json.RawMessage
	err := json.Unmarshal(r.text, &list)
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		at := max(0, min(int(syntax.Offset)-1, len(bytes.TrimRight(r.text, " \t\r\n"))))
		r.fault(r.characterAt(at), "malformed-json", "write a JSON array of objects",
			"the file is not JSON, so it says nothing: "+err.Error())
		return nil, nil
	}
	if err != nil || list == nil {
		r.fault(0, "malformed-json", "put the objects between [ and ]",
			"the file is not a JSON array, so it says nothing")
		return nil, nil
	}
	offset := 0
	for _, raw := range list {
		offset += bytes.Index(r.text[offset:], raw)
		whole := r.mark(acap.TDMRep, r.url, offset, offset+len(raw))
		location, said, err := r.entry(raw, offset, whole)
		if err != nil {
			r.report(whole, "malformed-entry", acap.Error, `write {"location": "/", "tdm-reservation": 1}`,
				"this entry is ignored: "+err.Error())
		} else {
			patterns, entries = append(patterns, location), append(entries, said)
			r.places.to(offset + len(raw))
		}
		offset += len(raw)
	}
	return patterns, entries
}

// fault reports an error because of which the file says nothing.
func (r *tdmReader) fault(offset int, code, hint, message string) {
	r.report(r.mark(acap.TDMRep, r.url, offset, offset), code, acap.Error, hint, message)
}

// tdmEntry is an entry while it is read.
type tdmEntry struct {
	*tdmReader
	field, whole *acap.Field // the entry, for decisions and for findings
	location     string
	at, policy   *acap.Field // the values of location and tdm-policy
	said         reservation
	reservations int
}

// entry reads the entry at an offset of the file; whole is the field for findings about it. A
// location without a slash at its beginning is read with one. With a value of tdm-reservation other
// than 0 and 1, the entry says nothing, and its policy does not count.
func (r *tdmReader) entry(raw json.RawMessage, offset int, whole *acap.Field) (location string, said reservation,
	err error) {
	e := tdmEntry{tdmReader: r, whole: whole, field: r.field(acap.TDMRep, r.url, offset, string(raw))}
	members, err := membersOf(raw)
	if err != nil {
		return "", said, err
	}
	for _, m := range members {
		if err := e.member(m, offset); err != nil {
			return "", said, err
		}
	}
	switch {
	case e.at == nil:
		return "", said, errors.New("it has no location")
	case e.reservations == 0:
		return "", said, errors.New("it has no tdm-reservation")
	}
	e.reportConflicts()
	r.locations = append(r.locations, e.at)
	if !rooted(e.location) {
		e.location = "/" + e.location
	}
	if e.said.because == nil {
		e.said.policy = ""
	}
	return e.location, e.said, nil
}

// rooted reports whether a location begins like a path pattern.
func rooted(location string) bool {
	return strings.HasPrefix(location, "/") || strings.HasPrefix(location, "*")
}

// member reads a member of the entry at an offset of the file.
func (e *tdmEntry) member(m member, offset int) error {
	var text string
	isText := json.Unmarshal(m.value, &text) == nil
	name := e.mark(acap.TDMRep, e.url, offset+m.from, offset+m.to)
	at := e.mark(acap.TDMRep, e.url, offset+m.offset, offset+m.offset+len(m.value))
	switch m.name {
	case "location":
		if m.value[0] != '"' || e.at != nil {
			return errors.New("it needs one location, which must be a string")
		}
		e.location, e.at = text, at
	case tdmReservation:
		e.reservations++
		quoted := isText
		if !isText {
			text = string(m.value)
		}
		switch valid := e.said.set(text, e.field); {
		case !valid:
			e.report(at, "unknown-preference", acap.Warning, "write 0 or 1",
				"the value of tdm-reservation is neither 0 nor 1, so the entry says nothing")
		case quoted:
			e.report(at, "quoted-number", acap.Notice, "write "+strings.TrimSpace(text),
				"tdm-reservation is a number; not every crawler reads a string")
		}
	case tdmPolicy:
		e.policy = at
		if e.said.policy = firstPolicy(e.said.policy, text, e.url); e.said.policy == "" {
			reportPolicy(at, e.report)
		}
	default:
		e.report(name, "unknown-member", acap.Notice,
			meant(m.name, "use location, tdm-reservation and tdm-policy", "location", tdmReservation, tdmPolicy),
			"the member "+m.name+" is unknown and says nothing")
	}
	return nil
}

// reportPolicy reports a tdm-policy that is no URL.
func reportPolicy(at *acap.Field, report reporting) {
	report(at, "malformed-preference", acap.Warning, "write the URL of the policy",
		"the value of tdm-policy is not a URL of the http or https scheme, so it names no policy")
}

// reportIgnoredPolicy reports a policy next to a reservation 0.
func reportIgnoredPolicy(at *acap.Field, report reporting) {
	report(at, "ignored-policy", acap.Notice, "leave it out, or write 1",
		"a policy has no effect if tdm-reservation is 0")
}

// reportConflicts reports members of the entry that do not fit each other, and unusual locations.
func (e *tdmEntry) reportConflicts() {
	switch {
	case e.said.contradicts:
		e.report(e.whole, "contradictory-preference", acap.Warning, "keep one of them",
			"tdm-reservation is both 0 and 1: 1 counts")
	case e.said.policy != "" && e.said.because != nil && !e.said.reserved:
		reportIgnoredPolicy(e.policy, e.report)
	}
	switch location := e.location; {
	case strings.Contains(location, "://"):
		e.report(e.at, "absolute-location", acap.Warning, "write only the path",
			"a location is a path: this URL matches nothing")
	case !rooted(location):
		e.report(e.at.At(location), "rule-without-slash", acap.Notice, "write /"+location,
			"the location begins without a slash and is read with one")
	}
}

// member is a member of a JSON object.
type member struct {
	name     string
	value    json.RawMessage
	from, to int // the range of the name in the object, with its quotation marks
	offset   int // of the value in the object
}

// membersOf returns the members of a JSON object in order, repeated names included.
func membersOf(raw json.RawMessage) (list []member, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, _ := d.Token(); t != json.Delim('{') {
		return nil, errors.New("it is not an object")
	}
	for d.More() {
		var m member
		m.from = int(d.InputOffset())
		m.from += bytes.IndexByte(raw[m.from:], '"')
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m.to = int(d.InputOffset())
		m.name, _ = name.(string) // the name of a member is always a string
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		m.offset = int(d.InputOffset()) - len(m.value)
		list = append(list, m)
	}
	return list, nil
}
