package acap

import (
	"net/url"
	"strings"
	"testing"
)

const home = "http://example.com/robots.txt"

var searchbot = Crawler{Names: []string{"searchbot"}}

func lines(l ...string) string { return strings.Join(l, "\n") }

func resource(t testing.TB, path string) Resource {
	t.Helper()
	u, err := url.Parse("http://example.com" + path)
	if err != nil {
		t.Fatal(err)
	}
	return NewResource(u)
}

func policyOf(c Crawler, robots string) *Policy { return Parse(home, []byte(robots)).Policy(c) }

// tag returns a META tag, or a header line if name is the name of a robots header.
func tag(name, content string) Tag {
	if lower := strings.ToLower(name); lower == "x-robots-tag" || lower == "robots-tag" {
		return Tag{Source: Header, Name: name, Content: content, Line: 1, Column: 1}
	}
	return Tag{Source: Meta, Name: name, Content: content, Line: 3, Column: 1}
}

func page(tags ...Tag) Own { return Own{URL: "http://example.com/a.html", Tags: tags} }

func codes(findings []Finding) map[string]Finding {
	m := map[string]Finding{}
	for _, f := range findings {
		if _, ok := m[f.Code]; !ok {
			m[f.Code] = f
		}
	}
	return m
}
