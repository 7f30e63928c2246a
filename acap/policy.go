package acap

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Crawler describes a crawler: its user-agent tokens, the purposes it collects for, and what it
// cannot interpret.
type Crawler struct {
	Names    []string // tokens (P1 2.3.1, C05); the first is the one sent as User-Agent (RFC 9309, X67)
	Purposes []string // nil: undeclared; empty: declares that it has none (P1 2.3.3, C15)
	Cannot   []string // usages, qualifier types or "element-level" that it cannot interpret (P1 2.4.3, P2 2.2.6)
	Strict   bool     // the strict variants named in the readings
	Pilot    bool     // also obeys what pages say in the forms of the pilot of 2007 (P2 2.2.5, N10; PILOT 1.3.1, N18)

	SubTakeDowns bool // executes take-downs that are in a sub-record (P1 2.3, C13)

	Vocabularies []Vocabulary // that it obeys besides ACAP, RFC 9309 and conventional tags
}

// Reference is a file that a policy needs in addition to robots.txt, and what was read of it: the
// target of a permissions reference (P1 2.3.2), or a file that a vocabulary asks for.
type Reference struct {
	Field *Field // the permissions reference; nil for a file of a vocabulary
	URL   string // absolute
	Final string // the URL after redirects, if it differs
	File  *File  // of a permissions reference; nil when it could not be read
	Err   error  // why it could not be read

	Vocabulary string // the name of the vocabulary that asks for the file, else empty
	Text       []byte // of a file of a vocabulary
}

// Policy is what an origin says to one crawler, and after Narrow also one of its pages. It is
// immutable and safe for concurrent use. A nil Policy refuses everything.
type Policy struct {
	crawler Crawler
	file    *File     // definitions for page statements (P2 3, X18); nil when nothing could be read
	origin  *url.URL  // the origin of the resources that it governs
	refusal *Decision // everything is refused: unreadable robots.txt or reference
	// by usage: broader scopes before narrower, as written; those that cover everything last
	by          [kinds][]*statement
	rooted      [kinds][]*statement // the same with rooted patterns (P1 2.4.6, F03)
	found       [kinds]*lookup      // finds the patterns of by, nil for a few
	foundToo    [kinds]*lookup      // finds the patterns of rooted
	beyond      []*statement        // replaced permissions of other: they reach no listed usage (P1 2.4.3, L05)
	delay       time.Duration
	sitemaps    []string
	actions     []Action
	barred      map[string]*Field // the fields of take-downs that are executed, by URL
	findings    []Finding
	preferences []Preferences   // by vocabulary; nil if none says anything
	preferred   kindSet         // the usages that preferences speak of
	own         *own            // the page's own statements, nil before Narrow
	spoken      map[string]bool // tokens of marks that make a statement for any purpose
	byPurpose   []*Policy       // one per declared purpose if there are several (P1 2.3.3, C16)
	purposes    []string
	recorder    *recorder // set by Trace on its copy of a policy; otherwise nil
	statements  int       // how many were expanded so far, whether or not they address the crawler
}

// Unreachable returns the policy of an origin whose robots.txt could not be read. It refuses
// everything (RFC 9309 2.3.1.4).
func Unreachable(url, why string) *Policy {
	return &Policy{refusal: &Decision{Reason: Unavailable, Note: "robots.txt could not be read: " + why}}
}

// References returns the files that the policy for c needs, with absolute URLs: the targets of its
// permissions references in file order (P1 2.3.2), then the files that vocabularies ask for. A
// reference of a file to itself is not among them (P1 2.3.2, D01, X65). One with Err set cannot be
// fetched.
func (f *File) References(c Crawler) []Reference {
	var refs []Reference
	f.references(&c, func(ref Reference, _ bool) { refs = append(refs, ref) })
	s := &Site{Root: rootOf(f.base), file: f, crawler: &c, reporter: &reporter{muted: true}}
	for _, v := range c.vocabularies() {
		for _, address := range v.Files(s) {
			refs = append(refs, Reference{URL: address, Vocabulary: v.Name()})
		}
	}
	return refs
}

// references calls visit for each permissions reference that addresses c. void means that no
// permission in the file counts: the reference is not the first of its record (P1 2.3.2, D08), or
// the record names nobody (P1 3, A15).
func (f *File) references(c *Crawler, visit func(ref Reference, void bool)) {
	for _, r := range f.records {
		if reaches, _ := r.reaches(c); !reaches {
			continue
		}
		void := r.nobody
		for i, field := range r.references {
			ref := Reference{Field: field}
			u, err := f.resolve(r.locators[i])
			switch {
			case err != nil:
				ref.Err = err
			case f.base != nil && u.String() == f.base.String():
				continue
			default:
				ref.URL = u.String()
			}
			visit(ref, void)
			void = true
		}
	}
}

// resolve returns the URL of a locator, which is a URI or relative to the document root (P1 2.3.2,
// A12, D08).
func (f *File) resolve(locator string) (*url.URL, error) {
	u, err := url.Parse(locator)
	if err != nil || locator == "" || f.base == nil {
		return nil, fmt.Errorf("%q does not name a file", locator)
	}
	root := *f.base
	root.Path, root.RawPath, root.RawQuery = "/", "", ""
	u = root.ResolveReference(u)
	u.Fragment = ""
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not a URI of the http or https scheme", locator)
	}
	return u, nil
}

// reaches reports whether a record addresses c, and whether it does so by name (P1 2.3.1, C05,
// C06).
func (r *record) reaches(c *Crawler) (reaches, named bool) {
	for _, n := range r.names {
		if c.addresses(n) {
			return true, true
		}
	}
	return r.any || r.nobody, false
}

// Policy returns what the file says to c. refs are the files that References named. If the target
// of a permissions reference is missing or failed, everything is prohibited (P1 2.3.2, D07).
func (f *File) Policy(c Crawler, refs ...Reference) *Policy {
	p := f.common(c, refs)
	var told reporter
	p.refuseUncrawled(&told)
	p.findings = append(p.findings[:len(p.findings):len(p.findings)], told.findings...)
	p.barred = barred(p.actions)
	return p
}

// common returns the policy for all purposes of c.
func (f *File) common(c Crawler, refs []Reference) *Policy {
	if len(c.Purposes) < 2 {
		return f.policy(c, refs)
	}
	p := &Policy{crawler: c, purposes: c.Purposes}
	for _, name := range c.Purposes {
		one := c
		one.Purposes = []string{name}
		p.byPurpose = append(p.byPurpose, f.policy(one, refs))
	}
	first := p.byPurpose[0]
	p.file, p.origin, p.delay, p.sitemaps, p.actions, p.findings = first.file, first.origin, first.delay,
		first.sitemaps, first.actions, first.findings
	return p
}

func (f *File) policy(c Crawler, refs []Reference) *Policy {
	p := &Policy{crawler: c, file: f, sitemaps: f.Sitemaps}
	p.findings = append(p.findings, f.Findings...)
	p.origin = rootOf(f.base)
	p.admit(f, nil, false)
	groups, polite := f.groups, f.groups
	if f.ignore {
		groups = nil
	}
	var told reporter
	results := make(map[*Field]Reference, len(refs))
	for _, r := range refs {
		results[r.Field] = r
	}
	f.references(&p.crawler, func(want Reference, void bool) {
		got := results[want.Field]
		if want.Err == nil && got.File == nil {
			want.Err = got.Err
			if want.Err == nil {
				want.Err = errors.New("it was not fetched")
			}
		}
		if want.Err != nil {
			p.refuse(want, &told)
			return
		}
		p.admit(got.File, f, void)
		polite = append(polite[:len(polite):len(polite)], got.File.groups...)
		// P1 2.3.2 (D06): its conventional groups count, its ignore directive is local
		if !f.ignore && !got.File.ignore {
			groups = append(groups[:len(groups):len(groups)], got.File.groups...)
		}
	})
	p.arrange()
	s := &Site{Root: p.origin, file: f, crawler: &p.crawler, policy: p, groups: groups, reporter: &told}
	for _, r := range refs {
		if r.Vocabulary != "" {
			s.Files = append(s.Files, r)
		}
	}
	p.readSite(s)
	// P1 2.10.1 (O09): the directive silences Allow and Disallow; sitemaps and the delay stay
	_, p.delay, _ = governing(polite, &p.crawler)
	p.actions = f.requests(&p.crawler, refs, &told)
	p.findings = append(p.findings, told.findings...)
	return p
}

func rootOf(u *url.URL) *url.URL {
	if u == nil {
		return nil
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}
}

func (p *Policy) refuse(r Reference, tell *reporter) {
	note := "the permissions reference could not be followed: " + r.Err.Error()
	// P1 2.3.2 (D07): a referenced file that cannot be read prohibits everything for those referred
	// to it
	if p.refusal == nil {
		p.refusal = &Decision{Reason: Unavailable, Because: r.Field, Note: note}
	}
	tell.report(r.Field, "unavailable-reference", Error, "make the file readable",
		"%s: everything is prohibited until it can be read", note)
}

// CrawlDelay returns the Crawl-delay of the conventional group that governs the crawler. It holds
// even with ACAP-ignore-conventional-records (P1 2.10.1, O09).
func (p *Policy) CrawlDelay() time.Duration {
	if p == nil {
		return 0
	}
	return p.delay
}

// Sitemaps returns the values of the Sitemap lines of robots.txt, as written.
func (p *Policy) Sitemaps() []string {
	if p == nil {
		return nil
	}
	return p.sitemaps
}

// Actions returns the action requests that address the crawler and name a resource of this origin,
// in the order of execution. Refused ones are among them (P1 2.6, X31).
func (p *Policy) Actions() []Action {
	if p == nil {
		return nil
	}
	return p.actions
}

// Findings returns what the authors of robots.txt, its references and the page should know.
func (p *Policy) Findings() []Finding {
	if p == nil {
		return nil
	}
	return p.findings
}

// File returns the robots.txt that the policy was made from, nil if none could be read.
func (p *Policy) File() *File {
	if p == nil {
		return nil
	}
	return p.file
}

// ByPurpose returns the policy for each purpose if several are declared, else nil (P1 2.3.3, C16).
func (p *Policy) ByPurpose() map[string]*Policy {
	if p == nil || p.byPurpose == nil {
		return nil
	}
	m := make(map[string]*Policy, len(p.purposes))
	for i, name := range p.purposes {
		m[name] = p.byPurpose[i]
	}
	return m
}
