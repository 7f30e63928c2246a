package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/config"
)

func TestCredentials(t *testing.T) {
	list, err := config.LoadCredentials(file(t, "c.yaml", `
https://members.paper.example:
  user: reader
  password: "open: sesame"
http://lab.example:8080:
  headers:
    X-Api-Key: abc
`))
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %+v", err, list)
	}
	if c := list[0]; c.Origin != "http://lab.example:8080" || c.User != "" || c.Header.Get("X-Api-Key") != "abc" {
		t.Errorf("%+v", c)
	}
	if c := list[1]; c.Origin != "https://members.paper.example" || c.User != "reader" ||
		c.Password != "open: sesame" || len(c.Header) != 0 {
		t.Errorf("%+v", c)
	}
}

// Each mistake is reported with the file and the key, and never with the secret.
func TestWrongCredentials(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"no origin":         {"members: {user: a, password: sesame}", "members: it is not an origin"},
		"path":              {"https://a.example/b: {user: a, password: sesame}", "not an origin"},
		"user in origin":    {"https://u:sesame@a.example: {user: a, password: b}", "not an origin"},
		"password, no URL":  {"'https://u:sesame@a.example:x/': {user: a, password: b}", "…@a.example:x/: it is not"},
		"password, escaped": {"'https://u:sesame%zz@a@b.example': {user: a, password: b}", "…@b.example: it is not"},
		"no scheme":         {"'u:sesame@a.example': {user: a, password: b}", "…@a.example: it is not"},
		"query":             {"'https://a.example:x?sesame': {user: a, password: b}", "not an origin"},
		"fragment":          {"'https://a.example#sesame': {user: a, password: b}", "not an origin"},
		"empty fragment":    {"'https://a.example#': {user: a, password: b}", "not an origin"},
		"colon in a user":   {"https://a.example: {user: 'a:sesame', password: b}", "must not contain a colon"},
		"empty":             {"# nothing\n", "has no origin"},
		"a value":           {"https://a.example: sesame", "not well-formed"},
		"no keys":           {"https://a.example: {}", "no keys"},
		"nothing":           {"https://a.example:", "no keys"},
		"unknown key":       {"https://a.example: {login: sesame}", "https://a.example: login: there is no such key"},
		"no password":       {"https://a.example: {user: a}", "belong together"},
		"empty password":    {"https://a.example: {user: a, password: ''}", "in quotes"},
		"no user":           {"https://a.example: {password: sesame}", "belong together"},
		"number":            {"https://a.example: {user: a, password: 47110815}", "password: it is not a text"},
		"reference":         {"https://a.example: {user: a, password: *sesame}", "not well-formed"},
		"kind":              {"https://a.example: {user: a, password: !!int sesame}", "not well-formed"},
		"two of a kind": {"https://a.example: {user: a, password: b, headers: {authorization: sesame}}",
			"contradict"},
		"twice": {"https://a.example: {user: a, password: b}\nhttps://a.example: {user: sesame}",
			"not well-formed"},
		"headers":         {"https://a.example: {headers: [a]}", "not a list of header fields"},
		"no headers":      {"https://a.example: {headers: {}}", "not a list of header fields"},
		"no value":        {"https://a.example: {headers: {X-Key: }}", "X-Key: it is not a text"},
		"header twice":    {"https://a.example: {headers: {x-key: a, X-Key: b}}", "occurs twice"},
		"name of a field": {"https://a.example: {headers: {'a b': sesame}}", "not the name"},
		"cookie":          {"https://a.example: {headers: {cookie: sesame}}", "the setting cookies"},
		"own field":       {"https://a.example: {headers: {user-agent: sesame}}", "itself"},
		"range":           {"https://a.example: {headers: {range: bytes=0-9}}", "itself"},
		"if range":        {"https://a.example: {headers: {if-range: x}}", "itself"},
		"if match":        {"https://a.example: {headers: {if-match: x}}", "itself"},
		"unmodified":      {"https://a.example: {headers: {if-unmodified-since: x}}", "itself"},
		"line end":        {`https://a.example: {headers: {x: "sesame\r\ny: z"}}`, "control characters"},
		"no YAML":         {"a: [", "not well-formed"},
	} {
		path := file(t, "c.yaml", test.text)
		_, err := config.LoadCredentials(path)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "47110815")) {
			t.Errorf("%s: the error has the secret: %v", name, err)
		}
	}
	open := file(t, "c.yaml", "https://a.example: {user: a, password: b}")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := config.LoadCredentials(open); err == nil || !strings.Contains(err.Error(), "other users may read") {
		t.Errorf("a file that others may read: %v", err)
	}
	if _, err := config.LoadCredentials(open + "x"); err == nil {
		t.Error("no error for a file that does not exist")
	}
}
