package conformance

import (
	"encoding/json"
	"strings"
	"testing"
)

// Examples of the drafts and specifications that are themselves invalid are findings: what the
// publisher meant is not what a reader understands.
func TestInvalidExamples(t *testing.T) {
	const page = "http://example.com/a.html"
	for name, c := range map[string]struct{ robots, tdmrep, licence, code string }{
		"vocab 6.5.2, a last semicolon": {robots: `Content-Usage: train-ai;has;parameters="?";`,
			code: "malformed-preference"},
		"vocab 6.5.1, values of other types": {robots: `Content-Usage: train-ai=y, train-ai, search=n, search="n"`,
			code: "unknown-preference"},
		"attach 3.4, the label of the prose": {robots: "Content-Usage: ai=y", code: "retired-label"},
		"TDMRep 6.1.1, a key of the header": {tdmrep: `[{"tdm-policy": "/this/path/exactly$"}]`,
			code: "malformed-entry"},
		"TDMRep 6.1.2, without brackets": {tdmrep: `{"location": "/", "tdm-reservation": 1}`,
			code: "malformed-json"},
		"RSL, a content without a license": {robots: "License: https://example.com/l.xml",
			licence: `<rsl xmlns="https://rslstandard.org/rsl"><content url="/"/></rsl>`, code: "unreadable-licence"},
	} {
		t.Run(name, func(t *testing.T) {
			robots, yes := "User-agent: *\n"+c.robots+"\n", 200
			web := map[string]Response{"http://example.com/robots.txt": {Body: &robots, Status: &yes}}
			if c.tdmrep != "" {
				web["http://example.com/.well-known/tdmrep.json"] = Response{Body: &c.tdmrep}
			}
			if c.licence != "" {
				web["https://example.com/l.xml"] = Response{Body: &c.licence}
			}
			a, err := Decide(t.Context(), &Case{ID: "example", URL: page, Web: web})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range a.Findings {
				if f.Code == c.code && f.Line > 0 && f.URL != "" {
					return
				}
			}
			t.Errorf("the findings are %+v, want %s", a.Findings, c.code)
		})
	}
}

// The four newer usages can be asked about, search cannot.
func TestPreferenceUsages(t *testing.T) {
	for usage, ok := range map[string]bool{"train-ai": true, "ai-use": true, "ai-index": true, "tdm": true,
		"search": false} {
		_, err := ParseCase([]byte(`{"web": {}, "url": "http://example.com/", "usages": ["` + usage + `"]}`))
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), usage) {
			t.Errorf("%s: %v", usage, err)
		}
	}
}

// Without usages a question is about the fourteen of ACAP, as before.
func TestUsagesByDefault(t *testing.T) {
	c, err := ParseCase([]byte(`{"web": {}, "url": "http://example.com/"}`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := Decide(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(a)
	if err != nil || len(a.Decisions) != 14 || strings.Contains(string(text), "preferences") {
		t.Errorf("%s, %v", text, err)
	}
}

// Every case of preferences shows a statement of a document.
func TestPreferenceCasesAreNamed(t *testing.T) {
	named := map[string]bool{}
	for _, d := range requirements(t) {
		for _, r := range d.Requirements {
			for _, name := range append(r.Decides, r.Contrary...) {
				named[name] = true
			}
		}
	}
	for _, s := range corpus(t) {
		if strings.HasPrefix(s.File, "preferences/") && !named[s.Name] {
			t.Errorf("no requirement names %s/%s", s.File, s.Name)
		}
	}
}
