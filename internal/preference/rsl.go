package preference

import (
	"errors"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// rsl is the vocabulary Really Simple Licensing 1.0: licence documents that robots.txt, headers and
// pages name.
type rsl struct{ operator }

// Name implements acap.Vocabulary.
func (rsl) Name() string { return "rsl" }

// Key implements acap.Vocabulary.
func (v rsl) Key() string {
	return v.Name() + " for " + v.kind + " in " + v.country
}

// siteLicences are the License lines of a site.
type siteLicences struct{ associated }

// Files names the documents of the License lines that concern the crawler (RSL 4.4).
func (rsl) Files(s *acap.Site) (list []acap.Needed) {
	for _, l := range licenceLines(s) {
		if address, err := acap.LicenceURL(l.Value, s.Root); err == nil {
			list = append(list, acap.Needed{URL: address})
		}
	}
	return list
}

// licenceLines returns the License lines of the groups for the crawler. If there are none, it
// returns those before any group.
func licenceLines(s *acap.Site) []acap.Line {
	ours, before := s.Lines(lineNames()...)
	var list []acap.Line
	for _, lines := range [][]acap.Line{ours, before} {
		for _, l := range lines {
			if l.Name == license {
				list = append(list, l)
			}
		}
		if list != nil {
			return list
		}
	}
	return nil
}

// Site reads the documents of a site. A document that is named but cannot be read needs an
// agreement.
func (v rsl) Site(s *acap.Site) acap.Preferences {
	lines := licenceLines(s)
	if len(lines) == 0 {
		return nil
	}
	p := &siteLicences{associated{operator: v.operator, root: s.Root}}
	for _, l := range lines {
		doc, err := v.document(s, l.Value)
		if err != nil {
			p.addUnread(l.Field, l.Value)
			if !reportAddress(l, s.Root, s.Report) {
				ReportUnreadable(l.Field, err, s.Report)
			}
			continue
		}
		p.add(doc)
	}
	p.arrange()
	return p
}

// reportAddress reports the address in a License line if it is not absolute or not of the https
// scheme. It returns false if the address is right.
func reportAddress(l acap.Line, root *url.URL, report reporting) bool {
	_, err := acap.LicenceURL(l.Value, root)
	if err != nil {
		report(l.Field.At(l.Value), "licence-address", acap.Error, "write an absolute URL of the https scheme",
			unreadable+err.Error())
	}
	return err != nil
}

// ReportUnreadable calls report with the finding that the document named by the field f cannot be
// read because of err.
func ReportUnreadable(f *acap.Field, err error, report func(f *acap.Field, code string, severity acap.Severity,
	hint, message string)) {
	report(f, "unreadable-licence", acap.Error, "name a licence document of RSL 1.0", unreadable+err.Error())
}

// document returns the licence document at the address in value.
func (v rsl) document(s *acap.Site, value string) (*document, error) {
	address, err := acap.LicenceURL(value, s.Root)
	if err != nil {
		return nil, err
	}
	for _, f := range s.Files {
		if f.Vocabulary != v.Name() || f.URL != address {
			continue
		}
		if f.Err != nil {
			return nil, f.Err
		}
		if f.Final != "" {
			if _, err := acap.LicenceURL(f.Final, s.Root); err != nil {
				return nil, err
			}
		}
		return readDocument(address, 1, f.Text)
	}
	return nil, errors.New("it was not read")
}

// Fresh returns how long a document need not be read again: its max-age. A document that cannot be
// read is read again with robots.txt.
func (rsl) Fresh(text []byte) time.Duration {
	doc, err := readDocument("", 1, text)
	if err != nil {
		return 0
	}
	return doc.maxAge
}

// Usages implements acap.Preferences.
func (p *siteLicences) Usages() []acap.Usage { return p.usages() }

// Opinion implements acap.Preferences.
func (p *siteLicences) Opinion(u acap.Usage, r acap.Resource) acap.Opinion { return p.opinion(u, &r) }

// pageLicences are the licences of a site and of one of its pages, or of elements of the page.
type pageLicences struct {
	site  acap.Preferences // may be nil
	page  *associated      // nil if there are none
	parts []*associated    // the document of each element
	asks  *acap.Field      // the header by which the answer asks for a licence; may be nil
}

// Page reads the documents that a page names or contains.
func (v rsl) Page(p *acap.Page, site acap.Preferences) acap.Preferences {
	all := &pageLicences{site: site}
	if asks := headers(p, "WWW-Authenticate"); len(asks) > 0 {
		all.asks = p.Field(asks[0])
	}
	if len(p.Licences) == 0 && all.asks == nil {
		return site
	}
	root, _ := url.Parse(p.URL)
	for i := range p.Licences {
		l := &p.Licences[i]
		a := all.page
		if l.Part || a == nil {
			a = &associated{operator: v.operator, root: root, whole: true}
		}
		if l.Part {
			all.parts = append(all.parts, a)
		} else {
			all.page = a
		}
		f := p.Field(&l.Tag)
		doc, err := pageDocument(l, p.URL, root)
		if err != nil {
			a.addUnread(f, l.URL)
			reportAssociation(l, f, err, p.Report)
			continue
		}
		a.add(doc)
	}
	for _, a := range all.associated() {
		a.arrange()
	}
	return all
}

// associated returns the associations of the page and of its elements.
func (p *pageLicences) associated() []*associated {
	if p.page == nil {
		return p.parts
	}
	return append([]*associated{p.page}, p.parts...)
}

// reportAssociation reports an association of a page with a document that cannot be read.
func reportAssociation(l *acap.Licence, f *acap.Field, err error, report reporting) {
	if l.URL == "" && l.Text == nil && l.Err != acap.TooManyLicences {
		report(f, "licence-address", acap.Error, "write an absolute URL of the https scheme", unreadable+err.Error())
		return
	}
	ReportUnreadable(f, err, report)
}

// unreadable says what follows if a licence document cannot be read; the reason is appended.
const unreadable = "the licence cannot be read, so train-ai, ai-use, ai-index and tdm need an agreement: "

// pageDocument returns the document of an association. A document in a SCRIPT element must have
// exactly one content.
func pageDocument(l *acap.Licence, page string, root *url.URL) (*document, error) {
	switch {
	case l.Err != "":
		return nil, errors.New(l.Err)
	case l.URL != "":
		if l.Final != "" {
			if _, err := acap.LicenceURL(l.Final, root); err != nil {
				return nil, err
			}
		}
		return readDocument(l.URL, 1, l.Text)
	}
	doc, err := readDocument(page, l.Line, l.Text)
	if err == nil && len(doc.contents) != 1 {
		err = errors.New("a document in a page must have exactly one element content")
	}
	return doc, err
}

// Usages implements acap.Preferences.
func (p *pageLicences) Usages() (list []acap.Usage) {
	if p.site != nil {
		list = p.site.Usages()
	}
	for _, a := range p.associated() {
		list = append(list, a.usages()...)
	}
	if p.asks != nil {
		list = append(list, append(acap.Usages(), acap.NewerUsages()...)...)
	}
	return list
}

// Opinion returns the verdict of the documents of the page, otherwise that of the site. A document
// that an element of the body names is obeyed for the whole page if it prohibits the usage or needs
// an agreement. An answer that asks for a licence (RSL 3.4: 401 or 402 with WWW-Authenticate:
// License) needs an agreement for any usage that is not prohibited.
func (p *pageLicences) Opinion(u acap.Usage, r acap.Resource) (o acap.Opinion) {
	if p.page != nil {
		o = p.page.opinion(u, &r)
	}
	if o.Verdict == acap.Unknown && p.site != nil {
		o = p.site.Opinion(u, r)
	}
	if p.asks != nil && o.Verdict < acap.Agreement {
		o = verdict(acap.Agreement, p.asks)
	}
	for _, a := range p.parts {
		if part := a.opinion(u, &r); part.Verdict >= acap.Agreement && part.Verdict > o.Verdict {
			o = part
		}
	}
	return o
}
