package check

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// Limits on the work to find contradictions between vocabularies.
const (
	maxAsked    = 8  // crawlers for which verdicts are compared
	maxPatterns = 60 // patterns for whose resources verdicts are compared
)

// LocalSite is a site whose files are checked one by one.
type LocalSite struct {
	Robots     *acap.File       // nil if there is none
	References []acap.Reference // the files to which robots.txt refers

	files []acap.Reference  // the files of vocabularies
	names map[string]string // the names of files in findings, by address
}

// NewLocalSite returns the site of a robots.txt, which findings mention under the given name.
func NewLocalSite(name string, robots *acap.File, refs []acap.Reference) *LocalSite {
	return &LocalSite{Robots: robots, References: refs, names: map[string]string{robots.URL: name}}
}

// Add adds a tdmrep.json, or a licence document that a License line of robots.txt names. Other
// files have no effect, and so do documents whose file names robots.txt does not name.
func (s *LocalSite) Add(name string, kind Kind, src []byte) {
	switch {
	case s == nil:
	case kind == RSLKind:
		for _, address := range s.licenceURLs(name) {
			s.add(rslName, address, name, src)
		}
	case kind == TDMRepKind:
		s.add(tdmrepName, s.Robots.Root().JoinPath("/.well-known/tdmrep.json"), name, src)
	}
}

// Naming returns how the licence document with the given file name is named.
func (s *LocalSite) Naming(name string) preference.Naming {
	if s != nil && len(s.licenceURLs(name)) > 0 {
		return preference.BySite
	}
	return preference.Unnamed
}

// licenceURLs returns the addresses in License lines that end with the given file name.
func (s *LocalSite) licenceURLs(name string) (list []*url.URL) {
	for _, l := range preference.LicenceLines(s.Robots) {
		if u, err := url.Parse(l.Value); err == nil && strings.HasSuffix(u.Path, "/"+filepath.Base(name)) {
			list = append(list, u)
		}
	}
	return list
}

func (s *LocalSite) add(vocabulary string, at *url.URL, name string, src []byte) {
	at.Fragment = ""
	if _, known := s.names[at.String()]; known || len(s.files) >= maxDocuments {
		return
	}
	s.files = append(s.files, acap.Reference{URL: at.String(), Vocabulary: vocabulary, Text: src})
	s.names[at.String()] = name
}

// Contradictions adds findings about statements of a site that contradict each other in two
// vocabularies. The checked files of the site must be in the report.
func (r *Report) Contradictions(s *LocalSite, o Options) {
	if s != nil {
		new(opposed).site(s.Robots, o, slices.Concat(s.References, s.files)).report(r, s.names)
		r.arrange()
	}
}

// opposed collects statements that permit a usage and are without effect, because another
// vocabulary prohibits the usage or demands an agreement for the same resource and crawler.
type opposed struct {
	list     []opposition
	reported int // how many of the list are reported
}

// opposition is a statement that permits usages, and one of another vocabulary that does not.
type opposition struct {
	permits, other acap.Said
	usages         []acap.Usage
	path           string // an example of the resources
}

// site compares the statements of a site. refs are the files to which robots.txt refers, and the
// files of vocabularies. It compares examples of resources, so it may overlook a contradiction.
func (found *opposed) site(f *acap.File, o Options, refs []acap.Reference) *opposed {
	if len(o.Vocabularies) == 0 {
		return found
	}
	var files []acap.Reference
	for _, ref := range refs {
		if ref.Vocabulary != "" {
			files = append(files, ref)
		}
	}
	root := f.Root()
	if root == nil {
		root = &url.URL{Scheme: "http", Host: "robots.invalid", Path: "/"}
	}
	paths := []string{"/"}
	for _, p := range preference.Patterns(f, files, maxPatterns) {
		if example := plainest(p); !slices.Contains(paths, example) {
			paths = append(paths, example)
		}
	}
	for _, c := range preferring(f, o) {
		p := f.Policy(c, append(new(Report).withFiles("", f, o, refs), files...)...)
		for _, path := range paths {
			if u, err := root.Parse(path); err == nil {
				found.compare(p, u)
			}
		}
	}
	return found
}

// preferring returns a crawler that no group names, and crawlers that have preferences of their
// own.
func preferring(f *acap.File, o Options) []acap.Crawler {
	list := []acap.Crawler{{Vocabularies: o.Vocabularies}}
	for _, name := range preference.Crawlers(f) {
		if len(list) == maxAsked {
			break
		}
		list = append(list, acap.Crawler{Names: []string{name}, Vocabularies: o.Vocabularies})
	}
	return list
}

// compare compares the opinions of the vocabularies on the resource at u.
func (o *opposed) compare(p *acap.Policy, u *url.URL) {
	at := acap.NewResource(u)
	for _, usage := range append([]acap.Usage{acap.Index}, acap.NewerUsages()...) {
		var strictest acap.Said
		// that a document could not be read contradicts nothing: it has a finding of its own
		opinions := slices.DeleteFunc(p.Opinions(usage, at),
			func(said acap.Said) bool { return said.Because == nil || said.Note == preference.NoteUnread })
		for _, said := range opinions {
			if said.Verdict > strictest.Verdict {
				strictest = said
			}
		}
		if strictest.Verdict < acap.Agreement {
			continue
		}
		for _, said := range opinions {
			if said.Verdict == acap.Permits {
				o.add(opposition{said, strictest, []acap.Usage{usage}, u.RequestURI()})
			}
		}
	}
}

func (o *opposed) add(n opposition) {
	for i := range o.list {
		had := &o.list[i]
		if sameField(had.permits.Because, n.permits.Because) && sameField(had.other.Because, n.other.Because) {
			if !slices.Contains(had.usages, n.usages[0]) {
				had.usages = append(had.usages, n.usages[0])
			}
			return
		}
	}
	if len(o.list) < maxTold {
		o.list = append(o.list, n)
	}
}

// sameField reports whether two fields are the same statement. Policies for different crawlers may
// hold copies of a field.
func sameField(a, b *acap.Field) bool {
	return a.URL == b.URL && a.Line == b.Line && a.Column == b.Column && a.Text == b.Text
}

// report adds the findings that are not reported yet to r, at the statements that permit. names
// holds the names of texts by their addresses; a text without one has its address as its name.
func (o *opposed) report(r *Report, names map[string]string) {
	named := func(f acap.Field) *acap.Field {
		if name, ok := names[f.URL]; ok {
			f.URL = name
		}
		return &f
	}
	for _, n := range o.list[o.reported:] {
		usages := make([]string, len(n.usages))
		for i, u := range n.usages {
			if usages[i] = string(u); u == acap.Index {
				usages[i] = "search"
			}
		}
		severity, verdict := acap.Warning, "prohibits it"
		if n.other.Verdict == acap.Agreement {
			severity, verdict = acap.Notice, "demands an agreement"
		}
		in, line, column, length := r.place(named(*n.permits.Because), "")
		other, otherLine, _, _ := r.place(named(*n.other.Because), "")
		r.also(acap.Finding{Code: "contradictory-vocabularies", Severity: severity, Source: n.permits.Because.Source,
			URL: in, Line: line, Column: column, Length: length, Hint: "say the same in both",
			Message: fmt.Sprintf("%s permits %s of %s, and %s %s (%s:%d): the stricter counts", n.permits.Vocabulary,
				strings.Join(usages, ", "), shortened(n.path), n.other.Vocabulary, verdict, other, otherLine)})
	}
	o.reported = len(o.list)
}
