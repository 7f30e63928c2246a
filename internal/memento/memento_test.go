package memento

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	original = "http://harbour.example/tides?at=north,south"
	gate     = "https://archive.example/timegate/" + original
)

// page returns the addresses of a page whose TimeMap has size versions on a page.
func page(size int) Page {
	return Page{Original: original, TimeGate: gate, PageSize: size, TimeMap: func(f Form, page int) string {
		form := map[Form]string{AsLinks: "link", AsJSON: "json"}[f]
		return fmt.Sprintf("https://archive.example/timemap/%s/%d/%s", form, page, original)
	}}
}

// held returns versions with these timestamps.
func held(timestamps ...string) Versions {
	var list []Version
	for _, s := range timestamps {
		at, err := ParseTimestamp(s)
		if err != nil {
			panic(err)
		}
		list = append(list, Version{at, "https://archive.example/raw/" + s + "/" + original})
	}
	return NewVersions(list)
}

// parsed is a link that was read: parameters by name.
type parsed struct {
	target string
	params map[string]string
}

func (p parsed) has(rel string) bool { return slices.Contains(strings.Fields(p.params["rel"]), rel) }

// parse reads links as RFC 8288 B.2 describes, independently of the code that writes them.
func parse(t *testing.T, s string) (list []parsed) {
	t.Helper()
	for s = strings.TrimLeft(s, " \n,"); s != ""; s = strings.TrimLeft(s, " \n,") {
		target, rest, ok := strings.Cut(strings.TrimPrefix(s, "<"), ">")
		if s[0] != '<' || !ok {
			t.Fatalf("no link at %.60q", s)
		}
		l := parsed{target, map[string]string{}}
		for s = rest; strings.HasPrefix(s, ";"); {
			name, rest, ok := strings.Cut(strings.TrimLeft(s[1:], " \n"), `="`)
			if !ok {
				t.Fatalf("a parameter without quotes at %.60q", s)
			}
			var value strings.Builder
			for rest != "" && rest[0] != '"' {
				rest = strings.TrimPrefix(rest, `\`)
				value.WriteByte(rest[0])
				rest = rest[1:]
			}
			if rest == "" {
				t.Fatalf("a string without end in %.60q", s)
			}
			if _, twice := l.params[name]; twice {
				t.Fatalf("two parameters %s", name)
			}
			l.params[name], s = value.String(), rest[1:]
		}
		list = append(list, l)
	}
	return list
}

// with returns the links with a relation.
func with(list []parsed, rel string) []parsed {
	return slices.DeleteFunc(slices.Clone(list), func(l parsed) bool { return !l.has(rel) })
}

// TestMusts has a row for each MUST of RFC 7089 that concerns a server with TimeGates of its own
// (pattern 2.1: a TimeGate that redirects).
func TestMusts(t *testing.T) {
	v := held("20000620180259", "20010320133610", "20080409203051")
	p := page(2)
	at := v.At(1)
	gateHeader, header, redirect := p.TimeGateHeader(v, 1), p.VersionHeader(v, 1), p.RedirectHeader(v, 1)
	gateLinks, links := parse(t, gateHeader.Get("Link")), parse(t, header.Get("Link"))
	first, second := timeMap(t, p, v, 1), timeMap(t, p, v, 2)
	_, _, malformed := AcceptDatetime(http.Header{"Accept-Datetime": {"2001-03-20"}})
	for _, row := range []struct {
		paragraph, must string
		kept            bool
	}{
		{"2.1.1", "a datetime is an RFC 1123 date", header.Get("Memento-Datetime") == "Tue, 20 Mar 2001 13:36:10 GMT"},
		{"2.1.1", "a datetime is in GMT", Date(at.Time.In(time.FixedZone("", 3600))) == Date(at.Time)},
		{"2.2.4", "each link to a memento has a datetime",
			all(slices.Concat(links, gateLinks, first), func(l parsed) bool {
				return !l.has("memento") || l.params["datetime"] != ""
			})},
		{"2.2.4", "it is the Memento-Datetime of the target", all(links, func(l parsed) bool {
			return l.target != at.Address || l.params["datetime"] == header.Get("Memento-Datetime")
		})},
		{"2.2.4", "it is an RFC 1123 date in GMT", all(first, func(l parsed) bool {
			_, err := ParseDate(l.params["datetime"])
			return !l.has("memento") || err == nil
		})},
		{"4.2.1", "the TimeGate redirects to a memento", gateHeader.Get("Location") == at.Address},
		{"4.2.1", "Vary of the TimeGate contains accept-datetime", gateHeader.Get("Vary") == "accept-datetime"},
		{"4.2.1", "the TimeGate sends no Memento-Datetime", gateHeader.Get("Memento-Datetime") == ""},
		{"4.2.1", "the TimeGate links to the original", one(gateLinks, "original", original)},
		{"4.2.1", "Vary of a memento lacks accept-datetime", header.Get("Vary") == ""},
		{"4.2.1", "a memento sends Memento-Datetime", header.Get("Memento-Datetime") != ""},
		{"4.2.1", "a memento links to the original", one(links, "original", original)},
		{"4.5.3", "a malformed Accept-Datetime is refused", malformed != nil},
		{"4.5.7", "Vary of another redirect lacks accept-datetime", redirect.Get("Vary") == ""},
		{"4.5.7", "another redirect sends no Memento-Datetime", redirect.Get("Memento-Datetime") == ""},
		{"4.5.7", "another redirect links to the original", one(parse(t, redirect.Get("Link")), "original", original)},
		{"5", "a TimeMap lists the original", one(first, "original", original) && one(second, "original", original)},
		{"5", "its pages list each memento once", slices.Equal(addresses(slices.Concat(with(first, "memento"),
			with(second, "memento"))), []string{v.At(0).Address, v.At(1).Address, v.At(2).Address})},
		{"5", "its pages link to each other as timemap", one(first, "timemap", p.TimeMap(AsLinks, 2)) &&
			one(second, "timemap", p.TimeMap(AsLinks, 1))},
		{"5", "each listed resource has a type", all(slices.Concat(first, second), func(l parsed) bool {
			return l.has("original") || l.has("timegate") || l.has("self") || l.has("timemap") || l.has("memento")
		})},
		{"5", "application/link-format is supported", AsLinks.ContentType() == "application/link-format"},
		// These are SHOULD.
		{"5", "a TimeMap lists the TimeGate", one(first, "timegate", gate)},
		{"5", "a TimeMap lists itself", one(first, "self", p.TimeMap(AsLinks, 1))},
	} {
		if !row.kept {
			t.Errorf("RFC 7089 %s: %s: does not hold", row.paragraph, row.must)
		}
	}
}

func timeMap(t *testing.T, p Page, v Versions, n int) []parsed {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteTimeMap(&b, AsLinks, v, n); err != nil {
		t.Fatal(err)
	}
	return parse(t, b.String())
}

func all(list []parsed, is func(parsed) bool) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(l parsed) bool { return !is(l) })
}

func one(list []parsed, rel, target string) bool {
	return slices.Equal(addresses(with(list, rel)), []string{target})
}

func addresses(list []parsed) (targets []string) {
	for _, l := range list {
		targets = append(targets, l.target)
	}
	return targets
}

func TestTimestamps(t *testing.T) {
	for s, valid := range map[string]bool{
		"20070531203500": true, "00010101000000": true, "99991231235959": true, "20240229000000": true,
		"": false, "2007": false, "200705312035": false, "2007053120350": false, "200705312035000": false,
		"20070532203500": false, "20230229000000": false, "20070531240000": false, "20070531206000": false,
		"20070531203560": false, "20071331203500": false, "2007053120350x": false, "+2007053120350": false,
		" 2007053120350": false, "20070531203500.5": false, "2007053120350٠": false, "20070531203500\n": false,
	} {
		at, err := ParseTimestamp(s)
		if (err == nil) != valid {
			t.Errorf("%q: %v, error %v", s, at, err)
		}
		if err == nil && Timestamp(at.In(time.FixedZone("", -7200))) != s {
			t.Errorf("%q is printed as %s", s, Timestamp(at))
		}
	}
}

func TestAcceptDatetime(t *testing.T) {
	want := time.Date(2007, 5, 31, 20, 35, 0, 0, time.UTC)
	for value, valid := range map[string]bool{
		"Thu, 31 May 2007 20:35:00 GMT":  true,
		"Mon, 31 May 2007 20:35:00 GMT":  true, // a wrong day of the week
		"thu, 31 May 2007 20:35:00 GMT":  false,
		"Thu, 31 may 2007 20:35:00 GMT":  false,
		"Thu, 31 May 2007 20:35:00 gmt":  false,
		"Thu, 31 May 2007 20:35:00 UTC":  false,
		"Thu, 31 May 2007 20:35:00 EST":  false,
		"Thu, 31 May 2007 20:35:00":      false,
		"Thu,  31 May 2007 20:35:00 GMT": false,
		"Thu, 31 May 2007 20:35:0 GMT":   false,
		"Thu, 31 May 2007 24:00:00 GMT":  false,
		"Thu, 31 Feb 2007 20:35:00 GMT":  false,
		"Thursday, 31-May-07 20:35:00":   false,
		"Thu May 31 20:35:00 2007":       false,
		"20070531203500":                 false,
		"Xyz, 31 May 2007 20:35:00 GMT":  false,
		"":                               false,
		"T":                              false,
	} {
		at, asked, err := AcceptDatetime(http.Header{"Accept-Datetime": {value}})
		if (err == nil) != valid || asked != valid || valid && !at.Equal(want) {
			t.Errorf("%q: %v, %v, error %v", value, at, asked, err)
		}
	}
	if _, asked, err := AcceptDatetime(http.Header{}); asked || err != nil {
		t.Errorf("without the header: asked %v, error %v", asked, err)
	}
	twice := http.Header{"Accept-Datetime": {Date(want), Date(want)}}
	if _, _, err := AcceptDatetime(twice); err == nil {
		t.Error("two headers are accepted")
	}
}

func TestSelect(t *testing.T) {
	v := held("20100101000000", "20120101000000", "20140101000000")
	for at, want := range map[string]int{
		"20090101000000": 0, // earlier than the first: the first
		"20100101000000": 0,
		"20111231235959": 0, // the second is nearer, but later
		"20120101000000": 1,
		"20120101000001": 1,
		"20140101000000": 2,
		"20300101000000": 2, // later than the last: the last
	} {
		time, _ := ParseTimestamp(at)
		if got := v.Select(time); got != want {
			t.Errorf("%s: version %d, not %d", at, got, want)
		}
	}
	none := NewVersions(nil)
	if none.Select(time.Now()) != -1 || none.Len() != 0 {
		t.Error("no versions: one was found")
	}
}

func TestVersionsOfOneSecond(t *testing.T) {
	at := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	list := []Version{{at.Add(time.Minute), "c"}, {at.Add(900 * time.Millisecond), "a"}, {at, "b"}}
	v := NewVersions(list)
	if v.Len() != 2 || v.At(0) != (Version{at, "b"}) || v.At(1).Address != "c" || list[0].Address != "c" {
		t.Errorf("versions %v of %v", v, list)
	}
}

// TestRelations: which relations the versions around a selected one have. Relations of the same
// version are merged.
func TestRelations(t *testing.T) {
	for _, row := range []struct {
		versions, selected int
		want               string // relations in order of time
	}{
		{1, 0, "first last memento"},
		{2, 0, "first memento; last next memento"},
		{2, 1, "first prev memento; last memento"},
		{3, 1, "first prev memento; memento; last next memento"},
		{5, 0, "first memento; next memento; last memento"},
		{5, 2, "first memento; prev memento; memento; next memento; last memento"},
		{5, 4, "first memento; prev memento; last memento"},
	} {
		var times []string
		for i := range row.versions {
			times = append(times, fmt.Sprintf("20%02d0101000000", i))
		}
		var got []string
		header := page(0).VersionHeader(held(times...), row.selected)
		for _, l := range with(parse(t, header.Get("Link")), "memento") {
			got = append(got, l.params["rel"])
		}
		if strings.Join(got, "; ") != row.want {
			t.Errorf("version %d of %d: %q, not %q", row.selected, row.versions, got, row.want)
		}
	}
}

func TestTimeMap(t *testing.T) {
	v := held("20010101000000", "20020101000000", "20030101000000", "20040101000000", "20050101000000")
	var b bytes.Buffer
	if err := page(2).WriteTimeMap(&b, AsLinks, v, 2); err != nil {
		t.Fatal(err)
	}
	const page1, page2, page3 = `from="Mon, 01 Jan 2001 00:00:00 GMT"; until="Tue, 01 Jan 2002 00:00:00 GMT"`,
		`from="Wed, 01 Jan 2003 00:00:00 GMT"; until="Thu, 01 Jan 2004 00:00:00 GMT"`,
		`from="Sat, 01 Jan 2005 00:00:00 GMT"; until="Sat, 01 Jan 2005 00:00:00 GMT"`
	const at, kind = `/http://harbour.example/tides?at=north,south>; rel=`, `; type="application/link-format"; `
	want := `<http://harbour.example/tides?at=north,south>; rel="original",
<https://archive.example/timegate` + at + `"timegate",
<https://archive.example/timemap/link/2` + at + `"self"` + kind + page2 + `,
<https://archive.example/timemap/link/1` + at + `"timemap"` + kind + page1 + `,
<https://archive.example/timemap/link/3` + at + `"timemap"` + kind + page3 + `,
<https://archive.example/raw/20030101000000` + at + `"memento"; datetime="Wed, 01 Jan 2003 00:00:00 GMT",
<https://archive.example/raw/20040101000000` + at + `"memento"; datetime="Thu, 01 Jan 2004 00:00:00 GMT"
`
	if b.String() != want {
		t.Errorf("page 2:\n%s", b.String())
	}
	for n, rels := range map[int]string{1: "first memento; memento", 3: "last memento"} {
		var got []string
		for _, l := range with(timeMap(t, page(2), v, n), "memento") {
			got = append(got, l.params["rel"])
		}
		if strings.Join(got, "; ") != rels {
			t.Errorf("page %d: %q", n, got)
		}
	}
	for _, n := range []int{-1, 0, 4} {
		if err := page(2).WriteTimeMap(&b, AsLinks, v, n); err == nil {
			t.Errorf("there is a page %d", n)
		}
	}
	if l := timeMap(t, page(2), NewVersions(nil), 1); len(l) != 3 || l[2].params["from"] != "" {
		t.Errorf("without versions: %v", l)
	}
}

func TestTimeMapJSON(t *testing.T) {
	v := held("20010101000000", "20020101000000", "20030101000000")
	read := func(p Page, v Versions, n int) (m struct {
		jsonMap
		Mementos struct {
			List        []jsonVersion
			First, Last *jsonVersion
		}
	}) {
		var b bytes.Buffer
		err := p.WriteTimeMap(&b, AsJSON, v, n)
		if err == nil {
			err = json.Unmarshal(b.Bytes(), &m)
		}
		if err != nil {
			t.Fatalf("%v in %s", err, b.String())
		}
		return m
	}
	m := read(page(2), v, 2)
	last := jsonVersion{"2003-01-01T00:00:00Z", v.At(2).Address}
	if m.Original != original || m.TimeGate != gate || m.Self != page(2).TimeMap(AsJSON, 2) ||
		!slices.Equal(m.Mementos.List, []jsonVersion{last}) || *m.Mementos.Last != last ||
		m.Mementos.First.URI != v.At(0).Address || m.TimeMap["link_format"] != page(2).TimeMap(AsLinks, 1) {
		t.Errorf("page 2: %+v", m)
	}
	if len(m.Index) != 2 || m.Index[0] != (jsonPage{"2001-01-01T00:00:00Z", "2002-01-01T00:00:00Z",
		page(2).TimeMap(AsJSON, 1)}) {
		t.Errorf("pages: %+v", m.Index)
	}
	if m := read(page(9), v, 1); len(m.Mementos.List) != 3 || m.Index != nil {
		t.Errorf("one page: %+v", m)
	}
	if m := read(page(9), NewVersions(nil), 1); len(m.Mementos.List) != 0 || m.Mementos.First != nil {
		t.Errorf("no versions: %+v", m)
	}
}

// TestHostileLinks: no address and no media type can end a link, add a parameter or end the header.
func TestHostileLinks(t *testing.T) {
	for _, s := range []string{`a>; rel="evil"`, "a\r\nSet-Cookie: x=y", `a", <b>; rel="c`, "ä\x00\x7f", `a\`, ""} {
		links := []Link{{Target: s, Rels: []string{"original"}, Type: s}, {Target: "z", Rels: []string{"a", "b"}}}
		value := HeaderValue(links)
		got := parse(t, value)
		if len(got) != 2 || !got[0].has("original") || !got[1].has("b") || strings.ContainsAny(value, "\r\n\x00") {
			t.Errorf("%q becomes %q", s, value)
		}
	}
}

func FuzzTimestamp(f *testing.F) {
	f.Add("20070531203500")
	f.Fuzz(func(t *testing.T, s string) {
		if at, err := ParseTimestamp(s); err == nil && Timestamp(at) != s {
			t.Errorf("%q is printed as %q", s, Timestamp(at))
		}
	})
}

func FuzzDate(f *testing.F) {
	f.Add("Thu, 31 May 2007 20:35:00 GMT")
	f.Add("Thu")
	f.Fuzz(func(t *testing.T, s string) {
		at, err := ParseDate(s)
		if err == nil && Date(at)[3:] != s[3:] {
			t.Errorf("%q is printed as %q", s, Date(at))
		}
	})
}

func FuzzLink(f *testing.F) {
	f.Add("http://a.example/?<>,;\"", "text/html\\")
	f.Fuzz(func(t *testing.T, target, media string) {
		l := Link{Target: target, Rels: []string{"first", "memento"}, Type: media}
		got := parse(t, HeaderValue([]Link{l, l}))
		if len(got) != 2 || got[1].params["rel"] != "first memento" || (got[0].params["type"] == "") != (media == "") {
			t.Errorf("%q", got)
		}
	})
}
