package preference

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/acapcrawl/acapcrawl/acap"
)

// tdmReader reads a tdmrep.json.
type tdmReader struct {
	url    string
	report reporting
	places
}

// read returns the locations of the file and what each says, in order. It skips broken entries. If
// the text is not a JSON array, read returns nothing.
func (r *tdmReader) read() (patterns []string, entries []reservation) {
	if len(r.text) > acap.MaxSize {
		r.fault(0, "too-long", "split it, or use fewer locations", "the file is too long, so it says nothing")
		return nil, nil
	}
	if !json.Valid(bytes.TrimPrefix(r.text, []byte("\ufeff"))) {
		r.fault(0, "malformed-json", "write a JSON array of objects", "the file is not JSON, so it says nothing")
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(r.text, []byte("\ufeff")), &list); err != nil {
		r.fault(0, "malformed-json", "put the objects between [ and ]",
			"the file is not a JSON array, so it says nothing")
		return nil, nil
	}
	offset := 0
	for _, raw := range list {
		offset += bytes.Index(r.text[offset:], raw)
		location, said, err := r.entry(raw, offset)
		if err != nil {
			r.fault(offset, "malformed-entry", `write {"location": "/", "tdm-reservation": 1}`,
				"this entry is ignored: "+err.Error())
		} else {
			patterns, entries = append(patterns, location), append(entries, said)
		}
		offset += len(raw)
	}
	return patterns, entries
}

// fault reports an error at an offset of the file.
func (r *tdmReader) fault(offset int, code, hint, message string) {
	r.report(r.field(acap.TDMRep, r.url, offset, ""), code, acap.Error, hint, message)
}

// entry reads one entry. A location without a slash at its beginning is read with one. A value of
// tdm-reservation other than 0 and 1 is silence.
func (r *tdmReader) entry(raw json.RawMessage, offset int) (location string, said reservation, err error) {
	f := r.field(acap.TDMRep, r.url, offset, string(raw))
	members, err := membersOf(raw)
	if err != nil {
		return "", said, err
	}
	reservations := 0
	for _, m := range members {
		var text string
		isText := json.Unmarshal(m.value, &text) == nil
		switch m.name {
		case "location":
			if !isText || location != "" {
				return "", said, errors.New("it needs one location, which must be a string")
			}
			location = text
		case tdmReservation:
			reservations++
			if !isText {
				text = string(m.value)
			}
			if !said.set(text, f) {
				r.report(f, "unknown-preference", acap.Warning, "write 0 or 1",
					"the value of tdm-reservation is neither 0 nor 1, so the entry says nothing")
			}
		case tdmPolicy:
			if said.policy = firstPolicy(said.policy, text, r.url); said.policy == "" {
				r.report(f, "malformed-preference", acap.Warning, "write the URL of the policy",
					"the value of tdm-policy is not a URL of the http or https scheme, so it names no policy")
			}
		}
	}
	switch {
	case location == "":
		return "", said, errors.New("it has no location")
	case reservations == 0:
		return "", said, errors.New("it has no tdm-reservation")
	case location[0] != '/' && location[0] != '*':
		r.report(f, "rule-without-slash", acap.Notice, `write "/`+location+`"`,
			"the location "+location+" begins without a slash and is read with one")
		location = "/" + location
	}
	return location, said, nil
}

// member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members of a JSON object in order, repeated names included.
func membersOf(raw json.RawMessage) (list []member, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is not an object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var m member
		m.name, _ = name.(string) // the name of a member is always a string
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}
