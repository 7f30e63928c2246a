package web

import (
	"encoding/json"
	"testing"
)

// Any other JSON parser reads the same from a body that texts accepts.
func FuzzTexts(f *testing.F) {
	for _, body := range []string{down, `{}`, `{"url":"a","url":"b"}`, `{"\u0075rl":"a"}`, `{"url":null}`, `{"url":1}`,
		`[{}]`, `{"url":"a"}}`, `{"url":"a",}`, `{"url" "a"}`, `{"key":"\ud800"}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := texts(body)
		if err != nil {
			return
		}
		var want map[string]string
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q was taken: %v", body, err)
		}
		if len(got) != len(want) {
			t.Errorf("%q: %v, another reads %v", body, got, want)
		}
		for name, text := range got {
			if want[name] != text || name != "action" && name != "url" && name != "key" {
				t.Errorf("%q: %v, another reads %v", body, got, want)
			}
		}
	})
}
