package policy

import (
	"net/http"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// banner is a vocabulary for tests: if /banner.txt contains the name of a usage, that usage is
// prohibited.
type banner struct{}

type banned struct {
	usage acap.Usage
	field *acap.Field
}

func (banner) Name() string { return "banner" }

func (banner) Key() string { return "banner" }

func (banner) Files(s *acap.Site) []acap.Needed {
	if s.Root == nil {
		return nil
	}
	return []acap.Needed{{URL: s.Root.JoinPath("banner.txt").String()}}
}

func (banner) Site(s *acap.Site) acap.Preferences {
	for _, f := range s.Files {
		if f.Err == nil && len(f.Text) > 0 {
			text := string(f.Text)
			return banned{acap.Usage(text), &acap.Field{Source: acap.Referred, URL: f.URL, Line: 1, Column: 1,
				Text: text}}
		}
	}
	return nil
}

func (banner) Page(_ *acap.Page, site acap.Preferences) acap.Preferences { return site }

func (b banned) Usages() []acap.Usage { return []acap.Usage{b.usage} }

func (b banned) Opinion(u acap.Usage, _ acap.Resource) acap.Opinion {
	if u != b.usage {
		return acap.Opinion{}
	}
	return acap.Opinion{Verdict: acap.Prohibits, Reason: "banner", Because: b.field}
}

// The files that a vocabulary asks for are read and stored together with robots.txt. If they cannot
// be read, Origin.Incomplete is still false.
func TestFilesOfAVocabulary(t *testing.T) {
	who := tester
	who.Vocabularies = []acap.Vocabulary{banner{}}
	for name, c := range map[string]struct {
		serve   http.HandlerFunc
		allowed bool
	}{
		"read":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("index")) }, false},
		"missing": {http.NotFound, true},
		"failing": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
			true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.Text("/robots.txt", "User-agent: *", "Disallow: /x")
			s.Handle("/banner.txt", c.serve)
			store := NewMemory()
			for range 2 { // the second Authority uses the stored file
				a := New(fetcher(t), who, store, Options{})
				o := origin(t, a, s.at("/"))
				expect(t, o, acap.Index, s.at("/a"), c.allowed)
				expect(t, o, acap.Follow, s.at("/a"), true)
				if o.Incomplete {
					t.Error("the origin is incomplete")
				}
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if !c.allowed {
				s.asked("/banner.txt", 1)
			}
		})
	}
}
