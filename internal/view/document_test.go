package view

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// byWeb are the operations that package web answers, because they need a credential.
var byWeb = []string{"get /api/v1/key", "get /api/v1/requests", "post /api/v1/requests", "get /api/v1/requests/{id}",
	"delete /api/v1/requests/{id}", "get /api/v1/requests/{id}/receipt"}

// sample returns a request for each operation that is answered with status 200.
func sample() map[string]struct{ sent, body string } {
	return map[string]struct{ sent, body string }{
		"get /cdx":                  {sent: "/cdx?url=quay.example/a&showNumPages=true"},
		"get /openapi.json":         {sent: "/openapi.json"},
		"get /api/v1/search":        {sent: "/api/v1/search?q=ferry"},
		"get /api/v1/show":          {sent: "/api/v1/show?" + about("/a")},
		"get /api/v1/archive/ls":    {sent: "/api/v1/archive/ls"},
		"get /api/v1/sites":         {sent: "/api/v1/sites"},
		"get /api/v1/explain":       {sent: "/api/v1/explain?" + about("/a")},
		"get /api/v1/archive/stats": {sent: "/api/v1/archive/stats"},
		"post /api/v1/decide":       {sent: "/api/v1/decide", body: caseLine("one")},
	}
}

// TestDocument checks the OpenAPI document in both directions: every route of the API is in the document,
// and every operation of the document is answered as the document says.
func TestDocument(t *testing.T) {
	a := newAPI(t)
	a.stock.Hold("/a", "<title>Ferry</title><p>The harbour ferry.", time.Now())
	for path, at := range a.exact {
		if !at.api && !strings.HasPrefix(path, "/api/") {
			continue
		}
		for method, has := range map[string]bool{"get": at.get != nil, "post": at.post != nil} {
			if documented := a.Handler.document.Paths[path][method] != nil; documented != has {
				t.Errorf("%s %s: in the document %v, answered %v", method, path, documented, has)
			}
		}
	}
	for _, at := range a.prefixes {
		if at.api || strings.HasPrefix(at.prefix, "/api/") {
			t.Errorf("%s: the document cannot describe this", at.prefix)
		}
	}
	for path, methods := range a.Handler.document.Paths {
		for method, op := range methods {
			name := method + " " + path
			if op.Summary == "" || strings.HasSuffix(op.Summary, ".") || len(op.Responses) == 0 {
				t.Errorf("%s: no summary without a full stop, or no answers", name)
			}
			one, known := sample()[name]
			switch {
			case slices.Contains(byWeb, name):
			case !known:
				t.Errorf("%s has no sample", name)
			default:
				a.send(operator, httptest.NewRequest(strings.ToUpper(method), "/", strings.NewReader(one.body)),
					one.sent, 200)
			}
		}
	}
}

// TestSchemas checks that every schema of the document is valid and used.
func TestSchemas(t *testing.T) {
	a := newAPI(t)
	for name := range a.Handler.document.Components.Schemas {
		if _, err := a.document.Compile(documentName + "#/components/schemas/" + name); err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(documentText), `"#/components/schemas/`+name+`"`) {
			t.Errorf("the schema %s is not used", name)
		}
	}
	var doc struct {
		Openapi string
		Paths   map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(documentText, &doc); err != nil || doc.Openapi != "3.1.0" {
		t.Fatal(doc.Openapi, err)
	}
	ids := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.OperationID == "" || ids[op.OperationID] {
				t.Errorf("%s %s: the identifier %q is empty or not unique", method, path, op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
}

// TestDocsPage checks that the page describes every operation, parameter and object of the document, and
// that its links lead to its headings.
func TestDocsPage(t *testing.T) {
	a := newAPI(t)
	w := get(a.Handler, "GET", "/docs")
	page := w.Body.String()
	if w.Code != 200 {
		t.Fatal(w.Code, page)
	}
	doc := a.Handler.document
	var names []string
	for path, methods := range doc.Paths {
		for method, op := range methods {
			names = append(names, "<code>"+strings.ToUpper(method)+" "+path+"</code>")
			for _, p := range op.Parameters {
				names = append(names, "<code>"+p.Name+"</code>")
			}
		}
	}
	for name := range maps.Keys(doc.Components.Schemas) {
		names = append(names, `<h3 id="object-`+name+`">`)
	}
	for _, name := range names {
		if !strings.Contains(page, name) {
			t.Errorf("the page does not contain %s", name)
		}
	}
	for _, part := range strings.Split(page, `href="#`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		if !strings.Contains(page, ` id="`+id+`"`) {
			t.Errorf("the page has no heading %s", id)
		}
	}
	if strings.Contains(page, "map[") || strings.Contains(page, "%!") {
		t.Error("the page shows values of the program")
	}
}

// TestPatternsHaveWords checks that a value that does not match a pattern is answered in words.
func TestPatternsHaveWords(t *testing.T) {
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	for path, methods := range d.Paths {
		for _, op := range methods {
			for _, p := range op.Parameters {
				if p.Schema.Pattern != "" && p.Schema.Form == "" {
					t.Errorf("%s: the pattern of %s has no x-form", path, p.Name)
				}
			}
		}
	}
}
