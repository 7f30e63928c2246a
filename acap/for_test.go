package acap

import (
	"net/url"
	"slices"
	"testing"
)

// said is a vocabulary of one opinion on train-ai for a path.
type said struct {
	path    string
	verdict Verdict
}

func (said) Name() string                          { return "said" }
func (said) Key() string                           { return "said" }
func (said) Files(*Site) []Needed                  { return nil }
func (v said) Site(*Site) Preferences              { return v }
func (v said) Page(*Page, Preferences) Preferences { return v }
func (said) Usages() []Usage                       { return []Usage{TrainAI} }

func (v said) Opinion(_ Usage, r Resource) Opinion {
	if r.URL != "http://example.com"+v.path {
		return Opinion{}
	}
	return Opinion{Verdict: v.verdict, Reason: ByPreference, Because: &Field{Text: "the field"}, Terms: "the terms"}
}

// A crawler that collects pages for a use keeps, indexes and shows no page on which it is not allowed. It
// still crawls the page and follows its links.
func TestDecideFor(t *testing.T) {
	held := []Usage{Index, Preserve, Present, PresentOriginal, PresentCurrentCopy, PresentOldCopy, PresentSnippet,
		PresentThumbnail, PresentOldSnippet, PresentOldThumbnail, PresentLink}
	for _, verdict := range []Verdict{Unknown, Permits, Agreement, Prohibits} {
		for _, uses := range [][]Usage{nil, {TrainAI}, {TDM}, {TDM, TrainAI}} {
			c := Crawler{Names: []string{"bot"}, For: uses, Vocabularies: []Vocabulary{said{"/a", verdict}}}
			p := Parse("http://example.com/robots.txt", nil).Policy(c)
			for _, path := range []string{"/a", "/b"} {
				u, err := url.Parse("http://example.com" + path)
				if err != nil {
					t.Fatal(err)
				}
				refused := verdict >= Agreement && path == "/a" && slices.Contains(uses, TrainAI)
				for _, usage := range append(Usages(), NewerUsages()...) {
					d := p.Decide(usage, NewResource(u))
					want := refused && slices.Contains(held, usage)
					if got := d.For != ""; got != want || want && (d.Allowed || d.Usage != usage || d.For != TrainAI ||
						d.Reason != ByPreference || d.Because.Text != "the field" || d.Terms != "the terms") {
						t.Errorf("%s of %s for %v, verdict %s: %+v", usage, path, uses, verdict, d)
					}
					if len(p.Trace(usage, NewResource(u), Facts{})) > 1 {
						t.Errorf("%s of %s for %v is traced to other fields, too", usage, path, uses)
					}
				}
			}
		}
	}
}
