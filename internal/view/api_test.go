package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

// api is a Handler over a small archive. It compares every answer with the OpenAPI document.
type api struct {
	*testing.T
	*Handler
	stock    *stock.Stock
	document *jsonschema.Compiler
	answered map[string]bool // the operations that have answered with status 200: "get /api/v1/search"
}

const documentName = "http://localhost/openapi.json"

func newAPI(t *testing.T) *api {
	t.Helper()
	s := stock.New(t)
	h, err := New(Options{Presenter: s, Failed: func(err error) { t.Error(err) }, Totals: totals,
		Explainer: &stored{who: acap.Crawler{Names: []string{"gazer"}},
			robots: map[string]string{stock.Site: explainedRobots}},
		Sites: &fixedSites{count: 5, texts: []string{"User-agent: *\n"}}})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(documentText))
	if err != nil {
		t.Fatal(err)
	}
	forbidMore(doc)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(documentName, doc); err != nil {
		t.Fatal(err)
	}
	return &api{T: t, Handler: h, stock: s, document: c, answered: map[string]bool{}}
}

// forbidMore makes all schemas with properties reject other properties, so that the tests find what the
// document does not describe. Clients must accept other properties.
func forbidMore(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"]; ok && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, part := range v {
			forbidMore(part)
		}
	case []any:
		for _, part := range v {
			forbidMore(part)
		}
	}
}

// ask sends a GET request as a visitor, compares status and schema, and returns the answer.
func (a *api) ask(who Visitor, sent string, status int) *httptest.ResponseRecorder {
	a.Helper()
	return a.send(who, httptest.NewRequest("GET", "/", nil), sent, status)
}

func (a *api) send(who Visitor, r *http.Request, sent string, status int) *httptest.ResponseRecorder {
	a.Helper()
	r.RequestURI = sent
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r.WithContext(WithVisitor(r.Context(), who)))
	if w.Code != status {
		a.Errorf("%s: status %d, want %d: %s", sent, w.Code, status, w.Body)
	}
	a.validate(strings.ToLower(r.Method), sent, w)
	return w
}

// validate compares an answer with the OpenAPI document.
func (a *api) validate(method, sent string, w *httptest.ResponseRecorder) {
	a.Helper()
	path, _, _ := strings.Cut(sent, "?")
	kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	if w.Code == http.StatusOK {
		a.answered[method+" "+path] = true
	}
	op := a.Handler.document.Paths[path][method]
	if op == nil || op.Responses[strconv.Itoa(w.Code)] == nil {
		a.Errorf("%s %s: the document has no answer with status %d", method, sent, w.Code)
		return
	}
	place := documentName + "#/paths/" + strings.ReplaceAll(path, "/", "~1") + "/" + method + "/responses/" +
		strconv.Itoa(w.Code)
	if w.Code >= 400 {
		place = documentName + "#/components/schemas/Problem"
	} else {
		place += "/content/" + strings.ReplaceAll(kind, "/", "~1") + "/schema"
	}
	s, err := a.document.Compile(place)
	if err != nil {
		a.Errorf("%s: %v", sent, err)
		return
	}
	bodies := [][]byte{w.Body.Bytes()}
	if kind == "application/jsonl" {
		bodies = bytes.SplitAfter(w.Body.Bytes(), []byte("\n"))
		bodies = bodies[:len(bodies)-1]
	}
	for _, body := range bodies {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err == nil {
			err = s.Validate(value)
		}
		if err != nil {
			a.Errorf("%s: %v\n%s", sent, err, body)
		}
	}
}

// problem returns the problem of an answer.
func problem(t *testing.T, w *httptest.ResponseRecorder) (p Problem) {
	t.Helper()
	if kind := w.Header().Get("Content-Type"); kind != "application/problem+json" {
		t.Errorf("the answer has type %s", kind)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Errorf("%v: %s", err, w.Body)
	}
	return p
}

// about returns a parameter url for a page of the archive.
func about(path string) string { return "url=" + url.QueryEscape(stock.Site+path) }

var operator = Visitor{Role: Operator, Name: "ada"}

// TestAPISearch checks results, and that only an operator learns what is left out.
func TestAPISearch(t *testing.T) {
	a := newAPI(t)
	now := time.Now()
	a.stock.Hold("/a", "<title>Ferry</title><p>The harbour ferry leaves at noon.", now)
	a.stock.Hold("/hidden", "<title>Hidden</title><p>The harbour ferry is hidden.", now)
	a.stock.Hold("/b", "<title>Boats</title><p>Another harbour ferry.", now)
	a.stock.SetRobots("ACAP-disallow-present: /hidden")
	w := a.ask(Visitor{}, "/api/v1/search?q=harbour+ferry", 200)
	for text, want := range map[string]bool{stock.Site + "/a": true, stock.Site + "/b": true, "idden": false} {
		if strings.Contains(w.Body.String(), text) != want {
			t.Errorf("%s: %s", text, w.Body)
		}
	}
	w = a.ask(Visitor{}, "/api/v1/search?q=harbour&limit=1", 200)
	if next := w.Header().Get("Link"); next != `</api/v1/search?limit=1&q=harbour&skip=1>; rel="next"` {
		t.Errorf("the next results are at %s", next)
	}
	w = a.ask(Visitor{}, "/api/v1/search?q=harbour&limit=1&skip=1", 200)
	if next := w.Header().Get("Link"); next != "" {
		t.Errorf("after the last result: %s", next)
	}
	if w = a.ask(Visitor{}, "/api/v1/search?q=zebra", 200); w.Body.String() != "[]\n" {
		t.Errorf("nothing is found: %s", w.Body)
	}
	a.ask(Visitor{}, "/api/v1/search?q=harbour&for=tdm&for=train-ai", 200)
	a.ask(Visitor{}, "/api/v1/search?q=harbour&why=true", 403)
	w = a.ask(operator, "/api/v1/search?q=harbour&why=true", 200)
	if !strings.Contains(w.Body.String(), "robots.txt:3") {
		t.Errorf("the operator does not see the line: %s", w.Body)
	}
}

// TestAPIShow checks the forms of show, each status, and that a page of which not even a link may be shown
// is answered with the same bytes as one that was never archived.
func TestAPIShow(t *testing.T) {
	a := newAPI(t)
	day := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	a.stock.Hold("/a", "<title>Ferry</title><p>The first ferry.", day)
	a.stock.Hold("/a", "<title>Ferry</title><p>The second ferry.", day.AddDate(0, 0, 1))
	a.stock.HoldPicture("/a.png", day)
	for _, path := range []string{"/hidden", "/refused", "/erased"} {
		a.stock.Hold(path, "<title>Secret</title><p>Secret text.", day)
	}
	a.stock.Erase("/erased", "its time limit has ended", day)
	a.stock.SetRobots("ACAP-disallow-present: /hidden\nACAP-disallow-present-currentcopy: /refused")
	for sent, want := range map[string]string{
		"":                           "The second ferry.",
		"&version=1":                 "The first ferry.",
		"&at=2026-01-05T13:00:00Z":   "The first ferry.",
		"&headers=true&framed=false": "The second ferry.",
	} {
		var got struct {
			Body []byte `json:"body_base64"`
		}
		w := a.ask(Visitor{}, "/api/v1/show?"+about("/a")+sent, 200)
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !strings.Contains(string(got.Body), want) {
			t.Errorf("%s: %s, %v", sent, got.Body, err)
		}
		if w.Header().Get("Cache-Control") != "private, no-store" || w.Header().Get("ETag") != "" {
			t.Errorf("%s: a copy may be cached: %v", sent, w.Header())
		}
	}
	for sent, want := range map[string]string{
		"&snippet=true&query=ferry": `"snippet":{"text":"The second ferry."`,
		"&original=true":            `"framed":false`,
	} {
		if w := a.ask(Visitor{}, "/api/v1/show?"+about("/a")+sent, 200); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", sent, w.Body)
		}
	}
	a.ask(Visitor{}, "/api/v1/show?thumbnail=true&"+about("/a.png"), 200)
	if p := problem(t, a.ask(Visitor{}, "/api/v1/show?thumbnail=true&"+about("/a"), 404)); p.Code != "no-image" {
		t.Errorf("%+v", p)
	}
	for path, code := range map[string]string{"/a": "no-version", "/never": "not-found"} {
		if p := problem(t, a.ask(Visitor{}, "/api/v1/show?version=9&"+about(path), 404)); p.Code != code {
			t.Errorf("version 9 of %s: %+v", path, p)
		}
	}
	p := problem(t, a.ask(Visitor{}, "/api/v1/show?"+about("/refused"), 451))
	if p.File != stock.Robots || p.Line != 4 || p.Field != "ACAP-disallow-present-currentcopy: /refused" {
		t.Errorf("%+v", p)
	}
	p = problem(t, a.ask(Visitor{}, "/api/v1/show?"+about("/erased"), 410))
	if !strings.Contains(p.Detail, "time limit") {
		t.Errorf("%+v", p)
	}
	for _, form := range []string{"", "&snippet=true", "&thumbnail=true", "&original=true", "&version=1"} {
		never := a.ask(Visitor{}, "/api/v1/show?"+about("/never")+form, 404)
		hidden := a.ask(Visitor{}, "/api/v1/show?"+about("/hidden")+form, 404)
		if never.Body.String() != hidden.Body.String() {
			t.Errorf("%s: %s\n%s", form, never.Body, hidden.Body)
		}
	}
	a.stock.SetUnread()
	if w := a.ask(Visitor{}, "/api/v1/show?"+about("/a"), 503); w.Header().Get("Retry-After") == "" {
		t.Errorf("%v", w.Header())
	}
}

// TestAPIParameters checks that bad parameters are refused with a sentence that names them.
func TestAPIParameters(t *testing.T) {
	a := newAPI(t)
	for _, c := range []struct {
		who    Visitor
		sent   string
		status int
		want   string
	}{
		{sent: "/api/v1/search", status: 400, want: "parameter q is missing"},
		{sent: "/api/v1/search?q=a&colour=red", status: 400, want: `"colour" does not exist`},
		{sent: "/api/v1/search?q=a&refresh=true", status: 400, want: `"refresh" does not exist`},
		{sent: "/api/v1/search?q=a&limit=0", status: 400, want: "limit must be a number from 1 to 100"},
		{sent: "/api/v1/search?q=a&limit=99999999999999999999", status: 400, want: "limit must be"},
		{sent: "/api/v1/search?q=a&limit=1&limit=2", status: 400, want: "limit may be given only once"},
		{sent: "/api/v1/search?q=a&for=tdm&for=sale", status: 400,
			want: "for must be one of train-ai, ai-use, ai-index, tdm"},
		{sent: "/api/v1/search?q=a&skip=-1", status: 400, want: "skip must be"},
		{sent: "/api/v1/search?q=%zz", status: 400, want: "percent sign"},
		{sent: "/api/v1/search?q=%ff", status: 400, want: "UTF-8"},
		{sent: "/api/v1/search?q=%22a", status: 400, want: "quotation mark"},
		{sent: "/api/v1/search?q=" + strings.Repeat("a", 5000), status: 400, want: "at most 4096 characters"},
		{sent: "/api/v1/search?q=a&reader_country=BE", status: 403, want: "reader_country is only for the operator"},
		{who: Visitor{Role: Publisher}, sent: "/api/v1/search?q=a&why=true", status: 403,
			want: "only for the operator"},
		{who: operator, sent: "/api/v1/search?q=a&why=yes", status: 400, want: "true or false"},
		{who: operator, sent: "/api/v1/search?q=a&reader_ip=here", status: 400,
			want: "an IP address, such as 192.0.2.1"},
		{who: operator, sent: "/api/v1/search?q=a&reader_country=Belgium", status: 400, want: "such as BE"},
		{who: operator, sent: "/api/v1/search?q=a&as_of=2001-01-01T00:00:00Z", status: 400, want: "has passed"},
		{sent: "/api/v1/show?url=quay.example", status: 400, want: "url must be a whole address"},
		{sent: "/api/v1/show?" + about("/a") + "&at=noon", status: 400, want: "RFC 3339"},
		{sent: "/api/v1/show?" + about("/a") + "&version=1&at=2026-01-05T13:00:00Z", status: 400,
			want: "at and version"},
		{sent: "/api/v1/show?" + about("/a") + "&snippet=true&thumbnail=true", status: 400,
			want: "snippet and thumbnail"},
		{sent: "/api/v1/show?" + about("/a") + "&query=x", status: 400, want: "needs snippet"},
		{sent: "/api/v1/show?" + about("/a") + "&original=true&version=1", status: 400, want: "no versions"},
		{sent: "/api/v1/show?" + about("/a") + "&framed=true&snippet=true", status: 400, want: "copies and originals"},
	} {
		if p := problem(t, a.ask(c.who, c.sent, c.status)); !strings.Contains(p.Detail, c.want) {
			t.Errorf("%s: %s", c.sent, p.Detail)
		}
	}
}

// TestAPIReader checks that an operator can ask as another reader.
func TestAPIReader(t *testing.T) {
	a := newAPI(t)
	a.stock.Hold("/a", "<title>Ferry</title><p>The ferry.", time.Now())
	a.stock.SetRobots("ACAP-disallow-present: /\nACAP-allow-present: /a target-condition=permittedcountrylist:BE")
	a.ask(operator, "/api/v1/show?"+about("/a")+"&reader_country=be", 200)
	a.ask(operator, "/api/v1/show?"+about("/a")+"&reader_country=fr", 404)
	a.ask(Visitor{}, "/api/v1/show?"+about("/a"), 404)
}

// totals are the totals of an archive.
func totals(context.Context) (out present.Totals, err error) {
	out.Captures, out.Verdicts = 3, map[acap.Usage]present.VerdictCounts{acap.TrainAI: {Prohibit: 1}}
	return out, nil
}

// TestAPIStats checks that only an operator learns how much is archived.
func TestAPIStats(t *testing.T) {
	a := newAPI(t)
	a.ask(Visitor{}, "/api/v1/archive/stats", 403)
	a.ask(Visitor{Role: Publisher}, "/api/v1/archive/stats", 403)
	w := a.ask(operator, "/api/v1/archive/stats", 200)
	if !strings.HasPrefix(w.Body.String(), `{"captures":3,`) {
		t.Errorf("%s", w.Body)
	}
	a.ask(operator, "/api/v1/archive/stats?refresh=true", 400)
}

// TestAPIList follows a list in parts. It contains each version that may be shown once, and no other.
func TestAPIList(t *testing.T) {
	a := newAPI(t)
	day := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for i, path := range []string{"/a", "/b", "/b", "/b", "/hidden", "/refused", "/z"} {
		a.stock.Hold(path, "<title>T</title><p>Text "+strconv.Itoa(i), day.AddDate(0, 0, i))
	}
	a.stock.SetRobots("ACAP-disallow-present: /hidden\nACAP-disallow-present-currentcopy: /refused\n" +
		"ACAP-allow-preserve: /z time-limit=until-2099-01-01")
	var got []string
	for sent := "/api/v1/archive/ls?limit=2"; sent != ""; {
		w := a.ask(Visitor{}, sent, 200)
		var list []present.Entry
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if strings.HasSuffix(e.URL, "/z") != (e.Until != nil) || !e.Permitted ||
				!strings.HasPrefix(e.Digest, "sha256:") {
				t.Errorf("%+v", e)
			}
			got = append(got, fmt.Sprint(strings.TrimPrefix(e.URL, stock.Site), " ", e.Version))
		}
		next, _, _ := strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
		if sent = next; len(got) > 10 {
			t.Fatal("the list has no end")
		}
	}
	if strings.Join(got, ", ") != "/a 1, /b 1, /b 2, /b 3, /z 1" {
		t.Error(got)
	}
	a.stock.SetUnread()
	if w := a.ask(operator, "/api/v1/archive/ls", 200); w.Body.String() != "[]\n" {
		t.Errorf("without a policy: %s", w.Body)
	}
}
