package view

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// docsPage is the OpenAPI document as a page.
type docsPage struct {
	Description string
	Operations  []docsOperation
	Schemas     []docsSchema
}

type docsOperation struct {
	*operation
	ID      string // of the heading
	Method  string
	Path    string
	Body    []docsContent
	Answers []docsAnswer
}

// docsAnswer is an answer with one status.
type docsAnswer struct {
	Status      string
	Description string
	Content     []docsContent
}

// docsContent is a media type and the values sent with it.
type docsContent struct {
	Kind  string
	Types []docsType
}

// docsType describes a value: text, then a link to a schema.
type docsType struct {
	Text string
	Ref  string // name of the schema, or ""
}

type docsSchema struct {
	*schema
	Name   string
	Type   []docsType // for schemas without fields
	Fields []docsField
}

type docsField struct {
	Name        string
	Always      bool // the field is always present
	Type        []docsType
	Description string
}

// apiPage shows the OpenAPI document as a page.
func (h *Handler) apiPage(w http.ResponseWriter, r *request) error {
	out := docsPage{Description: h.document.Info.Description}
	for _, path := range slices.Sorted(maps.Keys(h.document.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(h.document.Paths[path])) {
			out.Operations = append(out.Operations, describeOperation(method, path, h.document.Paths[path][method]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.document.Components.Schemas)) {
		s := h.document.Components.Schemas[name]
		one := docsSchema{schema: s, Name: name, Fields: describeFields(s)}
		if len(one.Fields) == 0 {
			one.Type = describeType(s)
		}
		out.Schemas = append(out.Schemas, one)
	}
	return h.show(w, r, "docs.html", "API", out)
}

func describeOperation(method, path string, op *operation) docsOperation {
	out := docsOperation{operation: op, Method: strings.ToUpper(method), Path: path,
		ID: method + strings.NewReplacer("/", "-", "{", "", "}", "").Replace(path)}
	if op.Body != nil {
		out.Body = describeContent(op.Body)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		a := op.Responses[status]
		out.Answers = append(out.Answers, docsAnswer{Status: status, Description: a.Description,
			Content: describeContent(a)})
	}
	return out
}

func describeContent(a *response) (list []docsContent) {
	for _, kind := range slices.Sorted(maps.Keys(a.Content)) {
		s := a.Content[kind].Schema
		list = append(list, docsContent{Kind: kind, Types: describeType(&s)})
	}
	return list
}

// describeFields returns the fields of an object, the required ones first.
func describeFields(s *schema) (list []docsField) {
	names := slices.Clone(s.Required)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if p := s.Properties[name]; p != nil {
			list = append(list, docsField{Name: name, Always: i < len(s.Required), Type: describeType(p),
				Description: p.Description})
		}
	}
	return list
}

// Words returns the values of a parameter in words.
func (p *parameter) Words() []docsType { return describeType(&p.Schema) }

// describeType returns the values of a schema in words.
func describeType(s *schema) []docsType {
	switch {
	case s.Ref != "":
		return []docsType{{Ref: refName(s.Ref)}}
	case len(s.AnyOf) > 0:
		var list []docsType
		for i, one := range s.AnyOf {
			if i > 0 {
				list = append(list, docsType{Text: " or "})
			}
			list = append(list, describeType(one)...)
		}
		return list
	case s.Items != nil:
		return append([]docsType{{Text: "list of "}}, describeType(s.Items)...)
	case s.Values != nil:
		return append([]docsType{{Text: "object; each value: "}}, describeType(s.Values)...)
	}
	text := strings.Join(s.Type, " or ")
	switch {
	case len(s.Enum) > 0:
		text = strings.Join(s.Enum, ", ")
	case s.Minimum != nil && s.Maximum != nil:
		text += fmt.Sprintf(" from %d to %d", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		text += fmt.Sprintf(" from %d", *s.Minimum)
	case s.Format == "date-time":
		text = "time (RFC 3339)"
	case s.Format != "":
		text += " (" + s.Format + ")"
	}
	if s.Default != nil {
		text += fmt.Sprintf("; default: %v", s.Default)
	}
	return []docsType{{Text: text}}
}
