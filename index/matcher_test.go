package index

import (
	"slices"
	"strings"
	"testing"
)

func TestMatcher(t *testing.T) {
	ix := fresh(t)
	for _, c := range []struct{ query, language, text, want string }{
		{"city", "en", "city cities City’s citizen town", "city cities City’s"},
		{"encryption", "en", "encryption encrypted Encrypting cipher", "encryption encrypted Encrypting"},
		{"running", "en-GB", "ran runs run runner", "runs run"},
		{"cheval", "fr", "Le cheval, les chevaux; chevalier", "cheval chevaux"},
		{"épicerie", "fr", "l’épicerie épicerie epiceries", "l’épicerie épicerie epiceries"},
		{"strasse", "de", "Straße Straßen strasse Strauß", "Straße Straßen strasse"},
		{"книга", "ru", "книги книгу книжка", "книги книгу"},
		{"مدينة", "ar", "المدينة مدن", "المدينة"},
		{"city", "", "city cities", "city"},
		{`"city walls"`, "en", "city cities wall Walls", "city Walls"},
		{`"épicerie du coin"`, "fr", "l'épicerie épiceries d'épicerie", "l'épicerie d'épicerie"},
		{`"l'épicerie du coin"`, "fr", "l'épicerie épicerie", "l'épicerie épicerie"},
		{"city -town site:walls.example lang:en", "en", "city town walls en lang", "city"},
		{`"city`, "en", "city", ""},
		{"می\u200cروم", "fa", "می\u200cروم میروم می روم می\u200cدهم", "می\u200cروم میروم روم"},
		{"میروم", "fa", "می\u200cروم میروم می روم می\u200cدهم", "می\u200cروم میروم"},
		{"bàn", "vi", "bàn bán ban banh", "bàn bán ban"},
		{"東京・大学", "ja", "東 某・某 某」 大", "東 大"},
		{`"東京 大学"`, "ja", "東 某・某 某」 大", "東 大"},
	} {
		match := ix.Matcher(c.query, c.language)
		for range 2 { // the second time, results come from the cache
			var got []string
			for _, w := range strings.FieldsFunc(c.text, func(r rune) bool { return strings.ContainsRune(" ,;", r) }) {
				if match(w) {
					got = append(got, w)
				}
			}
			if want := strings.Fields(c.want); !slices.Equal(got, want) {
				t.Errorf("%s in %q: %q, want %q", c.query, c.text, got, want)
			}
		}
	}
}
