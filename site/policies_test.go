package site

import (
	"net/url"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/terms"
)

// TestCurrentPolicy checks the policy that the gate uses immediately before it sends a request:
// every change must apply at once, without a request for robots.txt.
func TestCurrentPolicy(t *testing.T) {
	s := open(t, t.TempDir())
	p := newPublisher(t)
	nameHosts(s.gate, []string{p.origin + "/"})
	h := &session{site: s}
	at := func(path string) *url.URL {
		u, err := url.Parse(p.origin + path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	check := func(when string, allowed, down bool) {
		t.Helper()
		before, err := h.Current(at("/b"))
		if err != nil {
			t.Fatal(err)
		}
		if got := before.Decide(acap.Crawl, acap.NewResource(at("/b"))).Allowed; got != allowed {
			t.Errorf("%s: crawl permitted: %v", when, got)
		}
		if got := terms.TakeDown(before, at("/b")) != nil; got != down {
			t.Errorf("%s: taken down: %v", when, got)
		}
	}
	reread := func() {
		t.Helper()
		if _, err := s.policy.Refresh(t.Context(), at("/")); err != nil {
			t.Fatal(err)
		}
	}
	check("never read", false, false)
	reread()
	check("read", true, false)
	other := s.policy.For(acap.Crawler{Names: []string{"other"}})
	if _, err := other.Origin(t.Context(), at("/")); err != nil {
		t.Fatal(err)
	}
	check("read for another", true, false)
	asked, _, err := s.ledger.Submit(actions.Submission{Action: acap.TakeDown, URL: p.origin + "/b"})
	if err != nil {
		t.Fatal(err)
	}
	check("taken down by the operator", true, true)
	if _, err := s.ledger.Withdraw(asked.ID, nil); err != nil {
		t.Fatal(err)
	}
	check("withdrawn", true, false)
	p.setRobots("ACAP-crawler: *\nACAP-request-take-down: /b\n")
	reread()
	check("taken down by a line", true, true)
	p.setRobots("ACAP-crawler: *\nACAP-disallow-crawl: /b\n")
	reread()
	check("prohibited", false, false)
	p.setRobots("ACAP-crawler: *\n")
	reread()
	check("permitted again", true, false)
	p.Close()
	reread()
	check("unreachable", false, false)
	if _, known := s.policy.Held(at("/")); !known {
		t.Error("what was read before is forgotten")
	}
	if p, err := other.Current(at("/")); err != nil || p.Decide(acap.Crawl, acap.NewResource(at("/b"))).Allowed {
		t.Errorf("unreachable, for another crawler: %v", err)
	}
}

// memo is a vocabulary that needs a file.
type memo struct{}

func (memo) Name() string { return "memo" }

func (memo) Key() string { return "memo" }

func (memo) Files(s *acap.Site) []acap.Needed {
	if s.Root == nil {
		return nil
	}
	return []acap.Needed{{URL: s.Root.JoinPath("memo").String()}}
}

func (memo) Site(*acap.Site) acap.Preferences                          { return nil }
func (memo) Page(_ *acap.Page, site acap.Preferences) acap.Preferences { return site }

// TestVersionOfVocabulary checks that a policy has no version before the files of all vocabularies
// are read, because reading them makes no new version.
func TestVersionOfVocabulary(t *testing.T) {
	s := open(t, t.TempDir())
	p := newPublisher(t, "/memo")
	nameHosts(s.gate, []string{p.origin + "/"})
	u, err := url.Parse(p.origin + "/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.policy.Origin(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	who := s.who
	who.Vocabularies = []acap.Vocabulary{memo{}}
	other := s.Lend(s.cfg, who)
	before, without := s.lastPolicies().version(u), other.lastPolicies().version(u)
	if before.Since.IsZero() || !without.Since.IsZero() {
		t.Errorf("%+v, and with the vocabulary %+v", before, without)
	}
	if _, err := other.policy.Refresh(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if is := other.lastPolicies().version(u); is != before || is != s.lastPolicies().version(u) {
		t.Errorf("after the file was read: %+v, before %+v", is, before)
	}
}
