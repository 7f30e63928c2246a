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
		if address, err := documentURL(l.Value, s.Root); err == nil {
			list = append(list, acap.Needed{URL: address})
		}
	}
	return list
}

// licenceLines returns the License lines of the groups for the crawler. If there are none, it returns
// those before any group.
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

// documentURL returns the address of a licence document that a resource at from names. It must be
// absolute, and over https; over http only if from is.
func documentURL(value string, from *url.URL) (string, error) {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "":
		return "", errors.New("the address of the licence is not absolute")
	case u.Scheme != "https" && (u.Scheme != "http" || from == nil || from.Scheme != "http"):
		return "", errors.New("the address of the licence is not of the https scheme")
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String(), nil
}

// Site reads the documents of a site. A document that is named but cannot be read needs an agreement.
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
			s.Report(l.Field, "unreadable-licence", acap.Error, "name a licence document of RSL 1.0",
				"the licence cannot be read, so train-ai, ai-use, ai-index and tdm need an agreement: "+err.Error())
			continue
		}
		p.add(doc)
	}
	p.arrange()
	return p
}

// document returns the licence document at the address in value.
func (v rsl) document(s *acap.Site, value string) (*document, error) {
	address, err := documentURL(value, s.Root)
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
			if _, err := documentURL(f.Final, s.Root); err != nil {
				return nil, err
			}
		}
		return readDocument(address, f.Text)
	}
	return nil, errors.New("it was not read")
}

// Fresh returns how long a document need not be read again: its max-age. A document that cannot be
// read is read again with robots.txt.
func (rsl) Fresh(text []byte) time.Duration {
	doc, err := readDocument("", text)
	if err != nil {
		return 0
	}
	return doc.maxAge
}

// Usages implements acap.Preferences.
func (p *siteLicences) Usages() []acap.Usage { return p.usages() }

// Opinion implements acap.Preferences.
func (p *siteLicences) Opinion(u acap.Usage, r acap.Resource) acap.Opinion { return p.opinion(u, &r) }

// Page returns the preferences of the site.
func (rsl) Page(_ *acap.Page, site acap.Preferences) acap.Preferences { return site }
