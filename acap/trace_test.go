package acap

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestTrace tests the outcome of each field. "loses 3>4 F07" means that line 3 lost against line 4
// because of reading F07. Line numbers from 100 on are in the page; headers have the line number
// 200.
func TestTrace(t *testing.T) {
	news := Crawler{Names: []string{"searchbot"}, Purposes: []string{"news"}}
	two := Crawler{Names: []string{"searchbot"}, Purposes: []string{"news", "archive"}}
	meta := func(line int, name, content string) Tag {
		return Tag{Source: Meta, Name: name, Content: content, Line: line, Column: 1}
	}
	for name, c := range map[string]struct {
		who   Crawler
		usage Usage
		lines []string
		tags  []Tag
		marks []Mark
		want  string
	}{
		"nothing": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-preserve: /"}},
		"scope": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-disallow-index: /", "ACAP-allow-index: /a"},
			want: "decides 3; loses 2>3 F07"},
		"addressee": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-disallow-index: /a",
			"ACAP-crawler: searchbot", "ACAP-allow-index: /"},
			want: "decides 4; loses 2>4 C02"},
		"purpose": {who: news, usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-index: /a",
			"ACAP-usage-purpose: news", "ACAP-disallow-index: /"},
			want: "decides 4; loses 2>4 C04"},
		"same pattern": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-index: /",
			"ACAP-disallow-index: /"},
			want: "decides 3; loses 2>3 F05"},
		"neither narrower": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-index: /*b",
			"ACAP-disallow-index: /*.html"},
			want: "decides 3; loses 2>3 F02"},
		"covers everything": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-index: /a",
			"ACAP-disallow-index:"},
			want: "decides 3; loses 2>3 X35"},
		"without a root": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-index: /",
			"ACAP-disallow-index: *.html"},
			want: "decides 3; loses 2>3 F03"},
		"two limits": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-index: / time-limit=3-days",
			"ACAP-allow-index: / time-limit=9-days"},
			want: "decides 2; binds 3>2 F15"},
		"both prohibit": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-disallow-index: /",
			"ACAP-disallow-index: /"},
			want: "decides 2; agrees 3>2 "},
		"snippets only": {usage: PresentSnippet, lines: []string{"ACAP-crawler: *", "ACAP-disallow-present: /",
			"ACAP-allow-present-snippet: /"},
			want: "decides 3; loses 2>3 F17"},
		"narrow prohibition of present": {usage: PresentSnippet, lines: []string{"ACAP-crawler: *",
			"ACAP-disallow-present: /a", "ACAP-allow-present-snippet: /"},
			want: "decides 2; loses 3>2 F17"},
		"prohibition of the type": {usage: PresentSnippet, lines: []string{"ACAP-crawler: *", "ACAP-allow-present: /a",
			"ACAP-disallow-present-snippet: /"},
			want: "decides 3; loses 2>3 F17"},
		"limits of present": {usage: PresentSnippet,
			lines: []string{"ACAP-crawler: *", "ACAP-allow-present: / time-limit=3-days",
				"ACAP-allow-present-snippet: /"},
			want: "decides 2; binds 3>2 F18"},
		"present cannot be interpreted": {usage: PresentSnippet,
			lines: []string{"ACAP-crawler: *", "ACAP-allow-present: / bad=1", "ACAP-allow-present-snippet: /a"},
			want:  "decides 2; loses 3>2 X81"},
		"displaced and not interpreted": {usage: PresentSnippet,
			lines: []string{"ACAP-crawler: *", "ACAP-allow-present: / bad=1", "ACAP-disallow-present: /a",
				"ACAP-allow-present-snippet: /a"},
			want: "decides 2; loses 4>2 X81; loses 3>4 F17"},
		"displaced limits": {usage: PresentSnippet,
			lines: []string{"ACAP-crawler: *", "ACAP-allow-present: / time-limit=3-days", "ACAP-disallow-present: /a",
				"ACAP-allow-present-snippet: /a"},
			want: "decides 2; binds 4>2 F18; loses 3>4 F17"},
		"passed": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-index: /",
			"ACAP-allow-index: / time-limit=until-2020-01-01"},
			want: "decides 3; loses 2>3 F16"},
		"other": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-disallow-other: /", "ACAP-disallow-other: /a"},
			want: "decides 2; agrees 3>2 "},
		"other loses": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-disallow-other: /",
			"ACAP-allow-index: /"},
			want: "decides 3; loses 2>3 F19"},
		"conventional": {usage: Crawl, lines: []string{"User-agent: *", "Disallow: /", "Allow: /a", "ACAP-crawler: *",
			"ACAP-allow-crawl: /a.html"},
			want: "decides 5; binds 3>5 O05; loses 2>3 9309"},
		"conventional prohibits": {usage: Crawl, lines: []string{"User-agent: *", "Disallow: /", "ACAP-crawler: *",
			"ACAP-allow-crawl: /a"},
			want: "decides 2; loses 4>2 O05"}, // the two fields have different patterns
		"cancelled": {usage: Crawl, lines: []string{"User-agent: *", "Disallow: /a", "ACAP-crawler: *",
			"ACAP-allow-crawl: /a"},
			want: "decides 4; loses 2>4 O04"},
		"both polarities": {usage: Crawl,
			lines: []string{"User-agent: searchbot", "Disallow: /a", "ACAP-crawler: *", "ACAP-disallow-crawl: /a",
				"ACAP-crawler: searchbot", "ACAP-allow-crawl: /a"},
			want: "decides 2; loses 4>6 C02; loses 6>2 X85"},
		"any crawler cancels nothing": {usage: Crawl, lines: []string{"User-agent: searchbot", "Disallow: /a",
			"ACAP-crawler: *", "ACAP-allow-crawl: /a"},
			want: "decides 2; loses 4>2 O07"},
		"rule within an ACAP record": {usage: Crawl, lines: []string{"User-agent: *", "ACAP-crawler: *",
			"ACAP-allow-crawl: /", "Disallow: /a"},
			want: "decides 4; loses 3>4 O05"},
		"ignored": {usage: Crawl, lines: []string{"ACAP-ignore-conventional-records", "User-agent: *", "Disallow: /"},
			want: "loses 3>0 2.10.1"},
		"tie": {usage: Crawl, lines: []string{"User-agent: *", "Disallow: /a", "Allow: /a"},
			want: "decides 3; loses 2>3 O10"},
		"page": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-disallow-index: /"},
			tags: []Tag{meta(100, "robots", "ACAP allow-index")},
			want: "decides 100; loses 2>100 N02"},
		"page below a name": {usage: Index, lines: []string{"ACAP-crawler: searchbot", "ACAP-disallow-index: /"},
			tags: []Tag{meta(100, "robots", "ACAP allow-index")},
			want: "decides 2; loses 100>2 N02"},
		"conventional tag": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-index: /"},
			tags: []Tag{meta(100, "robots", "noindex")},
			want: "decides 100; loses 2>100 N12"},
		"header": {usage: Index, tags: []Tag{{Source: Header, Name: "X-Robots-Tag", Content: "noindex", Line: 200,
			Column: 1}, meta(100, "robots", "ACAP disallow-index")},
			want: "decides 100; agrees 200>100 N19"},
		"max-snippet": {usage: PresentSnippet, tags: []Tag{meta(100, "robots", "max-snippet:20")},
			want: "binds 100>0 N12"},
		"discarded": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-index: /"},
			tags: []Tag{meta(100, "robots", "ACAP disallow-crawl")},
			want: "decides 100; loses 2>100 X01"},
		"element": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-index: /"},
			marks: []Mark{{Token: "the-acap:disallow-index", Line: 105, Column: 1}},
			want:  "decides 2; within 105>0 N05"},
		"element for the page": {usage: PresentOriginal, marks: []Mark{{Token: "the-acap:disallow-present", Line: 105,
			Column: 1}}, want: "decides 105"},
		"fallback": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-allow-index: / bad=1",
			"ACAP-allow-index: /"}, want: "decides 2; loses 3>2 F05"},
		"reference": {usage: Index, lines: []string{"ACAP-crawler: *", "ACAP-permissions-reference: /more.txt",
			"ACAP-crawler: *", "ACAP-allow-index: /"},
			want: "decides 2; loses 4>2 D07"},
		"purposes": {who: two, usage: Index,
			lines: []string{"ACAP-crawler: *", "ACAP-usage-purpose: news", "ACAP-allow-index: /", "ACAP-crawler: *",
				"ACAP-usage-purpose: archive", "ACAP-disallow-index: /"},
			want: "decides 6; loses 3>6 X11"},
		"limits of purposes": {who: two, usage: Index,
			lines: []string{"ACAP-crawler: *", "ACAP-usage-purpose: news", "ACAP-allow-index: / time-limit=3-days",
				"ACAP-crawler: *", "ACAP-usage-purpose: archive", "ACAP-allow-index: /"},
			want: "decides 3; binds 6>3 X78"},
	} {
		if c.who.Names == nil {
			c.who = searchbot
		}
		own := page(c.tags...)
		own.Marks = c.marks
		p := policyOf(c.who, lines(append([]string{}, c.lines...)...)).Narrow(own)
		r, f := resource(t, "/a.html?b"), Facts{Now: noon}
		list := p.Trace(c.usage, r, f)
		checkTrace(t, p.Decide(c.usage, r).At(f), list, name)
		var got []string
		for _, v := range list {
			if v.Outcome == Decides {
				got = append(got, fmt.Sprintf("decides %d", v.Field.Line))
				continue
			}
			over := 0
			if v.Over != nil {
				over = v.Over.Line
			}
			got = append(got, fmt.Sprintf("%s %d>%d %s", v.Outcome, v.Field.Line, over, v.Rule))
		}
		if !told(got, c.want) {
			t.Errorf("%s: %q, want %q\n%s", name, got, c.want, listing(list))
		}
	}
	if list := (*Policy)(nil).Trace(Index, Resource{}, Facts{}); list != nil {
		t.Errorf("no policy: %v", list)
	}
}

// told reports whether got and want have the same entries. The rule of an entry in got only needs
// to contain the rule in want.
func told(got []string, want string) bool {
	wanted := strings.FieldsFunc(want, func(r rune) bool { return r == ';' })
	if len(got) != len(wanted) {
		return false
	}
	for i, w := range wanted {
		head, rule, _ := strings.Cut(strings.TrimSpace(w), ">")
		over, rule, _ := strings.Cut(rule, " ")
		if over != "" {
			head += ">" + over + " "
		}
		if !strings.HasPrefix(got[i]+" ", head) || !strings.Contains(got[i], rule) {
			return false
		}
	}
	return true
}

// TestTraceIsBounded tests that Trace of a hostile file takes limited time, and still lists the
// field that decides.
func TestTraceIsBounded(t *testing.T) {
	for name, line := range map[string]string{
		"equal":        "ACAP-disallow-index: /a\n",
		"incomparable": "ACAP-allow-index: /*%d*\nACAP-disallow-present: /*%d*\nACAP-allow-present-snippet: /*%d*\n",
	} {
		var b strings.Builder
		b.WriteString("ACAP-crawler: *\nACAP-allow-index: /a*\n")
		for i := 0; b.Len() < 400_000; i++ {
			b.WriteString(strings.ReplaceAll(line, "%d", fmt.Sprint(i%10)))
		}
		p := policyOf(searchbot, b.String())
		r := resource(t, "/a0123456789")
		for _, u := range []Usage{Index, PresentSnippet} {
			start := time.Now()
			list := p.Trace(u, r, Facts{Now: noon})
			checkTrace(t, p.Decide(u, r).At(Facts{Now: noon}), list, name)
			if _, more := p.Elsewhere(u, r, 3); more < 0 {
				t.Fatal(more)
			}
			if took := time.Since(start); took > hang {
				t.Errorf("%s of %s took %v", u, name, took)
			} else {
				t.Log(name, u, len(list), took)
			}
		}
	}
}

func TestElsewhere(t *testing.T) {
	p := policyOf(searchbot, lines("ACAP-crawler: *", "ACAP-allow-index: /a/ time-limit=plus-terms",
		"ACAP-disallow-index: /a/b/", "ACAP-disallow-index: /x",
		"ACAP-crawler: otherbot", "ACAP-disallow-index: /a/", "ACAP-disallow-index: /y", "ACAP-crawler: *",
		"ACAP-usage-purpose: news", "ACAP-allow-index: /a/",
		"User-agent: otherbot", "Disallow: /a/", "ACAP-disallow-index: /a/"))
	near, more := p.Elsewhere(Index, resource(t, "/a/c"), 5)
	var got []string
	for _, v := range near {
		got = append(got, fmt.Sprintf("%d %s", v.Field.Line, v.Rule))
	}
	want := []string{"2 P1 2.8, B01", "6 P1 2.3.1, C05", "10 P1 2.3.3, C15", "13 P1 2.10.2, C10", "3 P1 2.4.4"}
	if strings.Join(got, "; ") != strings.Join(want, "; ") || more != 2 {
		t.Errorf("%q and %d more, want %q and 2", got, more, want)
	}
	crawl, _ := p.Elsewhere(Crawl, resource(t, "/a/c"), 5)
	if len(crawl) != 1 || crawl[0].Rule != "RFC 9309 2.2.1" {
		t.Errorf("%+v", crawl)
	}
}

// speech is a random file with a random page. Both are made of few words, so that their statements
// often concern the same resources.
type speech struct {
	lines []string
	page  Own
}

func oneOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func randomSpeech(r *rand.Rand) speech {
	var s speech
	add := func(format string, args ...any) { s.lines = append(s.lines, fmt.Sprintf(format, args...)) }
	pattern := func() string {
		return oneOf(r, "/", "/", "/a", "/a/", "/a/", "/*b", "*b", "*/b", "/a/b$", "/a*", "/A/", "/a$b", "/x", "*",
			"/a/ /a/b", "the-acap:resource-set:s",
			"the-acap:resource-set:none", "")
	}
	usage := func() string {
		return oneOf(r, "index", "index", "present", "present", "present-snippet", "present-snippet", "crawl", "crawl",
			"other", "present-link", "(q)", "(c)", "(no)")
	}
	limits := func() string {
		return oneOf(r, "", "", "", "", "", " time-limit=3-days", " time-limit=until-2025-01-01", " max-length=9-words",
			" bad=1", " target-condition=permittedcountrylist:fr",
			" prohibited-modification=any", " time-limit=until-recrawled")
	}
	if r.IntN(4) > 0 {
		add("ACAP-version: 1.1")
	}
	if r.IntN(8) == 0 {
		add("ACAP-ignore-conventional-records")
	}
	for range r.IntN(3) {
		add("User-agent: %s", oneOf(r, "*", "*", "searchbot", "otherbot"))
		for range r.IntN(4) {
			add("%s: %s", oneOf(r, "Allow", "Disallow"), oneOf(r, "/", "/a", "/a/", "/*b", "/a/b$", "/A/"))
		}
	}
	add("ACAP-resource-set: s /a/ *b")
	add("ACAP-qualified-usage: q index time-limit=9-days")
	add("ACAP-composite-usage: c present present-snippet (q)")
	for range 1 + r.IntN(4) {
		add("ACAP-crawler: %s", oneOf(r, "*", "*", "searchbot", "otherbot"))
		for range 1 + r.IntN(5) {
			if r.IntN(6) == 0 {
				add("ACAP-usage-purpose: %s", oneOf(r, "news", "archive"))
			}
			if r.IntN(2) == 0 {
				add("ACAP-allow-%s: %s%s", usage(), pattern(), limits())
			} else {
				add("ACAP-disallow-%s: %s", usage(), pattern())
			}
		}
	}
	s.page.URL = "http://example.com/a/b"
	if r.IntN(2) == 0 {
		return s
	}
	plain := func() string {
		return oneOf(r, "index", "index", "present", "present-snippet", "other", "(q)", "preserve")
	}
	for i := range r.IntN(4) {
		t := Tag{Source: Meta, Name: oneOf(r, "robots", "robots", "searchbot", "otherbot"), Line: i + 1, Column: 1}
		switch r.IntN(8) {
		case 0:
			t.Content = oneOf(r, "noindex", "nosnippet", "max-snippet:20", "unavailable_after: 2025-01-01", "all")
		case 1:
			t.Source, t.Name, t.Content = Header, "X-Robots-Tag", oneOf(r, "noindex", "nosnippet", "max-snippet:9")
		default:
			t.Content = "ACAP " + oneOf(r, "", "", "news ", "archive ") + oneOf(r, "allow-", "disallow-") + plain() +
				oneOf(r, "", "", " time-limit=1-days", " location=http://example.com/x")
		}
		s.page.Tags = append(s.page.Tags, t)
	}
	if r.IntN(20) == 0 {
		s.page.Tags = append(s.page.Tags, Tag{Source: Meta, Name: "robots", Content: "ACAP disallow-crawl", Line: 9,
			Column: 1})
	}
	if r.IntN(6) == 0 {
		s.page.Marks = append(s.page.Marks, Mark{Token: "the-acap:" + oneOf(r, "allow-", "disallow-") + plain(),
			Line: 20, Column: 1,
			Place: oneOf(r, OnElement, OnHead), Element: 1})
	}
	return s
}

func (s speech) policy(c Crawler) *Policy {
	return Parse(home, []byte(strings.Join(s.lines, "\n"))).Policy(c).Narrow(s.page)
}

// without returns a copy of s without the field f. All other fields keep their positions and their
// records.
func (s speech) without(f *Field, u Usage) speech {
	switch f.Source {
	case Robots:
		line := "ACAP-disallow-preserve: /nowhere"
		if !strings.HasPrefix(f.Text, "ACAP-") {
			line = "Disallow: /nowhere"
		}
		s.lines = append([]string(nil), s.lines...)
		s.lines[f.Line-1] = line
	case Class:
		s.page.Marks = nil
	default:
		var kept []Tag
		for _, t := range s.page.Tags {
			if t.Line != f.Line {
				kept = append(kept, t)
			}
		}
		s.page.Tags = kept
	}
	return s
}

func (s speech) String() string {
	return fmt.Sprintf("%s\n%+v %+v", strings.Join(s.lines, "\n"), s.page.Tags, s.page.Marks)
}

func listing(list []Rival) string {
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "  %s %s: %s (%s) over %v; %s\n", v.Outcome, v.Usage, v.Field, v.Why, v.Over, v.Rule)
	}
	return b.String()
}

// checkTrace compares a trace with the decision that it explains.
func checkTrace(t *testing.T, d Decision, list []Rival, told any) {
	t.Helper()
	deciding := 0
	seen := map[string]bool{}
	for i, v := range list {
		key := fmt.Sprintf("%v %s", *v.Field, v.Usage)
		wrong := ""
		switch {
		case seen[key]:
			wrong = "is listed twice"
		case i > 0 && v.Outcome.rank() < list[i-1].Outcome.rank():
			wrong = "is out of order"
		case v.Outcome == Decides && !same(v.Field, d.Because):
			wrong = "does not decide"
		case v.Outcome == Binds && !d.Allowed, v.Outcome == Binds && !v.Allow:
			wrong = "binds a refusal"
		case v.Outcome == Agrees && d.Allowed:
			wrong = "agrees with a permission"
		case v.Outcome != Decides && v.Why == "":
			wrong = "has no reason"
		case v.Outcome == Loses && v.Over == v.Field:
			wrong = "loses against itself"
		}
		if wrong != "" {
			t.Fatalf("%s: %s %s\n%s\n%s\n%s", d.Usage, v.Field, wrong, d.Why(), listing(list), told)
		}
		seen[key] = true
		if v.Outcome == Decides {
			deciding++
		}
	}
	if want := d.Because != nil; (deciding > 0) != want {
		t.Fatalf("%s: %d fields decide: %s\n%s\n%s", d.Usage, deciding, d.Why(), listing(list), told)
	}
}

var crawlers = []Crawler{
	searchbot,
	{Names: []string{"searchbot"}, Purposes: []string{"news"}},
	{Names: []string{"searchbot"}, Purposes: []string{}, Strict: true},
	{Names: []string{"searchbot"}, Purposes: []string{"news", "archive"}},
	{Names: []string{"searchbot"}, Cannot: []string{"element-level", "max-length"}},
}

// TestTraceAgreesWithDecide tests that the field that decides according to Trace is that of Decide,
// and that Trace lists every field that covers the resource.
func TestTraceAgreesWithDecide(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 800 {
		s, who := randomSpeech(rng), oneOf(rng, crawlers...)
		p := s.policy(who)
		r := resource(t, oneOf(rng, "/a/b", "/a/b", "/a/c", "/x", "/robots.txt"))
		f := Facts{Now: noon}
		for _, u := range Usages() {
			list := p.Trace(u, r, f)
			checkTrace(t, p.Decide(u, r).At(f), list, s)
			apart, more := p.Elsewhere(u, r, 1000)
			fields := map[Field]bool{}
			for _, v := range list {
				fields[*v.Field] = true
			}
			for _, v := range apart {
				if fields[*v.Field] || v.Outcome != Apart || v.Why == "" {
					t.Fatalf("%s: %+v is apart\n%s\n%s", u, v, listing(list), s)
				}
				fields[*v.Field] = true
			}
			if more != 0 {
				t.Fatalf("%d more", more)
			}
			for _, en := range p.File().entries {
				if Usage(en.usage) == u && !fields[*en.field] {
					t.Fatalf("%s: nothing tells of %s\n%s\n%s", u, en.field, listing(list), s)
				}
			}
		}
	}
}

// TestTraceLosersMayGo tests that removing a field that lost does not change the decision, unless
// another field lost against it, or it may cancel a conventional rule.
func TestTraceLosersMayGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	gone := 0
	for range 2000 {
		s, who := randomSpeech(rng), oneOf(rng, crawlers...)
		if len(who.Purposes) > 1 {
			continue
		}
		p := s.policy(who)
		r := NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: "/a/b"})
		f := Facts{Now: noon}
		for _, u := range []Usage{Crawl, Index, Present, PresentSnippet, PresentLink, Other} {
			list := p.Trace(u, r, f)
			stays := map[Field]bool{}
			for _, v := range list {
				if v.Over != nil {
					stays[*v.Over] = true
				}
				if v.Outcome != Loses || u == Crawl && conventionalToo(p, v.Field) {
					stays[*v.Field] = true
				}
			}
			for _, v := range list {
				if stays[*v.Field] {
					continue
				}
				gone++
				before, after := p.Decide(u, r).At(f), s.without(v.Field, u).policy(who).Decide(u, r).At(f)
				if before.Allowed != after.Allowed {
					t.Fatalf("%s: without %s: %s, before: %s\n%s\n%s", u, v.Field, after.Why(), before.Why(),
						listing(list), s)
				}
			}
		}
	}
	if gone < 1500 {
		t.Errorf("only %d fields were taken away", gone)
	}
}

// conventionalToo reports whether a field about crawl has the pattern of a conventional rule.
func conventionalToo(p *Policy, f *Field) bool {
	for _, q := range append([]*Policy{p}, p.byPurpose...) {
		for _, s := range q.by[kCrawl] {
			if s.field != f || s.pattern == nil {
				continue
			}
			for _, g := range q.file.groups {
				for _, l := range g.rules {
					if l.read().exact == s.pattern.exact {
						return true
					}
				}
			}
		}
	}
	return false
}

func FuzzTrace(f *testing.F) {
	f.Add(typical, "/news/a.html", "ACAP allow-index time-limit=3-days", "the-acap:disallow-present")
	f.Add("ACAP-crawler: *\nACAP-allow-present: *a\nACAP-disallow-present-snippet: /", "/xa", "noindex",
		"the-acap:allow-index")
	f.Fuzz(func(t *testing.T, robots, path, content, token string) {
		if len(robots) > 4000 {
			return
		}
		own := page(tag("robots", content))
		own.Marks = []Mark{{Token: token, Line: 5, Column: 1}}
		r := NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: path})
		origin := policyOf(searchbot, robots)
		for _, p := range []*Policy{origin, origin.Narrow(own)} {
			for _, u := range Usages() {
				checkTrace(t, p.Decide(u, r).At(Facts{Now: noon}), p.Trace(u, r, Facts{Now: noon}), robots)
				p.Elsewhere(u, r, 3)
			}
		}
	})
}
