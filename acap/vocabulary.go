package acap

// Vocabulary is a language other than ACAP in which publishers say how their resources may be used:
// the records of RFC 9309, conventional tags and headers, and those that Crawler.Vocabularies adds.
// ACAP decides first; then Decide calls each vocabulary. A vocabulary can restrict what ACAP
// permits, but never permits what ACAP prohibits.
//
// Like this package, a vocabulary does no I/O: it names the files that it needs, and the caller
// reads them. To add a vocabulary, write a type with these methods and put it into
// Crawler.Vocabularies.
type Vocabulary interface {
	// Name returns the name of the vocabulary, in lower case.
	Name() string

	// Files returns the absolute URLs of the files that the vocabulary needs to decide on resources
	// of the site. Site.Files contains their text when Site is called.
	Files(s *Site) []string

	// Site returns the preferences of a site, or nil if it has none in this vocabulary.
	Site(s *Site) Preferences

	// Page returns the joint preferences of a site and one of its pages, or nil if there are none.
	// site is the result of Site.
	Page(p *Page, site Preferences) Preferences
}

// Preferences holds the statements of a site, or of a page, in one vocabulary. It is immutable and
// safe for concurrent use.
type Preferences interface {
	// Usages returns the usages about which the preferences say something, for any resource.
	Usages() []Usage

	// Opinion returns the verdict on one usage of a resource.
	Opinion(u Usage, r Resource) Opinion
}

// Verdict is the opinion of a vocabulary on a usage. A stricter verdict is greater, and the
// strictest verdict decides.
type Verdict uint8

// The verdicts, from the mildest to the strictest.
const (
	Unknown   Verdict = iota // the vocabulary says nothing; the usage is allowed
	Permits                  // the usage is allowed
	Agreement                // the usage needs an agreement first, such as a payment or a licence
	Prohibits
)

// Opinion is a verdict with the field that decides it. The zero value means that the vocabulary
// says nothing.
type Opinion struct {
	Verdict Verdict
	Reason  Reason // the reason of the decision if this opinion decides
	Because *Field // the field that decides; nil only if the verdict is Unknown
	Note    string // one clause that adds a detail to the field; may be empty

	limits *restraint // limits of an allowed usage; may be nil
}

// vocabularies returns the vocabularies that the crawler c obeys. The result always includes the
// vocabularies of RFC 9309 and of conventional tags.
func (c *Crawler) vocabularies() []Vocabulary {
	return append([]Vocabulary{rfc9309{}, tagVocabulary{}}, c.Vocabularies...)
}

// The indexes of the two built-in vocabularies in the list of a crawler, and in the preferences of
// a policy.
const (
	recordsAt = iota
	tagsAt
	addedAt
)

// readSite stores the preferences of the site in each vocabulary.
func (p *Policy) readSite(s *Site) {
	p.prefer(func(_ int, v Vocabulary) Preferences { return v.Site(s) })
}

// readPage stores the joint preferences of the site and the page in each vocabulary.
func (p *Policy) readPage(page *Page) {
	site := p.preferences
	p.prefer(func(i int, v Vocabulary) Preferences {
		if site == nil {
			return v.Page(page, nil)
		}
		return v.Page(page, site[i])
	})
}

// prefer stores the preferences that read returns for each vocabulary. It stores nil if there are
// none, so that Decide need not call any vocabulary.
func (p *Policy) prefer(read func(i int, v Vocabulary) Preferences) {
	p.preferences, p.preferred = nil, 0
	all := p.crawler.vocabularies()
	for i, v := range all {
		said := read(i, v)
		if said == nil {
			continue
		}
		if p.preferences == nil {
			p.preferences = make([]Preferences, len(all))
		}
		p.preferences[i] = said
		for _, u := range said.Usages() {
			p.preferred |= setOf(u.kind())
		}
	}
}

// preference returns the preferences in the vocabulary with the index at, or nil if there are none.
func (p *Policy) preference(at int) Preferences {
	if p.preferences == nil {
		return nil
	}
	return p.preferences[at]
}

// consult lets the vocabularies restrict the decision d. The strictest opinion decides; of equally
// strict opinions, the first decides. If no ACAP field is about the usage, an opinion that permits
// becomes the reason.
func (p *Policy) consult(k kind, r *Resource, d *Decision) {
	if !p.preferred.has(k) || !d.Allowed && p.recorder == nil {
		return
	}
	var strictest Opinion
	var limits *restraint
	for i, said := range p.preferences {
		if said == nil {
			continue
		}
		o := said.Opinion(k.usage(), *r)
		p.recorder.opinion(i, o)
		limits = limits.with(o.limits)
		if o.Verdict > strictest.Verdict {
			strictest = o
		}
	}
	switch {
	case !d.Allowed:
	case strictest.Verdict >= Agreement:
		*d = Decision{Usage: k.usage(), Reason: strictest.Reason, Because: strictest.Because, Note: strictest.Note}
	default:
		d.fields.caps = limits
		if strictest.Verdict == Permits && d.Reason == ByDefault {
			d.Reason, d.Because = strictest.Reason, strictest.Because
		}
	}
}
