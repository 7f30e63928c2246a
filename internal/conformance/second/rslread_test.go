package second

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
)

const rslSpace = "https://rslstandard.org/rsl"

// content is a content element of an RSL document.
type content struct {
	url, server string
	licences    []licence
	line        int
}

// licence is a license element: the tokens by kind (usage, user, geo) and the terms.
type licence struct {
	permits, prohibits map[string][]string
	paid, reported     bool
	standard           string
	line               int
}

// element is an element of RSL. Elements of other namespaces are left out.
type element struct {
	name       string
	attributes map[string]string
	text       string
	children   []*element
	line       int
}

var errNotRSL = errors.New("no document of RSL")

// readRSL reads a document. It fails if an element of RSL is unknown or at the wrong place, if there
// is no content, or a content without a licence.
func readRSL(body string) ([]content, error) {
	top, err := readElements(strings.TrimPrefix(body, "\ufeff"))
	if err != nil {
		return nil, err
	}
	if top.name != "rsl" || !top.conforms() || len(top.children) == 0 {
		return nil, errNotRSL
	}
	var out []content
	for _, c := range top.children {
		one := content{url: strings.TrimSpace(c.attributes["url"]), server: strings.TrimSpace(c.attributes["server"]),
			line: c.line}
		if _, ok := c.attributes["url"]; !ok {
			return nil, errNotRSL
		}
		for _, l := range c.children {
			if l.name == "license" {
				one.licences = append(one.licences, l.licence())
			}
		}
		if len(one.licences) == 0 {
			return nil, errNotRSL
		}
		out = append(out, one)
	}
	return out, nil
}

// conforms reports whether all elements below e may be where they are.
func (e *element) conforms() bool {
	may := map[string][]string{
		"rsl":     {"content"},
		"content": {"license", "schema", "alternate", "copyright", "terms"},
		"license": {"permits", "prohibits", "payment", "reporting", "legal"},
		"payment": {"standard", "custom", "amount", "accepts"},
	}[e.name]
	seen := map[string]bool{}
	for _, c := range e.children {
		if !slices.Contains(may, c.name) || !c.conforms() {
			return false
		}
		if c.name != "permits" && c.name != "prohibits" {
			continue
		}
		// at most one of each type
		kind := strings.TrimSpace(c.attributes["type"])
		if !slices.Contains([]string{"usage", "user", "geo"}, kind) || seen[c.name+kind] {
			return false
		}
		seen[c.name+kind] = true
	}
	return true
}

func (e *element) licence() licence {
	l := licence{permits: map[string][]string{}, prohibits: map[string][]string{}, line: e.line}
	for _, c := range e.children {
		// commas separate tokens, too, in version 0.9
		tokens := append([]string{}, strings.FieldsFunc(c.text, func(r rune) bool {
			return strings.ContainsRune(", \t\r\n", r)
		})...)
		kind := strings.TrimSpace(c.attributes["type"])
		switch c.name {
		case "permits":
			l.permits[kind] = slices.Concat([]string{""}, l.permits[kind], tokens)
		case "prohibits":
			l.prohibits[kind] = slices.Concat([]string{""}, l.prohibits[kind], tokens)
		case "reporting":
			l.reported = true
		case "payment":
			l.paid = l.paid || kind != "free" && kind != "attribution"
			for _, s := range c.children {
				if s.name == "standard" && l.standard == "" {
					l.standard = strings.TrimSpace(s.text)
				}
			}
		}
	}
	return l
}

// readElements reads a document of XML with one root element.
func readElements(body string) (*element, error) {
	d := xml.NewDecoder(strings.NewReader(body))
	var open []*element
	var top *element
	for {
		line, _ := d.InputPos()
		t, err := d.Token()
		if errors.Is(err, io.EOF) && top != nil {
			return top, nil
		}
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.Directive: // a document type is not read, so that no entity is expanded
			return nil, errNotRSL
		case xml.StartElement:
			if len(open) == 0 && (top != nil || t.Name.Space != rslSpace) {
				return nil, errNotRSL
			}
			if t.Name.Space != rslSpace {
				if err := d.Skip(); err != nil {
					return nil, err
				}
				continue
			}
			e := &element{name: t.Name.Local, attributes: map[string]string{}, line: line}
			for _, a := range t.Attr {
				if a.Name.Space == "" {
					e.attributes[a.Name.Local] = a.Value
				}
			}
			if len(open) == 0 {
				top = e
			} else {
				parent := open[len(open)-1]
				parent.children = append(parent.children, e)
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(t)
			} else if strings.TrimSpace(string(t)) != "" {
				return nil, errNotRSL
			}
		}
	}
}
