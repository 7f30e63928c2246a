package view

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed openapi.json
var documentText []byte

// document is the part of the OpenAPI document (OpenAPI 3.1) that this package uses. Requests are
// checked against it, so that it cannot differ from what the program does.
type document struct {
	Info struct {
		Title       string `json:"title"`
		Description string `json:"description"`
	} `json:"info"`
	Paths      map[string]map[string]*operation `json:"paths"` // keyed by path and method in lower case
	Components struct {
		Parameters map[string]*parameter `json:"parameters"`
		Responses  map[string]*response  `json:"responses"`
		Schemas    map[string]*schema    `json:"schemas"`
	} `json:"components"`
}

// operation is one method of one path.
type operation struct {
	Summary     string               `json:"summary"`
	Description string               `json:"description"`
	Parameters  []*parameter         `json:"parameters"`
	Role        Role                 `json:"x-role"` // only visitors with this role may use it
	Body        *response            `json:"requestBody"`
	Responses   map[string]*response `json:"responses"` // keyed by status
}

// parameter is a parameter of an operation.
type parameter struct {
	Ref         string `json:"$ref"`
	Name        string `json:"name"`
	In          string `json:"in"`
	Required    bool   `json:"required"`
	Description string `json:"description"`
	Example     string `json:"example"`
	Role        Role   `json:"x-role"` // only visitors with this role may send it
	Schema      schema `json:"schema"`
}

// response is the body of a request or answer.
type response struct {
	Ref         string `json:"$ref"`
	Description string `json:"description"`
	Content     map[string]struct {
		Schema schema `json:"schema"`
	} `json:"content"` // keyed by media type
}

// schema is the part of a JSON schema that this package uses.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        types              `json:"type"`
	Format      string             `json:"format"`
	Description string             `json:"description"`
	Enum        []string           `json:"enum"`
	Pattern     string             `json:"pattern"`
	Form        string             `json:"x-form"` // what Pattern demands, in words
	MaxLength   int                `json:"maxLength"`
	Minimum     *int64             `json:"minimum"`
	Maximum     *int64             `json:"maximum"`
	Default     any                `json:"default"`
	Items       *schema            `json:"items"`
	Required    []string           `json:"required"`
	Properties  map[string]*schema `json:"properties"`
	Values      *schema            `json:"additionalProperties"`
	AnyOf       []*schema          `json:"anyOf"`

	pattern *regexp.Regexp
}

// types is the value of "type" in a JSON schema, one name or a list.
type types []string

// UnmarshalJSON reads a name or a list of names.
func (t *types) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*t = make(types, 1)
		return json.Unmarshal(data, &(*t)[0])
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// readDocument parses the OpenAPI document and replaces references to parameters and responses.
func readDocument() (*document, error) {
	d := &document{}
	if err := json.Unmarshal(documentText, d); err != nil {
		return nil, fmt.Errorf("openapi.json: %w", err)
	}
	for path, methods := range d.Paths {
		for method, op := range methods {
			if err := d.resolve(op); err != nil {
				return nil, fmt.Errorf("openapi.json: %s %s: %w", method, path, err)
			}
		}
	}
	return d, nil
}

func (d *document) resolve(op *operation) (err error) {
	for i, p := range op.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[refName(p.Ref)]
			op.Parameters[i] = p
		}
		if p == nil {
			return fmt.Errorf("parameter %d is not defined", i)
		}
		if p.Schema.Pattern != "" {
			if p.Schema.pattern, err = regexp.Compile(p.Schema.Pattern); err != nil {
				return err
			}
		}
	}
	for status, a := range op.Responses {
		if a.Ref != "" {
			if op.Responses[status] = d.Components.Responses[refName(a.Ref)]; op.Responses[status] == nil {
				return fmt.Errorf("the answer with status %s is not defined", status)
			}
		}
	}
	return nil
}

// refName returns the last part of a reference: "Result" for "#/components/schemas/Result".
func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// find returns the parameter of that name, or nil.
func (op *operation) find(name string) *parameter {
	i := slices.IndexFunc(op.Parameters, func(p *parameter) bool { return p.Name == name && p.In == "query" })
	if i < 0 {
		return nil
	}
	return op.Parameters[i]
}
