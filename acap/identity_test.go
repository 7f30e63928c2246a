package acap

import "testing"

// Crawlers that differ in any field have different keys. The text of a key must not change, because
// keys are stored.
func TestCrawlerKey(t *testing.T) {
	base := Crawler{Names: []string{"searchbot"}}
	const want = `names ["searchbot"], purposes [] declared false, cannot [], strict false, pilot false, ` +
		`sub-records false, vocabularies []`
	if got := base.Key(); got != want {
		t.Errorf("%s", got)
	}
	seen := map[string]int{base.Key(): -1}
	for i, c := range []Crawler{
		{}, {Names: []string{"searchbot", "newsbot"}}, {Names: []string{`searchbot", "newsbot`}},
		{Names: base.Names, Purposes: []string{}}, {Names: base.Names, Purposes: []string{"news"}},
		{Names: base.Names, Cannot: []string{"news"}}, {Names: base.Names, Strict: true}, {Names: base.Names,
			Pilot: true},
		{Names: base.Names, SubTakeDowns: true}, {Names: base.Names, For: []Usage{TrainAI}},
	} {
		if other, twice := seen[c.Key()]; twice {
			t.Errorf("crawlers %d and %d have the key %s", i, other, c.Key())
		}
		seen[c.Key()] = i
	}
}
