package acap

import (
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkFindings tests that every finding has a place and is short enough to be shown.
func checkFindings(t *testing.T, findings []Finding) {
	t.Helper()
	for _, f := range findings {
		if f.Line < 1 || f.Column < 1 || f.Length < 1 || f.Code == "" || f.Severity == "" || f.Source == "" ||
			f.Message == "" || len(f.Message) > 2000 || len(f.Hint) > 1000 {
			t.Fatalf("%+v", f)
		}
	}
}

// checkPolicy decides on every usage and looks for contradictions between the decisions.
func checkPolicy(t *testing.T, p *Policy, r Resource) {
	t.Helper()
	for _, u := range Usages() {
		d := p.Decide(u, r)
		now := d.At(Facts{Now: noon})
		switch {
		case d.Usage != u, d.Reason == "", d.Why() == "":
			t.Fatalf("%s: %+v", u, d)
		case now.Allowed && !d.Allowed:
			t.Fatalf("%s: permitted in time only: %s", u, d.Why())
		case d.Reason == ByDefault && !d.Allowed, d.Reason == ByProhibition && d.Allowed:
			t.Fatalf("%s: %v by %s", u, d.Allowed, d.Reason)
		}
		if l := d.Limits(Facts{Now: noon}); !l.Until.IsZero() && now.Allowed && !l.Until.After(noon) {
			t.Fatalf("%s: permitted until %v", u, l.Until)
		}
		checkBounds(t, d)
		d.MustUse()
		d.MustInclude()
		d.UsageRefs()
	}
	if d := p.Decide(Other, r); d.Allowed && d.Reason != ByDefault {
		t.Fatalf("other is permitted by %s", d.Why())
	}
}

// checkBounds tests that the fields that Bounds and Holder return set all limits and nothing else,
// and that these fields include the field that refuses.
func checkBounds(t *testing.T, d Decision) {
	t.Helper()
	f := Facts{Now: noon}
	want, got := d.Limits(f), Limits{}
	for _, b := range d.Bounds(f) {
		l := b.Limits
		if b.Field == nil || l.Empty() {
			t.Fatalf("%s: %+v holds nothing", d.Usage, b)
		}
		if !l.Until.IsZero() {
			got.end(l.Until)
		}
		got.UntilRecrawled = got.UntilRecrawled || l.UntilRecrawled
		got.MaxChars, got.MaxWords = smaller(got.MaxChars, l.MaxChars), smaller(got.MaxWords, l.MaxWords)
		for _, list := range []struct {
			to   *[]string
			from []string
		}{{&got.MustUse, l.MustUse}, {&got.MustInclude, l.MustInclude}, {&got.ProhibitedModification,
			l.ProhibitedModification},
			{&got.ProhibitedContext, l.ProhibitedContext}, {&got.RequiredContext, l.RequiredContext}, {&got.Target,
				l.Target},
			{&got.Location, l.Location}, {&got.UsageRef, l.UsageRef}} {
			for _, v := range list.from {
				*list.to = appendNew(*list.to, v)
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: fields hold %+v of %+v", d.Usage, got, want)
	}
	if no := d.Changing(prevented(want.ProhibitedModification), "so"); d.Allowed &&
		len(want.ProhibitedModification) > 0 && (no.Allowed || no.Because == nil) {
		t.Fatalf("%s: %v may be changed: %s", d.Usage, want.ProhibitedModification, no.Why())
	}
	if d.Changing(anyChange, "so").Allowed && len(want.ProhibitedModification) > 0 {
		t.Fatalf("%s: all may be changed beside %v", d.Usage, want.ProhibitedModification)
	}
	some := false
	for _, c := range []Context{NoFrame, UserFrame, OriginalFrame} {
		some = some || d.Within(c).Allowed
	}
	if !some && d.Allowed && len(want.RequiredContext) < 2 {
		t.Fatalf("%s may be shown nowhere: %+v", d.Usage, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(typical))
	for _, robots := range robotsExamples(f) {
		f.Add([]byte(robots))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file := Parse(home, src)
		who := Crawler{Names: []string{"searchbot"}, Purposes: []string{"news"}}
		refs := file.References(who)
		for i := range refs {
			refs[i].File = ParseReferred(refs[i].URL, src)
		}
		p := file.Policy(who, refs...)
		checkFindings(t, p.Findings())
		checkPolicy(t, p, NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: "/news/a.html"}))
		for _, a := range p.Actions() {
			if u, err := url.Parse(a.URL); err != nil || u.Host != "example.com" {
				t.Fatalf("%+v", a)
			}
		}
		for _, fi := range file.Findings {
			if fi.Length < 1 || fi.Column+fi.Length-1 > max(1, utf8.RuneCountInString(file.Line(fi.Line))) {
				t.Fatalf("%+v is outside of its line %q", fi, file.Line(fi.Line))
			}
			fi.Excerpt(file.Line(fi.Line))
		}
	})
}

func FuzzPattern(f *testing.F) {
	f.Add("/a*b$", "/axb")
	f.Add("*.gif", "/a/b.gif?v=1")
	f.Add("/%7Ecaf\u00e9/**", "/~caf%c3%a9/x")
	f.Fuzz(func(t *testing.T, text, path string) {
		if len(text) > 60 || len(path) > 60 || strings.Contains(strings.TrimSuffix(text, "$"), "$") ||
			strings.Count(text, "*") > 6 {
			return
		}
		u := &url.URL{Scheme: "http", Host: "h", Path: "/" + path}
		r, p := NewResource(u), newPattern(text)
		if again := newPattern(p.exact); again.raw != p.raw {
			t.Fatalf("%q is not normal: %q, %q", text, p.raw, again.raw)
		}
		if got, want := p.matches(r.path), naive(p.raw, r.path); got != want {
			t.Fatalf("%q on %q: %v, want %v", p.raw, r.path, got, want)
		}
		if compareScope(p.raw, p.raw, false) != identical {
			t.Fatalf("%q is not itself", p.raw)
		}
		if v, err := url.Parse(r.URL); err != nil || NewResource(v).URL != r.URL {
			t.Fatalf("%q is not normal: %v", r.URL, err)
		}
	})
}

func FuzzMeta(f *testing.F) {
	f.Add("robots", "noindex, ACAP disallow-follow", "the-acap:disallow-index")
	f.Add("searchbot", "ACAP news allow-index time-limit = 3-days", "the-acap:allow-(q)")
	f.Add("robots, searchbot", "ACAP version=1.1", "acap:x")
	f.Add("\u201drobots\u201d", "\u0250\u0250\u0250\u0250\u0250\u0250\u0250\u0250\u0250\u0250 ACAP x",
		"the-acap:disallow-present")
	f.Fuzz(func(t *testing.T, name, content, token string) {
		m := Mark{Token: token, Line: 5, Column: 1}
		own := page(Tag{Source: Meta, Name: name, Content: content, Line: 2, Column: 3},
			tag("robots", "ACAP disallow-index"))
		own.Marks = []Mark{m}
		p := policyOf(searchbot, typical).Narrow(own)
		r := NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: "/a.html"})
		checkFindings(t, p.Findings())
		checkPolicy(t, p, r)
		for _, u := range Usages() {
			p.Part(u, r, own.Marks).Limits(Facts{Now: noon})
		}
	})
}

func FuzzHeader(f *testing.F) {
	f.Add("noindex, otherbot: nofollow", "*; nosnippet;max-snippet=20")
	f.Add("unavailable_after: 25 Jun 2010 15:00:00 PST, noarchive",
		"searchbot;unavailable_after=@1659578233, (a b);noindex")
	f.Add("searchbot noindex; nosnippet", "*;foo=\"a,b\";noindex=?0")
	f.Fuzz(func(t *testing.T, x, r string) {
		alone := page(tag("X-Robots-Tag", x), tag("Robots-Tag", r))
		p := policyOf(searchbot, "").Narrow(alone)
		res := NewResource(&url.URL{Scheme: "http", Host: "example.com", Path: "/a.html"})
		checkFindings(t, p.Findings())
		checkPolicy(t, p, res)
		// an additional restriction never removes another restriction
		more := policyOf(searchbot, "").Narrow(page(append(alone.Tags, tag("robots", "noarchive"))...))
		for _, u := range Usages() {
			if !p.Decide(u, res).Allowed && more.Decide(u, res).Allowed {
				t.Fatalf("%s", u)
			}
		}
		if p.Decide(PresentCurrentCopy, res).Allowed && more.Decide(PresentCurrentCopy, res).Allowed {
			t.Fatal("noarchive is lost")
		}
	})
}

func FuzzDecide(f *testing.F) {
	f.Add(typical, "ACAP-crawler: *\nACAP-disallow-index: /a", "/a?b", "index")
	f.Add("ACAP-crawler: *\nACAP-allow-index: /*a\nACAP-allow-index: /", "ACAP-disallow-index: *", "/xa", "index")
	f.Fuzz(func(t *testing.T, robots, more, path, usage string) {
		if len(robots)+len(more) > 4000 {
			return
		}
		u := &url.URL{Scheme: "http", Host: "example.com", Path: path}
		r := NewResource(u)
		p := policyOf(searchbot, robots)
		checkPolicy(t, p, r)
		for k := range kinds {
			for _, rooted := range []bool{false, true} {
				var v statementSet
				p.prevailing(k, &r, rooted, &v)
				if want := maximal(p, k, &r, rooted); v.n != len(want) {
					t.Fatalf("%s: %d statements prevail, want %d", k.usage(), v.n, len(want))
				}
			}
		}
		before := p.Decide(Usage(usage), r)
		after := policyOf(searchbot, robots+"\nACAP-crawler:\nACAP-disallow-"+usage+": /").Decide(Usage(usage), r)
		if Usage(usage).Standard() && !before.Allowed && after.Allowed {
			t.Fatalf("a further prohibition permits %s: %s, %s", usage, before.Why(), after.Why())
		}
	})
}
