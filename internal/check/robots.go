package check

import (
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// Options holds the conditions of a check.
type Options struct {
	Now   time.Time // the time with which dates are compared
	Pilot bool      // accept the forms of the pilot of 2007 (PILOT 1.3.1, N10, N18)

	Vocabularies []acap.Vocabulary // the newer vocabularies whose statements are checked
}

// somewhere is the URL of a robots.txt whose address is unknown. The host does not exist (RFC
// 2606).
const somewhere = "http://robots.invalid/robots.txt"

// Limits on the number of crawlers for which a policy is checked: if all are checked together, and
// if each is checked separately.
const (
	maxTogether = 300
	maxApart    = 20
)

// Parse parses a robots.txt in the same way as Report.Robots. If name is not an absolute URL, the
// site is unknown.
func Parse(name string, src []byte) *acap.File {
	if u, err := url.Parse(name); err != nil || u.Host == "" {
		name = somewhere
	}
	return acap.Parse(name, src)
}

// siteOf returns the root of the site of a robots.txt, or nil if it is unknown.
func siteOf(f *acap.File) *url.URL {
	if f.URL == somewhere {
		return nil
	}
	return f.Root()
}

// Everyone returns a crawler that every record of f addresses, so that no statement is overlooked.
func Everyone(f *acap.File, o Options) acap.Crawler {
	names := f.Crawlers()
	return acap.Crawler{Names: names[:min(len(names), maxTogether)], Pilot: o.Pilot}
}

// Robots checks a robots.txt and the files to which it refers. name identifies the robots.txt in
// findings. refs are the references that apply to Everyone, with their files. If a reference has
// neither File nor Err, or is missing, its file is not checked, and a note says so. Robots returns
// the parsed robots.txt.
func (r *Report) Robots(name string, src []byte, o Options, refs ...acap.Reference) *acap.File {
	f := Parse(name, src)
	refs = r.withFiles(name, f, o, refs)
	var own *linter
	var linting sync.WaitGroup
	// the linter takes at least as long as the findings of package acap, so both run at the same
	// time
	linting.Go(func() { own = lint(f, o) })
	found := findings(f, o, refs)
	linting.Wait()
	found = append(found, own.independentOf(found)...)
	found = append(found, preference.CheckRobots(f, siteOf(f), o.Vocabularies)...)
	r.Add(Text{Name: name, Kind: RobotsKind, Lines: f.Lines(), Source: src}, about(found, f.URL, name)...)
	for _, ref := range refs {
		if ref.File != nil && ref.File.URL != "" && !r.has(ref.File.URL) {
			r.referred(ref.File, found, o)
		}
	}
	if n := len(f.Crawlers()); n > maxTogether {
		r.note("%s names %d crawlers: references and requests were followed for the first %d", name, n, maxTogether)
	}
	return f
}

// Referred checks the target of a permissions reference without the robots.txt that refers to it.
func (r *Report) Referred(name string, src []byte, o Options) *acap.File {
	f, found := referredAlone(name, src, o)
	r.referred(f, found, o)
	r.Texts[len(r.Texts)-1].Source = src
	return f
}

// referredAlone returns the findings about a file as if a record for any crawler referred to it.
func referredAlone(name string, src []byte, o Options) (*acap.File, []acap.Finding) {
	f := acap.Parse(somewhere, []byte("ACAP-crawler: *\nACAP-permissions-reference: /reference\n"))
	refs := f.References(acap.Crawler{})
	refs[0].File = acap.ParseReferred(name, src)
	return refs[0].File, about(findings(f, o, refs), name, name)
}

func (r *Report) referred(f *acap.File, found []acap.Finding, o Options) {
	found = append(about(found, f.URL, f.URL), lint(f, o).independentOf(found)...)
	found = append(found, preference.CheckReferred(f, o.Vocabularies)...)
	r.Add(Text{Name: f.URL, Kind: ReferenceKind, Lines: f.Lines()}, found...)
}

func (r *Report) has(name string) bool {
	return slices.ContainsFunc(r.Texts, func(t Text) bool { return t.Name == name })
}

// withFiles returns the references of f with their files. A reference whose file is unknown gets an
// empty file.
func (r *Report) withFiles(name string, f *acap.File, o Options, known []acap.Reference) []acap.Reference {
	refs := f.References(Everyone(f, o))
	for i := range refs {
		ref := &refs[i]
		for _, k := range known {
			if k.Field != nil && k.Field.Line == ref.Field.Line && ref.Err == nil {
				ref.Final, ref.File, ref.Err = k.Final, k.File, k.Err
			}
		}
		if ref.File == nil && ref.Err == nil {
			ref.File = acap.ParseReferred("", nil)
			r.note("%s:%d: what the reference leads to was not checked", name, ref.Field.Line)
		}
	}
	return refs
}

// findings returns the findings about f and the files to which it refers. P1 2.6.2 (P08): a
// re-crawl is refused to crawlers that may not crawl, so if there are re-crawl requests, each
// crawler is checked separately.
func findings(f *acap.File, o Options, refs []acap.Reference) []acap.Finding {
	all := Everyone(f, o)
	p := f.Policy(all, refs...)
	found := slices.Clone(p.Findings())
	if !slices.ContainsFunc(p.Actions(), func(a acap.Action) bool { return a.Action == acap.ReCrawl }) {
		return found
	}
	askers := []acap.Crawler{{Pilot: o.Pilot}}
	for _, name := range all.Names[:min(len(all.Names), maxApart)] {
		askers = append(askers, acap.Crawler{Names: []string{name}, Pilot: o.Pilot})
	}
	for _, c := range askers {
		found = append(found, f.Policy(c, refs...).Findings()...)
	}
	return found
}

// about replaces url in findings by the name of its text.
func about(found []acap.Finding, url, name string) []acap.Finding {
	var out []acap.Finding
	for _, f := range found {
		if f.URL == url {
			f.URL = name
			out = append(out, f)
		}
	}
	return out
}
