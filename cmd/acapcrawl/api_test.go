package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// TestAPIAsVerbs checks that the API returns what the verbs print with --json, both while serve has the data
// directory open and while another process has it open.
func TestAPIAsVerbs(t *testing.T) {
	t.Parallel()
	site, data := crawled(t, "/a.html", "/shy.html", "/big.html")
	page := site.URL + "/a.html"
	about := "?url=" + url.QueryEscape(page)
	pairs := []struct {
		path string
		args []string
	}{
		{"/api/v1/search?q=gull", []string{"search", "--json", "gull"}},
		{"/api/v1/search?q=gull&limit=1&skip=1", []string{"search", "--json", "--limit", "1", "--skip", "1", "gull"}},
		{"/api/v1/search?q=zebra", []string{"search", "--json", "zebra"}},
		{"/api/v1/show" + about, []string{"show", "--json", page}},
		{"/api/v1/show" + about + "&version=1", []string{"show", "--json", "--version", "1", page}},
		{"/api/v1/show" + about + "&snippet=true&query=gull",
			[]string{"show", "--json", "--snippet", "--query", "gull", page}},
		{"/api/v1/explain" + about, []string{"explain", "--json", page}},
		{"/api/v1/explain" + about + "&usage=present&all=true",
			[]string{"explain", "--json", "--usage", "present", "--all", page}},
		{"/api/v1/show" + about + "&original=true", []string{"show", "--json", "--original", page}},
	}
	printed := make([]string, len(pairs))
	for i, p := range pairs {
		printed[i] = call(t.Context(), data, p.args...).stdout
	}
	listed := call(t.Context(), data, "archive", "ls", "--json").stdout
	s, end := startServe(t, data)
	compare := func() {
		t.Helper()
		for i, p := range pairs {
			if got := s.text(t, p.path); got != printed[i] {
				t.Errorf("%s:\n%s\nwant\n%s", p.path, got, printed[i])
			}
		}
		var got, want []map[string]any
		if err := json.Unmarshal([]byte(s.text(t, "/api/v1/archive/ls")), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(listed), &want); err != nil {
			t.Fatal(err)
		}
		for _, one := range got {
			found := false
			for _, other := range want {
				found = found || reflect.DeepEqual(one, other)
			}
			if !found {
				t.Errorf("archive ls does not print %v", one)
			}
		}
		if len(got) == 0 {
			t.Error("nothing is listed")
		}
	}
	compare()
	d, done := own(t, data, "crawl")
	d.serve()
	compare()
	if err := done(); err != nil {
		t.Error(err)
	}
	cases := `{"id":"a","web":{},"url":"http://example.com/","facts":{"now":"2026-01-05T12:00:00Z"}}` + "\n" +
		`{"id":"b"}` + "\n"
	var want strings.Builder
	c := Command{Stdin: strings.NewReader(cases), Stdout: &want, Stderr: io.Discard}
	if _, err := c.runDecide(t.Context(), c.Stdin, "1.1"); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.at+"/api/v1/decide",
		strings.NewReader(cases))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || string(got) != want.String() {
		t.Errorf("decide: %d %s, %v\nwant\n%s", resp.StatusCode, got, err, want.String())
	}
	if status := end(); status != statusDone {
		t.Errorf("serve ended with status %d: %s", status, s.log.String())
	}
}
