package check

import (
	"context"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
	"github.com/acapcrawl/acapcrawl/page"
)

// maxDocuments is how many licence documents of one robots.txt are read.
const maxDocuments = 32

// readPreferences reads and checks the files in which the site states preferences: tdmrep.json, and
// the licence documents that robots.txt names to any crawler. The error is that of ctx.
func (s *Surface) readPreferences(ctx context.Context) error {
	if len(s.o.Vocabularies) == 0 || s.Origin.Robots == nil {
		return nil
	}
	for _, ref := range s.Origin.References {
		if ref.Vocabulary != "" && preference.Reads(s.o.Vocabularies, ref.Vocabulary) {
			s.files = append(s.files, ref)
		}
	}
	lines := preference.LicenceLines(s.Origin.Robots)
	if preference.Reads(s.o.Vocabularies, rslName) {
		if err := s.readLicences(ctx, lines); err != nil {
			return err
		}
	}
	for i := range s.files {
		if f := &s.files[i]; f.Vocabulary == tdmrepName {
			s.checkTDMRep(f)
		} else if f.Vocabulary == rslName {
			s.checkLicence(f, lines)
		}
	}
	s.opposed.site(s.Origin.Robots, s.o, slices.Concat(s.references, s.files)).report(s.report, nil)
	return nil
}

// readLicences reads the documents of License lines for other crawlers.
func (s *Surface) readLicences(ctx context.Context, lines []acap.Line) error {
	var list []acap.Licence
	for _, l := range lines {
		address, err := acap.LicenceURL(l.Value, s.Origin.Robots.Root())
		if err != nil || s.file(address) != nil ||
			slices.ContainsFunc(list, func(l acap.Licence) bool { return l.URL == address }) {
			continue
		}
		if len(list) == maxDocuments {
			s.report.note("%s names many licence documents: only the first %d were checked", s.Origin.Robots.URL,
				maxDocuments)
			break
		}
		list = append(list, acap.Licence{URL: address})
	}
	list, err := s.site.Policies.Licences(ctx, list)
	for _, l := range list {
		ref := acap.Reference{URL: l.URL, Final: l.Final, Vocabulary: rslName, Text: l.Text}
		if l.Err != "" {
			ref.Err = notRead(l.Err)
		}
		s.files = append(s.files, ref)
	}
	return err
}

// notRead is the reason why a document could not be read.
type notRead string

func (n notRead) Error() string { return string(n) }

// file returns the file of a vocabulary at an address, or nil if it was not requested.
func (s *Surface) file(address string) *acap.Reference {
	i := slices.IndexFunc(s.files, func(f acap.Reference) bool { return f.URL == address })
	if i < 0 {
		return nil
	}
	return &s.files[i]
}

// checkTDMRep checks the tdmrep.json of the site. A site without it does not use it.
func (s *Surface) checkTDMRep(f *acap.Reference) {
	switch {
	case f.Err == nil:
		s.report.TDMRep(f.URL, f.Text, s.o)
	case s.site.Answers.Of(f.URL, f.Final).Status/100 != 4:
		s.report.note("%s: not checked: %v", f.URL, f.Err)
	}
}

// checkLicence checks a licence document of the site, and reports at the lines that name it if it
// cannot be read.
func (s *Surface) checkLicence(f *acap.Reference, lines []acap.Line) {
	err := f.Err
	if err == nil && f.Final != "" {
		_, err = acap.LicenceURL(f.Final, s.Origin.Robots.Root())
	}
	if err == nil && !s.report.has(f.URL) {
		s.report.Licence(preference.LicenceText{Name: f.URL, Text: f.Text, Line: 1, Column: 1,
			Naming: preference.BySite, Root: s.Origin.Robots.Root()}, s.o)
	}
	if err == nil && slices.ContainsFunc(s.report.About(f.URL),
		func(f acap.Finding) bool { return f.Severity == acap.Error }) {
		err = notRead("the document has errors")
	}
	if err == nil {
		return
	}
	for _, l := range lines {
		if address, _ := acap.LicenceURL(l.Value, s.Origin.Robots.Root()); address == f.URL {
			preference.ReportUnreadable(l.Field, err,
				func(f *acap.Field, code string, severity acap.Severity, hint, message string) {
					s.tell(f, l.Value, code, severity, hint, "%s", message)
				})
		}
	}
}

// readPageLicences requests the licence documents that a page names and that the site has not named
// yet. The error is that of ctx.
func (s *Surface) readPageLicences(ctx context.Context, pg *page.Page) error {
	list := slices.Clone(pg.Own().Licences)
	if len(list) == 0 || !preference.Reads(s.o.Vocabularies, rslName) {
		return nil
	}
	var missing []acap.Licence
	for i := range list {
		l := &list[i]
		if f := s.file(l.URL); l.URL != "" && f != nil {
			if l.Final, l.Text, l.Err = f.Final, f.Text, ""; f.Err != nil {
				l.Err = f.Err.Error()
			}
		} else {
			missing = append(missing, *l)
		}
	}
	missing, err := s.site.Policies.Licences(ctx, missing)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].URL != "" && s.file(list[i].URL) == nil {
			at := slices.IndexFunc(missing, func(l acap.Licence) bool { return l.URL == list[i].URL })
			l := missing[at]
			list[i].Final, list[i].Text, list[i].Err = l.Final, l.Text, l.Err
		}
	}
	pg.SetLicences(list)
	return nil
}

// checkPageLicences checks the licence documents that a page names.
func (s *Surface) checkPageLicences(pg *page.Page) {
	if !preference.Reads(s.o.Vocabularies, rslName) {
		return
	}
	for _, l := range pg.Own().Licences {
		if l.URL != "" && l.Err == "" && !s.report.has(l.URL) {
			s.report.Licence(preference.LicenceText{Name: l.URL, Text: l.Text, Line: 1, Column: 1,
				Naming: preference.ByPage, Root: pg.URL()}, s.o)
		}
	}
}

// pageContradictions reports vocabularies that contradict each other about a page, if its own
// statements take part. robots is the robots.txt of its origin, with the files to which it refers.
func (s *Surface) pageContradictions(pg *page.Page, robots *acap.File, refs []acap.Reference) {
	if len(s.o.Vocabularies) == 0 {
		return
	}
	refs = new(Report).withFiles("", robots, s.o, refs)
	if s.Origin.Robots != nil && robots.URL == s.Origin.Robots.URL {
		refs = append(refs, s.files...)
	}
	s.opposed.compare(robots.Policy(acap.Crawler{Vocabularies: s.o.Vocabularies}, refs...).Narrow(pg.Own()), pg.URL())
	s.opposed.report(s.report, nil)
}
