package acap

import (
	"math/rand/v2"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// vocabularyExample is a small web site in one vocabulary, with the expected verdicts.
type vocabularyExample struct {
	vocabulary Vocabulary
	robots     string
	files      map[string]string // the files that the vocabulary needs, by URL
	page       Own
	asks       []ask
}

// ask is a question with the expected verdict. line is the number of the line of robots.txt that
// decides; 0 means any other field.
type ask struct {
	path   string
	usage  Usage
	onPage bool // the question is for the policy that Narrow returns for the page
	want   Verdict
	line   int
}

func TestVocabularies(t *testing.T) {
	for _, e := range []vocabularyExample{
		{vocabulary: rfc9309{}, robots: lines("User-agent: *", "Disallow: /a", "Allow: /a/b"),
			page: page(tag("robots", "all")), asks: []ask{
				{path: "/a", usage: Crawl, want: Prohibits, line: 2},
				{path: "/a/b", usage: Crawl, want: Permits, line: 3},
				{path: "/a/b", usage: Crawl, onPage: true, want: Permits, line: 3},
				{path: "/c", usage: Crawl},
				{path: "/robots.txt", usage: Crawl},
				{path: "/a", usage: Index},
			}},
		{vocabulary: tagVocabulary{}, page: page(tag("robots", "noindex, max-snippet:20")), asks: []ask{
			{path: "/a", usage: Index},
			{path: "/a", usage: Index, onPage: true, want: Prohibits},
			{path: "/a", usage: PresentSnippet, onPage: true},
		}},
		{vocabulary: memo{}, page: page(tag("robots", "all"), tag("memo", "index=permit")),
			robots: lines("Memo: index=prohibit", "User-agent: otherbot", "Memo: index=prohibit",
				"User-agent: searchbot", "Disallow: /x",
				"Memo: preserve=agreement, follow=permit"),
			files: map[string]string{"http://example.com/memo.txt": "present=prohibit"}, asks: []ask{
				{path: "/a", usage: Index},
				{path: "/a", usage: Index, onPage: true, want: Permits},
				{path: "/a", usage: Preserve, want: Agreement, line: 6},
				{path: "/a", usage: Follow, onPage: true, want: Permits, line: 6},
				{path: "/a", usage: Present, want: Prohibits},
			}},
	} {
		t.Run(e.vocabulary.Name(), e.test)
	}
}

// test runs the tests that every vocabulary must pass.
func (e vocabularyExample) test(t *testing.T) {
	who := searchbot
	if !slicesContain((&Crawler{}).vocabularies(), e.vocabulary) {
		who.Vocabularies = []Vocabulary{e.vocabulary}
	}
	at := -1
	for i, v := range who.vocabularies() {
		if v.Name() == e.vocabulary.Name() {
			at = i
		}
	}
	if name := e.vocabulary.Name(); at < 0 || name == "" || name != strings.ToLower(name) {
		t.Fatalf("the vocabulary %q is at %d", name, at)
	}
	read := func() (site, page *Policy) {
		f := Parse(home, []byte(e.robots))
		refs := f.References(who)
		for i := range refs {
			refs[i].Text = []byte(e.files[refs[i].URL])
		}
		if len(refs) != len(e.files) {
			t.Fatalf("%d files are asked for, want %d", len(refs), len(e.files))
		}
		site = f.Policy(who, refs...)
		return site, site.Narrow(e.page)
	}
	site, narrowed := read()
	again, narrowedAgain := read()
	var all sync.WaitGroup
	for _, a := range e.asks {
		p, q := site, again
		if a.onPage {
			p, q = narrowed, narrowedAgain
		}
		r := resource(t, a.path)
		o := opinionOf(p.preference(at), a.usage, r)
		if o.Verdict != a.want || a.line > 0 && o.Because.Line != a.line ||
			(o.Because == nil) != (o.Verdict == Unknown) {
			t.Errorf("%s of %s: %+v, want %+v", a.usage, a.path, o, a)
		}
		if other := opinionOf(q.preference(at), a.usage, r); !reflect.DeepEqual(o, other) {
			t.Errorf("%s of %s: read twice, it says %+v and %+v", a.usage, a.path, o, other)
		}
		checkOpinion(t, p, a.usage, r, o)
		all.Go(func() { // several goroutines, for the race detector
			if other := opinionOf(p.preference(at), a.usage, r); other.Verdict != o.Verdict {
				t.Errorf("%s of %s: %+v and %+v at the same time", a.usage, a.path, o, other)
			}
		})
	}
	all.Wait()
	e.restrictsOnly(t, who)
}

func slicesContain(list []Vocabulary, v Vocabulary) bool {
	for _, w := range list {
		if w == v {
			return true
		}
	}
	return false
}

func opinionOf(said Preferences, u Usage, r Resource) Opinion {
	if said == nil {
		return Opinion{}
	}
	return said.Opinion(u, r)
}

// checkOpinion compares an opinion with the decision and the trace of a policy in which nothing
// else is about the usage.
func checkOpinion(t *testing.T, p *Policy, u Usage, r Resource, o Opinion) {
	t.Helper()
	d := p.Decide(u, r)
	allowed := o.Verdict <= Permits
	switch {
	case u.kind().derived(), u == Other:
		return
	case d.Allowed != allowed, o.Because != nil && (d.Because != o.Because || d.Reason != o.Reason), o.Because != nil &&
		o.Reason == "":
		t.Errorf("%s of %s: %+v, and the decision is %s", u, r.URL, o, d.Why())
	}
	if o.Because == nil {
		return
	}
	if list := p.Trace(u, r, Facts{Now: noon}); len(list) == 0 || list[0].Outcome != Decides ||
		list[0].Field != o.Because {
		t.Errorf("%s of %s: the trace does not begin with %s\n%s", u, r.URL, o.Because, listing(list))
	}
}

// restrictsOnly tests that the vocabulary never turns a refusal by ACAP into a permission.
func (e vocabularyExample) restrictsOnly(t *testing.T, who Crawler) {
	rng := rand.New(rand.NewPCG(11, 12))
	conventional := who
	conventional.Vocabularies = nil
	for range 200 {
		s := randomSpeech(rng)
		s.lines = append(s.lines, strings.Split(e.robots, "\n")...)
		s.page.Tags = append(s.page.Tags, e.page.Tags...)
		r := resource(t, oneOf(rng, "/a/b", "/a/c", "/x"))
		more, less := s.policy(who), s.policy(conventional)
		bare := *less
		bare.preferences, bare.preferred = nil, 0
		for _, u := range Usages() {
			d := more.Decide(u, r)
			if d.Allowed && !less.Decide(u, r).Allowed || d.Allowed && !bare.Decide(u, r).Allowed {
				t.Fatalf("%s: %s, without the vocabulary %s\n%s", u, d.Why(), less.Decide(u, r).Why(), s)
			}
			checkTrace(t, d.At(Facts{Now: noon}), more.Trace(u, r, Facts{Now: noon}), s)
		}
	}
}

// memo is a vocabulary for tests. It reads lines "Memo: USAGE=VERDICT, …" of the group that applies
// to the crawler, META tags with the name memo, and the file /memo.txt. Each applies to all paths;
// a page wins against its site.
type memo struct{}

type memoPreferences map[Usage]Opinion

func (memo) Name() string { return "memo" }

func (memo) Key() string { return "memo" }

func (memo) Files(s *Site) []Needed {
	if s.Root == nil {
		return nil
	}
	return []Needed{{URL: s.Root.JoinPath("memo.txt").String()}}
}

func (memo) Site(s *Site) Preferences {
	out := memoPreferences{}
	for _, f := range s.Files {
		out.add(string(f.Text), &Field{Source: Referred, URL: f.URL, Line: 1, Column: 1, Text: string(f.Text)})
	}
	mine, before := s.Lines("memo")
	for _, l := range mine {
		out.add(l.Value, l.Field)
	}
	for _, l := range before {
		s.Report(l.Field, "orphan-field", Warning, "put it into a group",
			"the line is before any User-agent line and is ignored")
	}
	return out
}

func (memo) Page(p *Page, site Preferences) Preferences {
	out := memoPreferences{}
	if m, ok := site.(memoPreferences); ok {
		for u, o := range m {
			out[u] = o
		}
	}
	for i := range p.Tags {
		if t := &p.Tags[i]; t.Name == "memo" {
			out.add(t.Content, p.Field(t))
		}
	}
	return out
}

func (m memoPreferences) add(value string, f *Field) {
	for item := range strings.SplitSeq(value, ",") {
		usage, verdict, _ := strings.Cut(strings.TrimSpace(item), "=")
		v, ok := map[string]Verdict{"permit": Permits, "agreement": Agreement, "prohibit": Prohibits}[verdict]
		if ok {
			m[Usage(usage)] = Opinion{Verdict: v, Reason: "memo", Because: f}
		}
	}
}

func (m memoPreferences) Usages() (list []Usage) {
	for u := range m {
		list = append(list, u)
	}
	return list
}

func (m memoPreferences) Opinion(u Usage, _ Resource) Opinion { return m[u] }

// If several vocabularies have an opinion, the strictest decides; of equally strict opinions, the
// first decides.
func TestStrictestVocabulary(t *testing.T) {
	said := func(verdict string, line int) Preferences {
		m := memoPreferences{}
		m.add("index="+verdict, &Field{Source: Robots, URL: home, Line: line})
		return m
	}
	for _, c := range []struct {
		verdicts []string
		allowed  bool
		line     int
	}{
		{[]string{"permit", "agreement", "prohibit"}, false, 3},
		{[]string{"agreement", "permit"}, false, 1},
		{[]string{"prohibit", "prohibit"}, false, 1},
		{[]string{"none", "permit", "permit"}, true, 2},
		{[]string{"none"}, true, 0},
	} {
		p := *policyOf(searchbot, "")
		p.preferred = setOf(kIndex)
		for i, v := range c.verdicts {
			p.preferences = append(p.preferences, said(v, i+1))
		}
		d := p.Decide(Index, resource(t, "/a"))
		line := 0
		if d.Because != nil {
			line = d.Because.Line
		}
		if d.Allowed != c.allowed || line != c.line {
			t.Errorf("%v: %s", c.verdicts, d.Why())
		}
	}
}

// A line of a vocabulary ends a run of User-agent lines. A crawler that a group names does not
// belong to the groups for "*".
func TestSiteLines(t *testing.T) {
	for file, want := range map[string]string{
		"User-agent: *\nX: 1": "1",
		"User-agent: *\nX: 1\nUser-agent: searchbot\nDisallow: /":                                         "",
		"User-agent: searchbot\nX: 1\nUser-agent: otherbot\nX: 2\nAllow: /":                               "1",
		"User-agent: otherbot\nUser-agent: searchbot\nX: 1\nX: 2":                                         "12",
		"User-agent: searchbot\nY: 1\nUser-agent: otherbot\nX: 2":                                         "2",
		"X: 1\nUser-agent: searchbot\nDisallow: /\nx : 2":                                                 "2",
		"User-agent: searchbot\nX: 1\nDisallow: /\nUser-agent: *\nX: 2\n" + "User-agent: searchbot\nX: 3": "13",
	} {
		f := Parse(home, []byte(file))
		for _, g := range []*File{f, f.For(searchbot)} {
			s := &Site{Root: &url.URL{}, file: g, crawler: &searchbot}
			got := ""
			mine, _ := s.Lines("x")
			for _, l := range mine {
				got += l.Value
			}
			if got != want {
				t.Errorf("%q: %q, want %q", file, got, want)
			}
		}
	}
}
