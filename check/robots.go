package check

import (
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Options say under which circumstances texts are checked.
type Options struct {
	Now   time.Time // for dates that have passed
	Pilot bool      // the forms of the pilot of 2007 are meant (N10, N18)
}

// somewhere is the address of a robots.txt whose own is not known; there is no such host (RFC 2606).
const somewhere = "http://robots.invalid/robots.txt"

// Bounds on the crawlers that a policy is asked for, in one question and in one each.
const (
	maxTogether = 300
	maxApart    = 20
)

// Parse reads a robots.txt as Robots does. Where name is no absolute URL, the file is taken for one of a site that is not known.
func Parse(name string, src []byte) *acap.File {
	if u, err := url.Parse(name); err != nil || u.Host == "" {
		name = somewhere
	}
	return acap.Parse(name, src)
}

// Everyone is a crawler that every record of f reaches, so that nothing that is said to some crawlers alone is overlooked.
func Everyone(f *acap.File, o Options) acap.Crawler {
	names := f.Crawlers()
	return acap.Crawler{Names: names[:min(len(names), maxTogether)], Pilot: o.Pilot}
}

// Robots checks a robots.txt. name is what findings call it; refs are what the references that reach Everyone led to. Where one has neither
// File nor Err, or is missing, what it leads to is left open, and a note says so. Files that were read are checked too. It returns the file
// for further questions.
func (r *Report) Robots(name string, src []byte, o Options, refs ...acap.Reference) *acap.File {
	f := Parse(name, src)
	refs = r.settled(name, f, o, refs)
	var own *linter
	var linting sync.WaitGroup
	linting.Go(func() { own = lint(f, o) }) // takes as long as what the engine tells, or longer
	found := findings(f, o, refs)
	linting.Wait()
	found = append(found, own.beside(found)...)
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

// Referred checks a file that a permissions reference may name, without the robots.txt that does.
func (r *Report) Referred(name string, src []byte, o Options) *acap.File {
	f, found := referredAlone(name, src, o)
	r.referred(f, found, o)
	r.Texts[len(r.Texts)-1].Source = src
	return f
}

// referredAlone gives the findings about a file that a reference in a record of any crawler leads to.
func referredAlone(name string, src []byte, o Options) (*acap.File, []acap.Finding) {
	f := acap.Parse(somewhere, []byte("ACAP-crawler: *\nACAP-permissions-reference: /reference\n"))
	refs := f.References(acap.Crawler{})
	refs[0].File = acap.ParseReferred(name, src)
	return refs[0].File, about(findings(f, o, refs), name, name)
}

func (r *Report) referred(f *acap.File, found []acap.Finding, o Options) {
	found = append(about(found, f.URL, f.URL), lint(f, o).beside(found)...)
	r.Add(Text{Name: f.URL, Kind: ReferenceKind, Lines: f.Lines()}, found...)
}

func (r *Report) has(name string) bool {
	return slices.ContainsFunc(r.Texts, func(t Text) bool { return t.Name == name })
}

// settled gives each reference of f its result. What is not known says nothing.
func (r *Report) settled(name string, f *acap.File, o Options, known []acap.Reference) []acap.Reference {
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

// findings are those of f and of the files it refers to. Whether a re-crawl is refused depends on who may crawl (P08): where one is
// requested, crawlers are asked for one by one too.
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

// about gives the findings about the document at url the name of its text.
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
