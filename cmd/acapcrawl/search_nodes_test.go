package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// found returns what a node has found: results as "URL score day", those that are not shown with a minus.
func foundBy(t *testing.T, more bool, results ...string) (f shardFound) {
	t.Helper()
	f.More = more
	for _, text := range results {
		var url string
		var score float64
		var day int
		if _, err := fmt.Sscan(text, &url, &score, &day); err != nil {
			t.Fatal(err)
		}
		r := shardResult{Score: score, Result: present.Result{URL: url, Link: url[0] != '-',
			Fetched: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)}}
		if r.URL[0] == '-' {
			r.URL, r.LeftOut = r.URL[1:], []present.LeftOut{{Usage: acap.Present, Why: "no"}}
		} else {
			f.Count++
		}
		f.Results = append(f.Results, r)
	}
	return f
}

// Results are merged by score and then by address. Each page is there once: its newest capture, or none if a node does
// not show it.
func TestMergeFound(t *testing.T) {
	t.Parallel()
	all := []shardFound{foundBy(t, false, "a 9 1", "c 5 1", "d 5 1", "e 1 2"),
		foundBy(t, true, "b 7 1", "c 6 3", "-d 5 2",
			"e 2 1")}
	for _, c := range []struct {
		skip, limit int
		want        string
	}{
		{0, 10, "[a b c d- e] 5 true"},
		{0, 2, "[a b] 5 true"},
		{1, 2, "[b c] 5 true"},
		{3, 1, "[d- e] 5 true"},
		{4, 2, "[] 5 true"},
	} {
		found := mergeFound(all, present.Query{Skip: c.skip, Limit: c.limit})
		urls := []string{}
		for _, r := range found.Results {
			url := r.URL
			if !r.Shown() {
				url += "-"
			}
			urls = append(urls, url)
			if r.URL == "c" && r.Fetched.Day() != 3 || r.URL == "e" && r.Fetched.Day() != 2 {
				t.Errorf("%s of %s", r.URL, r.Fetched)
			}
		}
		if got := fmt.Sprint(urls, found.Count, found.More); got != c.want {
			t.Errorf("skip %d, limit %d: %s, want %s", c.skip, c.limit, got, c.want)
		}
	}
}

// Of the pages of several nodes that look the same, only the best is a result, which has the addresses of the others.
func TestMergeFoundAlike(t *testing.T) {
	t.Parallel()
	node := func(results ...present.Result) (f shardFound) {
		return newShardFound(present.Found{Results: results, Count: len(results)})
	}
	result := func(url string, score float64, same, title string, also ...string) present.Result {
		return present.Result{URL: url, Link: true, Title: title, Score: score, Same: same, Also: also,
			Fetched: time.Date(2026, 1, int(score), 0, 0, 0, 0, time.UTC)}
	}
	plain, led := result("text", 2, "1", "A"), result("led", 1, "1", "A")
	plain.Link, plain.Snippet = false, &snippet.Snippet{Text: "no link"} // looks different
	led.Href = "http://h/led"
	all := []shardFound{
		node(result("a", 9, "1", "A", "c"), result("other text", 8, "2", "A"), result("not compared", 7, "", "A")),
		node(result("b", 6, "1", "A", "d", "a", "c"), result("other title", 5, "1", "B"),
			result("not compared either", 4, "", "A"), plain, led),
	}
	for skip, want := range map[int]string{
		0: "[a [c b d]; other text []; not compared []; other title []; not compared either []; text []; led [];] 7",
		4: "[not compared either []; text []; led [];] 7",
	} {
		found := mergeFound(all, present.Query{Skip: skip, Limit: 10})
		got := []string{}
		for _, r := range found.Results {
			got = append(got, fmt.Sprint(r.URL, " ", r.Also, ";"))
		}
		if got := fmt.Sprint(got, " ", found.Count); got != want {
			t.Errorf("skip %d: %s, want %s", skip, got, want)
		}
	}
}

// What a node sends has all fields of the results.
func TestShardFound(t *testing.T) {
	t.Parallel()
	field := &acap.Field{Source: acap.Robots, URL: "http://h/robots.txt", Line: 3, Text: "ACAP-disallow-present: /"}
	before := present.Found{Count: 1, More: true, Results: []present.Result{{URL: "http://h/", Score: 0.25,
		Same:    "digest",
		LeftOut: []present.LeftOut{{Usage: acap.Present, Clause: "the clause"}},
		Details: &present.Details{MIME: "text/html", Copy: true, Parts: []present.Part{{Shown: true,
			Decision: acap.Decision{Usage: acap.PresentLink, Reason: acap.ByProhibition, Because: field}}}}}}}
	text, err := json.Marshal(newShardFound(before))
	if err != nil {
		t.Fatal(err)
	}
	var sent shardFound
	if err := json.Unmarshal(text, &sent); err != nil {
		t.Fatal(err)
	}
	r := sent.Results[0].result()
	if r.Score != 0.25 || r.Same != "digest" || r.LeftOut[0].Clause != "the clause" || !r.Details.Copy ||
		*r.Details.Parts[0].Decision.Because != *field || sent.Count != 1 || !sent.More {
		t.Errorf("%+v", r)
	}
}
