package acap

// Vocabulary is a language other than ACAP in which publishers say how their resources may be used:
// the records of RFC 9309, conventional tags and headers, and those that Crawler.Vocabularies adds.
// ACAP decides first; then Decide asks each vocabulary. A vocabulary can restrict what ACAP permits
// and never lifts a prohibition.
//
// A vocabulary is as pure as this package: it names the files that it needs, and the caller reads
// them. To add one, write a type with these methods and put it into Crawler.Vocabularies.
type Vocabulary interface {
	// Name returns the name of the vocabulary, in lower case.
	Name() string

	// Files returns the absolute URLs of files of its own that the vocabulary needs to judge
	// resources of the site. Their text is among Site.Files when Site is called.
	Files(s *Site) []string

	// Site returns what a site says; nil if it says nothing.
	Site(s *Site) Preferences

	// Page returns what a site and one of its pages say together; nil if they say nothing. site is
	// what Site returned.
	Page(p *Page, site Preferences) Preferences
}

// Preferences is what a site, or a page of it, says in one vocabulary. It is immutable and safe for
// concurrent use.
type Preferences interface {
	// Usages returns the usages of which anything is said, whatever the resource.
	Usages() []Usage

	// Opinion returns what is said of one usage of a resource.
	Opinion(u Usage, r Resource) Opinion
}

// Verdict is what a vocabulary says of a usage. A stricter verdict is greater, and the strictest
// decides.
type Verdict uint8

// The verdicts.
const (
	Unknown   Verdict = iota // nothing is said; the usage is allowed
	Permits                  // the usage is allowed
	Agreement                // the usage needs an agreement first: a payment, a licence
	Prohibits
)

// Opinion is a verdict with the field that decides it. The zero value says nothing.
type Opinion struct {
	Verdict Verdict
	Reason  Reason // of the decision, if this opinion decides
	Because *Field // nil only with Unknown
	Note    string // one clause that says more than the field, or empty

	limits *restraint // what binds an allowed usage
}

// vocabularies returns the vocabularies that c understands. Those of RFC 9309 and of conventional
// tags are always in force.
func (c *Crawler) vocabularies() []Vocabulary {
	return append([]Vocabulary{rfc9309{}, tagVocabulary{}}, c.Vocabularies...)
}

// The places of the first two vocabularies among those of a crawler and among the preferences of a
// policy.
const (
	recordsAt = iota
	tagsAt
	addedAt
)

// readSite asks each vocabulary what the site says.
func (p *Policy) readSite(s *Site) {
	p.prefer(func(_ int, v Vocabulary) Preferences { return v.Site(s) })
}

// readPage asks each vocabulary what the page says.
func (p *Policy) readPage(page *Page) {
	site := p.preferences
	p.prefer(func(i int, v Vocabulary) Preferences {
		if site == nil {
			return v.Page(page, nil)
		}
		return v.Page(page, site[i])
	})
}

// prefer keeps what each vocabulary says; nil if none says anything, so that Decide has nothing to
// ask.
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

// preference returns what is said in the vocabulary at a place, nil if nothing is.
func (p *Policy) preference(at int) Preferences {
	if p.preferences == nil {
		return nil
	}
	return p.preferences[at]
}

// consult lets the vocabularies restrict d. The strictest opinion decides, of equal ones the first.
// If ACAP says nothing of the usage, an opinion that permits is named.
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
