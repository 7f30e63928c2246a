package view

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAPISites checks the list in parts, the details of a host, and that only an operator asks for all.
func TestAPISites(t *testing.T) {
	a := newAPI(t)
	f := a.o.Sites.(*fixedSites)
	var got []string
	for sent := "/api/v1/sites?limit=2"; sent != "" && len(got) < 10; {
		w := a.ask(Visitor{}, sent, 200)
		var list []Site
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			got = append(got, one.Host)
		}
		sent, _, _ = strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
	}
	if strings.Join(got, " ") != "h000.example h001.example h002.example h003.example h004.example" {
		t.Error(got)
	}
	for _, full := range f.asked {
		if full {
			t.Error("a reader gets what is for the operator")
		}
	}
	f.asked = nil
	w := a.ask(operator, "/api/v1/sites?host=QUAY.example", 200)
	mustContain(t, "a host", w.Body.String(), `"reason":"refused"`, `"state":"done"`, `"versions":[{"since"`)
	if len(f.asked) != 1 || !f.asked[0] {
		t.Error("the operator does not get everything")
	}
	if p := problem(t, a.ask(Visitor{}, "/api/v1/sites?host=never.example", 404)); p.Code != "no-site" {
		t.Errorf("%+v", p)
	}
	for _, bad := range []string{"host=", "host=a/b", "host=quay.example&limit=3", "limit=1000", "colour=red"} {
		a.ask(Visitor{}, "/api/v1/sites?"+bad, 400)
	}
}
