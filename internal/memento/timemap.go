package memento

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// DefaultPageSize is the number of versions in a page of a TimeMap if the caller sets none.
const DefaultPageSize = 5000

func (p Page) pageSize() int {
	if p.PageSize > 0 {
		return p.PageSize
	}
	return DefaultPageSize
}

// Pages returns the number of pages of the TimeMap of versions, at least 1.
func (p Page) Pages(v Versions) int { return max(1, (v.Len()+p.pageSize()-1)/p.pageSize()) }

// span returns the versions in a page of the TimeMap: from is the first, and to the one after the
// last. Both are 0 if the page does not exist.
func (p Page) span(v Versions, page int) (from, to int) {
	if page < 1 || page > p.Pages(v) {
		return 0, 0
	}
	return (page - 1) * p.pageSize(), min(page*p.pageSize(), v.Len())
}

// mapLink returns a link to a page of the TimeMap, with the times of its first and last version.
func (p Page) mapLink(rel string, f Form, page int, v Versions) Link {
	l := Link{Target: p.TimeMap(f, page), Rels: []string{rel}, Type: f.ContentType()}
	if from, to := p.span(v, page); from < to {
		l.From, l.Until = v.At(from).Time, v.At(to-1).Time
	}
	return l
}

// WriteTimeMap writes a page of the TimeMap of versions in form f. It is an error if there is no
// such page. Each page names the original, the TimeGate and itself, and lists its versions with
// their times; it links to all other pages, so that a client can collect all versions (RFC 7089 5,
// 5.1.1). The relations first and last are those among all versions.
func (p Page) WriteTimeMap(w io.Writer, f Form, v Versions, page int) error {
	if page < 1 || page > p.Pages(v) {
		return fmt.Errorf("the TimeMap has no page %d; its pages are 1 to %d", page, p.Pages(v))
	}
	out := bufio.NewWriter(w)
	var err error
	if f == AsJSON {
		err = p.writeJSON(out, v, page)
	} else {
		err = p.writeLinks(out, v, page)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// writeLinks writes a page of the TimeMap as application/link-format (RFC 6690 2): links separated
// by commas. Each link is on a line of its own, as in RFC 7089 5.1.
func (p Page) writeLinks(out *bufio.Writer, v Versions, page int) error {
	links := []Link{
		{Target: p.Original, Rels: []string{"original"}},
		{Target: p.TimeGate, Rels: []string{"timegate"}},
		p.mapLink("self", AsLinks, page, v),
	}
	for other := range p.Pages(v) {
		if other+1 != page {
			links = append(links, p.mapLink("timemap", AsLinks, other+1, v))
		}
	}
	for i, l := range links {
		if i > 0 {
			out.WriteString(",\n")
		}
		out.WriteString(l.String())
	}
	for from, to := p.span(v, page); from < to; from++ {
		rels := []string{"memento"}
		if from == v.Len()-1 {
			rels = append([]string{"last"}, rels...)
		}
		if from == 0 {
			rels = append([]string{"first"}, rels...)
		}
		out.WriteString(",\n" + Link{Target: v.At(from).Address, Rels: rels, Datetime: v.At(from).Time}.String())
	}
	return out.WriteByte('\n')
}

// jsonMap is a page of a TimeMap in JSON without its list of versions. RFC 7089 defines no JSON:
// this is the form that the public TimeMap services and MemGator use.
type jsonMap struct {
	Original string            `json:"original_uri"`
	Self     string            `json:"self"`
	TimeGate string            `json:"timegate_uri"`
	TimeMap  map[string]string `json:"timemap_uri"`
	Index    []jsonPage        `json:"timemap_index,omitempty"`
}

// jsonPage is a page of a TimeMap with the times of its first and last version.
type jsonPage struct {
	From  string `json:"from"`
	Until string `json:"until"`
	URI   string `json:"uri"`
}

// jsonVersion is a version in a TimeMap.
type jsonVersion struct {
	Datetime string `json:"datetime"`
	URI      string `json:"uri"`
}

func (p Page) writeJSON(out *bufio.Writer, v Versions, page int) error {
	m := jsonMap{Original: p.Original, Self: p.TimeMap(AsJSON, page), TimeGate: p.TimeGate,
		TimeMap: map[string]string{"link_format": p.TimeMap(AsLinks, 1), "json_format": p.TimeMap(AsJSON, 1)}}
	if pages := p.Pages(v); pages > 1 {
		for i := range pages {
			l := p.mapLink("timemap", AsJSON, i+1, v)
			m.Index = append(m.Index, jsonPage{From: jsonTime(l.From), Until: jsonTime(l.Until), URI: l.Target})
		}
	}
	head, err := json.Marshal(m)
	if err != nil {
		return err
	}
	out.Write(bytes.TrimSuffix(head, []byte("}")))
	out.WriteString(`,"mementos":{"list":[`)
	for from, to := p.span(v, page); from < to; from++ {
		if from > (page-1)*p.pageSize() {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		if err := writeVersion(out, v.At(from)); err != nil {
			return err
		}
	}
	out.WriteString("]")
	if v.Len() > 0 {
		for _, end := range []struct {
			name string
			at   int
		}{{"first", 0}, {"last", v.Len() - 1}} {
			fmt.Fprintf(out, ",\n%q:", end.name)
			if err := writeVersion(out, v.At(end.at)); err != nil {
				return err
			}
		}
	}
	_, err = out.WriteString("}}\n")
	return err
}

func writeVersion(out *bufio.Writer, v Version) error {
	data, err := json.Marshal(jsonVersion{Datetime: jsonTime(v.Time), URI: v.Address})
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}

func jsonTime(t time.Time) string { return t.Format(time.RFC3339) }
