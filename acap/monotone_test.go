package acap

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

// choices takes the choices for a file and its pages from bytes, so that a fuzzer can vary the
// choices. Each byte is one choice; if no bytes are left, the choice is 0.
type choices struct{ bytes []byte }

func (c *choices) next(n int) int {
	if len(c.bytes) == 0 {
		return 0
	}
	b := c.bytes[0]
	c.bytes = c.bytes[1:]
	return int(b) % n
}

func pick[T any](c *choices, from ...T) T { return from[c.next(len(from))] }

var somePatterns = []string{"/", "/a/", "/a/b", "/a*", "/*b", "*.x", "/a/*.x$", "/a/b.x", "/A/", "/a/$",
	"the-acap:resource-set:s", "/a/b.x$", "/*"}

// qualifiersOf holds valid qualifiers with valid values, by type. plus-terms is missing, because it
// is valid only for images (P1 2.5.3.1, X32).
var qualifiersOf = map[string][]string{
	"time-limit": {"1-days", "9-days", "until-2026-01-04", "until-2027-01-01", "until-recrawled",
		"0-days"},
	"must-use-resource":       {"/s", "the-acap:extract:id:i", "the-acap:text:a%20b"},
	"max-length":              {"3-words", "0-chars", "99-chars"},
	"must-include-resource":   {"the-acap:credit:text:x", "the-acap:license-link:http://h/"},
	"prohibited-modification": {"any", "style", "translation", "content"},
	"prohibited-context":      {"within-user-frame"},
	"required-context":        {"within-user-frame", "within-original-frame"},
	"target-condition": {"permittedcountrylist:be", "prohibitedcountrylist:be",
		"permitteddomainlist:example.be"},
	"usage-ref": {"/r"},
}

// statementText holds the parts of one field of a file, or of one statement of a META tag.
type statementText struct {
	usage      Usage
	pattern    string
	allow      bool
	qualifiers []string
}

func (s statementText) has(kind string) bool {
	for _, q := range s.qualifiers {
		if strings.HasPrefix(q, kind+"=") {
			return true
		}
	}
	return false
}

// qualify adds a qualifier of a type that applies to the usage and that the statement does not have
// yet. It returns false if there is no such type.
func (s *statementText) qualify(c *choices, source Source) bool {
	var fit []string
	for _, row := range qualifierTable {
		if len(qualifiersOf[row.name]) > 0 && row.usage.has(s.usage.kind()) && !s.has(row.name) &&
			(source != Meta || row.name != "usage-ref") {
			fit = append(fit, row.name)
		}
	}
	if len(fit) == 0 {
		return false
	}
	name := pick(c, fit...)
	s.qualifiers = append(s.qualifiers, name+"="+pick(c, qualifiersOf[name]...))
	return true
}

func someStatement(c *choices, source Source) statementText {
	s := statementText{usage: pick(c, usageNames[:]...), pattern: pick(c, somePatterns...), allow: c.next(3) > 0}
	if s.allow {
		for range c.next(3) {
			s.qualify(c, source)
		}
	}
	return s
}

func (s statementText) field() string {
	verb := "disallow"
	if s.allow {
		verb = "allow"
	}
	return strings.TrimSpace(fmt.Sprintf("ACAP-%s-%s: %s %s", verb, s.usage, s.pattern, strings.Join(s.qualifiers,
		" ")))
}

func (s statementText) tag(name string) Tag {
	verb := "disallow"
	if s.allow {
		verb = "allow"
	}
	return tag(name, strings.TrimSpace(fmt.Sprintf("ACAP %s-%s %s", verb, s.usage, strings.Join(s.qualifiers, " "))))
}

// someRecord is a record or a sub-record with its statements.
type someRecord struct {
	names, purpose string
	fields         []statementText
}

type someFile struct {
	records []someRecord
	tags    []statementText // the META tags of the page
	tagged  []string        // the META name of each of tags
}

func newFile(c *choices) *someFile {
	f := &someFile{}
	for range 1 + c.next(3) {
		r := someRecord{names: pick(c, "*", "searchbot", "otherbot"), purpose: pick(c, "", "", "news", "web")}
		for range c.next(5) {
			r.fields = append(r.fields, someStatement(c, Robots))
		}
		f.records = append(f.records, r)
	}
	for range c.next(3) {
		f.tags, f.tagged = append(f.tags, someStatement(c, Meta)), append(f.tagged, pick(c, "robots", "searchbot"))
	}
	return f
}

func (f *someFile) robots() string {
	var b strings.Builder
	b.WriteString("ACAP-version: 1.1\nACAP-resource-set: s /a/ *.x\n")
	for _, r := range f.records {
		b.WriteString("ACAP-crawler: " + r.names + "\n")
		if r.purpose != "" {
			b.WriteString("ACAP-usage-purpose: " + r.purpose + "\n")
		}
		for _, s := range r.fields {
			b.WriteString(s.field() + "\n")
		}
	}
	return b.String()
}

func (f *someFile) own() Own {
	o := page(tag("robots", "ACAP version 1.1"))
	for i, s := range f.tags {
		o.Tags = append(o.Tags, s.tag(f.tagged[i]))
	}
	return o
}

func (f *someFile) clone() *someFile {
	c := &someFile{tags: append([]statementText(nil), f.tags...), tagged: append([]string(nil), f.tagged...)}
	for _, r := range f.records {
		r.fields = append([]statementText(nil), r.fields...)
		c.records = append(c.records, r)
	}
	return c
}

// pagePermits reports whether the page permits a usage, or the usage on which it is based, to the
// crawler by name.
func (f *someFile) pagePermits(u Usage) bool {
	for i, s := range f.tags {
		if s.allow && f.tagged[i] != "robots" && (s.usage == u || s.usage == Present && u.kind().derived()) {
			return true
		}
	}
	return false
}

// monotone tests that an additional restriction permits nothing new. The restriction is a
// prohibition that addresses the crawler, or a valid qualifier of a type that the permission does
// not have yet.
func monotone(t *testing.T, bytes []byte) {
	c := &choices{bytes}
	who := Crawler{Names: []string{"searchbot"}, Purposes: pick(c, []string(nil), []string{"news"}, []string{})}
	facts := Facts{Now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), FirstIndexed: time.Date(2026, 1, 3, 0, 0, 0, 0,
		time.UTC),
		Recrawled: c.next(2) == 1, Target: Target{IP: netip.MustParseAddr("192.0.2.1"), Country: pick(c, "BE", "FR",
			"")}}
	before := newFile(c)
	after, what, added, named := before.clone(), "", statementText{}, false
	switch c.next(4) {
	case 0: // add a prohibition in a record of its own
		r := someRecord{names: pick(c, "*", "searchbot")}
		added, named = statementText{usage: pick(c, usageNames[:]...), pattern: pick(c, somePatterns...)},
			r.names != "*"
		r.fields = []statementText{added}
		after.records = append(after.records, r)
		what = r.names + " " + added.field()
	case 1: // add a prohibition in META
		added = statementText{usage: pick(c, usageNames[:]...)}
		after.tags, after.tagged = append(after.tags, added), append(after.tagged, pick(c, "robots", "searchbot"))
		what, named = "META "+added.tag("").Content, after.tagged[len(after.tagged)-1] != "robots"
	case 2: // add a qualifier in robots.txt
		r := &after.records[c.next(len(after.records))]
		if len(r.fields) == 0 {
			return
		}
		s := &r.fields[c.next(len(r.fields))]
		s.qualifiers = append([]string(nil), s.qualifiers...)
		if !s.allow || !s.qualify(c, Robots) {
			return
		}
		what = "qualified: " + s.field()
	default: // add a qualifier in META
		if len(after.tags) == 0 {
			return
		}
		s := &after.tags[c.next(len(after.tags))]
		s.qualifiers = append([]string(nil), s.qualifiers...)
		if !s.allow || !s.qualify(c, Meta) {
			return
		}
		what = "qualified META: " + s.tag("").Content
	}
	origin, changed := policyOf(who, before.robots()), policyOf(who, after.robots())
	for _, path := range []string{"/", "/a/", "/a/b", "/a/b.x", "/b"} {
		u := &url.URL{Scheme: "http", Host: "example.com", Path: path}
		r, own := NewResource(u), before.own()
		own.URL = u.String()
		p := origin.Narrow(own)
		own = after.own()
		own.URL = u.String()
		q := changed.Narrow(own)
		for _, usage := range usageNames {
			if k := usage.kind(); k.derived() && named && added.usage == Present {
				// P1 2.2.1 (C02) with P1 2.5.5 (F17): a prohibition of "present" for a named
				// crawler replaces prohibitions for any crawler, even if the patterns of those are
				// narrower
				continue
			}
			if named && len(after.records) > len(before.records) && before.pagePermits(usage) {
				// P1 2.2.1 (C02) with P2 2.2.8 (N02): a prohibition for a named crawler also
				// replaces a prohibition for any crawler with a purpose; the page's permission for
				// the named crawler might lose against the replaced prohibition
				continue
			}
			was, is := p.Decide(usage, r).At(facts), q.Decide(usage, r).At(facts)
			if !was.Allowed && is.Allowed {
				t.Fatalf("%s permits %s of %s:\n%s%v\nbefore: %s\nafter: %s", what, usage, path, before.robots(),
					before.own().Tags[1:], was.Why(), is.Why())
			}
		}
	}
}

// TestMonotone runs the test of FuzzMonotone on bytes from a random generator with a fixed seed.
func TestMonotone(t *testing.T) {
	for _, row := range qualifierTable {
		for _, value := range qualifiersOf[row.name] {
			for _, u := range usageNames {
				s := statementText{usage: u, pattern: "/", allow: true, qualifiers: []string{row.name + "=" + value}}
				p := policyOf(searchbot, "ACAP-version: 1.1\nACAP-crawler: *\n"+s.field())
				if row.usage.has(u.kind()) && p.Decide(u, NewResource(nil)).Reason == ByFallback {
					t.Fatalf("%s is no valid statement", s.field())
				}
			}
		}
	}
	rnd := rand.NewChaCha8([32]byte{1})
	bytes := make([]byte, 120)
	for range 3_000 {
		rnd.Read(bytes)
		monotone(t, bytes)
	}
}

func FuzzMonotone(f *testing.F) {
	f.Add([]byte("a further prohibition, or a qualifier more, frees nothing"))
	f.Add([]byte{1, 1, 0, 2, 3, 0, 4, 1, 2, 2, 1, 0, 3, 1, 1, 2, 2, 0, 1, 1, 1, 0, 4, 3, 2, 1})
	f.Fuzz(monotone)
}
