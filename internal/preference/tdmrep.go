package preference

import (
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// tdmrep is the vocabulary of the TDM Reservation Protocol (W3C Community Group report of 10 May
// 2024): the file /.well-known/tdmrep.json, headers and META tags.
type tdmrep struct {
	tdmOnly bool // a reservation does not cover train-ai, ai-use and ai-index
}

const (
	tdmPath        = "/.well-known/tdmrep.json"
	tdmReservation = "tdm-reservation"
	tdmPolicy      = "tdm-policy"
)

// Name implements acap.Vocabulary.
func (tdmrep) Name() string { return "tdmrep" }

// Key implements acap.Vocabulary.
func (v tdmrep) Key() string {
	if v.tdmOnly {
		return v.Name() + " for tdm only"
	}
	return v.Name()
}

// Files names the file of the origin, which is read only if robots.txt permits it.
func (tdmrep) Files(s *acap.Site) []acap.Needed {
	if s.Root == nil {
		return nil
	}
	return []acap.Needed{{URL: s.Root.JoinPath(tdmPath).String(), Asked: true}}
}

// reservation is what one source says: whether text and data mining is reserved, and where the
// terms are. The zero value says nothing.
type reservation struct {
	reserved    bool
	because     *acap.Field // the field that says whether it is reserved; nil if the source does not say it
	policy      string      // absolute URL; "" if the source names none
	contradicts bool        // the source says both 0 and 1; 1 counts
}

// set stores a value of tdm-reservation. Within one source, 1 counts more than 0. It reports
// whether the value is valid.
func (r *reservation) set(value string, f *acap.Field) bool {
	valid := false
	for part := range strings.SplitSeq(value, ",") { // header lines may have been joined
		if part = strings.TrimSpace(part); part == "0" || part == "1" {
			valid = true
			r.setOne(part == "1", f)
		}
	}
	return valid
}

// setOne stores whether the source reserves text and data mining.
func (r *reservation) setOne(reserved bool, f *acap.Field) {
	r.contradicts = r.contradicts || r.because != nil && r.reserved != reserved
	if r.because == nil || reserved && !r.reserved {
		r.reserved, r.because = reserved, f
	}
}

// replace returns r with what the later source o says. Absence replaces nothing.
func (r reservation) replace(o reservation) reservation {
	if o.because != nil {
		r.reserved, r.because = o.reserved, o.because
	}
	if o.policy != "" {
		r.policy = o.policy
	}
	return r
}

// tdmFile is the content of a tdmrep.json.
type tdmFile struct {
	tdmrep
	paths   *acap.Paths
	entries []reservation
}

// Site reads tdmrep.json. A file that cannot be read says nothing.
func (v tdmrep) Site(s *acap.Site) acap.Preferences {
	for _, f := range s.Files {
		if f.Vocabulary != v.Name() || f.Err != nil {
			continue
		}
		patterns, entries := newTDMReader(f.URL, f.Text, s.Report).read()
		if len(entries) > 0 {
			return &tdmFile{tdmrep: v, paths: acap.NewPaths(patterns), entries: entries}
		}
	}
	return nil
}

// Usages implements acap.Preferences.
func (v tdmrep) Usages() []acap.Usage {
	if v.tdmOnly {
		return []acap.Usage{acap.TDM}
	}
	return acap.NewerUsages()
}

// at returns what the file says of r: the first location that matches counts.
func (t *tdmFile) at(r *acap.Resource) reservation {
	if i := t.paths.First(r); i >= 0 {
		return t.entries[i]
	}
	return reservation{}
}

// Opinion implements acap.Preferences.
func (t *tdmFile) Opinion(u acap.Usage, r acap.Resource) acap.Opinion { return t.opinion(u, t.at(&r)) }

// opinion returns the verdict of a reservation on a usage.
func (v tdmrep) opinion(u acap.Usage, r reservation) acap.Opinion {
	switch {
	case r.because == nil, u != acap.TDM && (v.tdmOnly || !u.Newer()):
		return acap.Opinion{}
	case !r.reserved:
		return verdict(acap.Permits, r.because)
	case r.policy == "":
		return verdict(acap.Prohibits, r.because)
	}
	o := verdict(acap.Agreement, r.because)
	o.Terms = r.policy
	return o
}

// tdmPage holds what a page says, and the file of its site, which may be nil.
type tdmPage struct {
	tdmrep
	site         *tdmFile
	header, meta reservation
}

// Page reads the headers and META tags of a page. They count more than the file, META tags more
// than headers.
func (v tdmrep) Page(p *acap.Page, site acap.Preferences) acap.Preferences {
	page := &tdmPage{tdmrep: v, header: readTags(p, acap.Header), meta: readTags(p, acap.Meta)}
	page.site, _ = site.(*tdmFile)
	if page.header == (reservation{}) && page.meta == (reservation{}) {
		return site
	}
	return page
}

// Opinion implements acap.Preferences.
func (t *tdmPage) Opinion(u acap.Usage, r acap.Resource) acap.Opinion {
	said := reservation{}
	if t.site != nil {
		said = t.site.at(&r)
	}
	return t.opinion(u, said.replace(t.header).replace(t.meta))
}

// readTags reads the headers or META tags of a page.
func readTags(p *acap.Page, source acap.Source) (r reservation) {
	var first, policy *acap.Field
	for i := range p.Tags {
		t := &p.Tags[i]
		if t.Source != source {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(t.Name)) {
		case tdmReservation:
			at := p.Field(t)
			if first == nil {
				first = at
			}
			f := *at
			f.Text = t.Name + ": " + strings.TrimSpace(t.Content)
			if !r.set(t.Content, &f) {
				p.Report(at.At(strings.TrimSpace(t.Content)), "unknown-preference", acap.Warning, "write 0 or 1",
					"the value of tdm-reservation is neither 0 nor 1, so it says nothing")
			}
		case tdmPolicy:
			policy = p.Field(t)
			if r.policy = firstPolicy(r.policy, t.Content, p.URL); r.policy == "" {
				reportPolicy(policy.At(strings.TrimSpace(t.Content)), p.Report)
			}
		}
	}
	switch {
	case r.contradicts:
		p.Report(first, "contradictory-preference", acap.Warning, "keep one of them",
			"tdm-reservation is both 0 and 1: 1 counts")
	case r.policy != "" && r.because != nil && !r.reserved:
		reportIgnoredPolicy(policy, p.Report)
	}
	return r
}

// firstPolicy returns the policy found first: the one in known, or the URL in value, which may be
// relative to base.
func firstPolicy(known, value, base string) string {
	if known != "" || strings.TrimSpace(value) == "" {
		return known
	}
	from, err := url.Parse(base)
	if err != nil {
		return ""
	}
	to, err := from.Parse(strings.TrimSpace(value))
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return ""
	}
	return to.String()
}
