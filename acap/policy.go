package acap

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Crawler describes a crawler: its user-agent tokens, the purposes for which it collects, and what
// it cannot interpret.
type Crawler struct {
	Names []string // user-agent tokens (P1 2.3.1, C05); the first is sent as User-Agent (RFC 9309, X67)
	// nil: the crawler declares no purposes; empty: the crawler declares that it has no purpose (P1
	// 2.3.3, C15)
	Purposes []string
	// usages, qualifier types or "element-level" that the crawler cannot interpret (P1 2.4.3, P2
	// 2.2.6)
	Cannot []string
	Strict bool // use the strict variants of the project's readings of ACAP
	Pilot  bool // obey statements in pages in the forms of the pilot of 2007, too (P2 2.2.5, N10; PILOT 1.3.1, N18)

	SubTakeDowns bool // execute take-downs in sub-records (P1 2.3, C13)

	// vocabularies that the crawler obeys in addition to ACAP, RFC 9309 and conventional tags; policy.Vocabularies
	// returns those that came after ACAP
	Vocabularies []Vocabulary

	// newer usages for which the crawler collects pages: a page on which one of them is not allowed is
	// neither preserved, indexed nor presented
	For []Usage
}

// Reference is a file that a policy needs in addition to robots.txt, together with its content or
// the error from reading it. It is the target of a permissions reference (P1 2.3.2), or a file that
// a vocabulary needs.
type Reference struct {
	Field *Field // the permissions reference; nil for a file that a vocabulary needs
	URL   string // the absolute URL of the file
	Final string // the URL after redirects, if it differs from URL
	File  *File  // the parsed target of a permissions reference; nil if the file could not be read
	Err   error  // the reason why the file could not be read; nil if it was read

	Vocabulary string // the name of the vocabulary that needs the file; "" for a permissions reference
	Asked      bool   // the file is read only if the site permits crawling it
	Text       []byte // the content of a file that a vocabulary needs
}

// Policy holds the statements of an origin that address one crawler. A Policy that Narrow returns
// also holds the statements of one page. It is immutable and safe for concurrent use. A nil Policy
// refuses everything.
type Policy struct {
	crawler Crawler
	file    *File     // source of definitions for page statements (P2 3, X18); nil if robots.txt could not be read
	origin  *url.URL  // the origin of the resources on which the policy decides
	refusal *Decision // set if everything is refused because robots.txt or a reference could not be read
	// by holds the statements of each usage type, compared with patterns as written. Broader scopes
	// come before narrower ones; statements that cover everything come last.
	by       [kinds][]*statement
	rooted   [kinds][]*statement // the statements of by, sorted by their rooted patterns (P1 2.4.6, F03)
	found    [kinds]*lookup      // lookups for the patterns of by; nil for a usage with few patterns
	foundToo [kinds]*lookup      // lookups for the patterns of rooted; nil for a usage with few patterns
	// prohibitions that replace permissions of "other"; they prohibit no listed usage (P1 2.4.3,
	// L05)
	beyond      []*statement
	delay       time.Duration
	sitemaps    []string
	actions     []Action
	barred      map[string]*Field // the fields of the take-downs to execute, by URL
	findings    []Finding
	preferences []Preferences   // the preferences in each vocabulary; nil if there are none in any vocabulary
	earlier     []Preferences   // like preferences, at the time when a held resource was fetched; see Since
	preferred   kindSet         // the usages about which preferences say something
	own         *own            // the statements of the page; nil before Narrow
	spoken      map[string]bool // the tokens of marks that make a statement for any purpose
	byPurpose   []*Policy       // one policy for each declared purpose, if there are several (P1 2.3.3, C16)
	purposes    []string
	// the policy narrowed to the page as sent, and to the page after its scripts ran; both must
	// permit. nil if the scripts changed no statement
	stages     []*Policy
	recorder   *recorder // set by Trace in its copy of a policy; otherwise nil
	statements int       // number of statements so far, including those for other crawlers
}

// Unreachable returns the policy of an origin whose robots.txt could not be read. It refuses
// everything (RFC 9309 2.3.1.4).
func Unreachable(url, why string) *Policy {
	return &Policy{refusal: &Decision{Reason: Unavailable, Note: "robots.txt could not be read: " + why}}
}

// References returns the files that the policy for the crawler c needs, with absolute URLs. First
// come the targets of permissions references in the order of lines (P1 2.3.2), then the files that
// vocabularies need. References of a file to itself are left out (P1 2.3.2, D01, X65). If Err of a
// Reference is set, its file cannot be fetched.
func (f *File) References(c Crawler) []Reference {
	var refs []Reference
	f.eachReference(&c, func(ref Reference, _ bool) { refs = append(refs, ref) })
	s := &Site{Root: rootOf(f.base), file: f, crawler: &c, reporter: &reporter{muted: true}}
	for _, v := range c.vocabularies() {
		for _, needed := range v.Files(s) {
			refs = append(refs, Reference{URL: needed.URL, Vocabulary: v.Name(), Asked: needed.Asked})
		}
	}
	return refs
}

// eachReference calls visit for each permissions reference that addresses the crawler c. If void is
// true, no permission in the referred file has effect, because the reference is not the first of
// its record (P1 2.3.2, D08), or because all crawler names of the record are empty (P1 3, A15).
func (f *File) eachReference(c *Crawler, visit func(ref Reference, void bool)) {
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

// resolve returns the URL for a locator. A locator is a URI, or relative to the root of the site
// (P1 2.3.2, A12, D08).
func (f *File) resolve(locator string) (*url.URL, error) {
	u, err := url.Parse(locator)
	if err != nil || locator == "" || f.base == nil {
		return nil, fmt.Errorf("%q does not name a file", locator)
	}
	root := *f.base
	root.Path, root.RawPath, root.RawQuery = "/", "", ""
	u = resolveAt(&root, u)
	u.Fragment = ""
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not a URI of the http or https scheme", locator)
	}
	return u, nil
}

// resolveAt resolves u at the root URL of a site (RFC 3986 5.2). net/url would read "/..//" as "/",
// another page than "//".
func resolveAt(root, u *url.URL) *url.URL {
	if u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/") {
		return root.ResolveReference(u)
	}
	path := removeDots(u.EscapedPath())
	plain, err := url.PathUnescape(path)
	if err != nil {
		return root.ResolveReference(u)
	}
	at := *root
	at.Path, at.RawPath, at.RawQuery, at.ForceQuery = plain, "", u.RawQuery, u.ForceQuery
	if at.EscapedPath() != path {
		at.RawPath = path
	}
	return &at
}

// reaches reports whether a record addresses the crawler c, and whether it does so by name (P1
// 2.3.1, C05, C06).
func (r *record) reaches(c *Crawler) (reaches, named bool) {
	for _, n := range r.names {
		if c.addresses(n) {
			return true, true
		}
	}
	return r.any || r.nobody, false
}

// Policy returns the policy of the file for the crawler c. refs holds the files that References
// returned, with their content. If the target of a permissions reference is missing or could not be
// read, everything is prohibited (P1 2.3.2, D07).
func (f *File) Policy(c Crawler, refs ...Reference) *Policy {
	p := f.common(c, refs)
	var told reporter
	p.refuseUncrawled(&told)
	p.findings = append(p.findings[:len(p.findings):len(p.findings)], told.findings...)
	p.barred = barred(p.actions)
	return p
}

// common returns the joint policy for all purposes of the crawler c.
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
	f.eachReference(&p.crawler, func(want Reference, void bool) {
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
		// P1 2.3.2 (D06): the conventional groups of a referred file are obeyed; its directive to
		// ignore conventional groups applies only to the file itself
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
	// P1 2.10.1 (O09): ACAP-ignore-conventional-records disables only Allow and Disallow; sitemaps
	// and the Crawl-delay remain in force
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
	// P1 2.3.2 (D07): a referred file that cannot be read prohibits everything to the crawlers that
	// its record addresses
	if p.refusal == nil {
		p.refusal = &Decision{Reason: Unavailable, Because: r.Field, Note: note}
	}
	tell.report(r.Field, "unavailable-reference", Error, "make the file readable",
		"%s: everything is prohibited until it can be read", note)
}

// CrawlDelay returns the Crawl-delay of the conventional group that applies to the crawler. It is
// in force even with ACAP-ignore-conventional-records (P1 2.10.1, O09).
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
// in the order of execution. It includes refused requests, with Execute false (P1 2.6, X31).
func (p *Policy) Actions() []Action {
	if p == nil {
		return nil
	}
	return p.actions
}

// Findings returns the findings about robots.txt, its references and the page.
func (p *Policy) Findings() []Finding {
	if p == nil {
		return nil
	}
	return p.findings
}

// File returns the robots.txt from which the policy was made. It returns nil if robots.txt could
// not be read.
func (p *Policy) File() *File {
	if p == nil {
		return nil
	}
	return p.file
}

// ByPurpose returns the policy for each purpose if the crawler declares several purposes, otherwise
// nil (P1 2.3.3, C16).
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
