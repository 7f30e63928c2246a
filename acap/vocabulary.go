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

	// Key returns a text that differs for two vocabularies with the same name if their settings can
	// lead to different verdicts.
	Key() string

	// Files returns the files that the vocabulary needs to decide on resources of the site.
	// Site.Files contains their text when Site is called.
	Files(s *Site) []Needed

	// Site returns the preferences of a site, or nil if it has none in this vocabulary.
	Site(s *Site) Preferences

	// Page returns the joint preferences of a site and one of its pages, or nil if there are none.
	// site is the result of Site.
	Page(p *Page, site Preferences) Preferences
}

// Needed is a file that a vocabulary needs.
type Needed struct {
	URL   string // absolute
	Asked bool   // the file is read only if the site permits crawling it
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

// String returns prohibit, agreement, permit or unknown.
func (v Verdict) String() string {
	return [...]string{"unknown", "permit", "agreement", "prohibit"}[min(v, Prohibits)]
}

// Opinion is a verdict with the field that decides it. The zero value means that the vocabulary
// says nothing.
type Opinion struct {
	Verdict Verdict
	Reason  Reason // the reason of the decision if this opinion decides
	Because *Field // the field that decides; nil only if the verdict is Unknown
	Note    string // one clause that adds a detail to the field; may be empty
	Terms   string // where the terms of an agreement are; set only for Agreement, and may be empty

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
	s.rules, _ = rfc9309{}.Site(s).(*rules)
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
	for i := addedAt; i < len(p.earlier); i++ {
		if said := p.earlier[i]; said != nil {
			p.preferred |= usagesOf(said)
		}
	}
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
		p.preferred |= usagesOf(said)
	}
}

// preference returns the preferences in the vocabulary with the index at, or nil if there are none.
func (p *Policy) preference(at int) Preferences {
	if at >= len(p.preferences) {
		return nil
	}
	return p.preferences[at]
}

// Said is the opinion of one vocabulary.
type Said struct {
	Vocabulary string
	Opinion
}

// Opinions returns what each vocabulary of Crawler.Vocabularies says about a usage of a resource,
// without those that say nothing. What ACAP fields say about it comes first, under the name "acap".
// For a crawler with several purposes, that is what the first purpose is told. If the policy could
// not be read, there are no opinions.
func (p *Policy) Opinions(u Usage, r Resource) (list []Said) {
	k := u.anyKind()
	switch {
	case p == nil || k == noKind:
		return nil
	case p.byPurpose != nil:
		return p.byPurpose[0].Opinions(u, r)
	case p.refusal != nil:
		return nil
	case p.stages != nil:
		return stricter(p.stages[0].Opinions(u, r), p.stages[1].Opinions(u, r))
	}
	if o := p.fieldOpinion(k, &r); o.Verdict != Unknown {
		list = append(list, Said{"acap", o})
	}
	for i, v := range p.crawler.Vocabularies {
		if o := p.opinion(i+addedAt, u, &r); o.Verdict != Unknown {
			list = append(list, Said{v.Name(), o})
		}
	}
	return list
}

// fieldOpinion returns what ACAP fields say about a usage.
func (p *Policy) fieldOpinion(k kind, r *Resource) Opinion {
	var d Decision
	if early := p.foreclosed(k); early != nil {
		d = *early
	} else {
		p.decideByFields(k, r, &d)
	}
	o := Opinion{Verdict: Prohibits, Reason: d.Reason, Because: d.Because, Note: d.Note}
	switch {
	case d.Reason == ByDefault:
		return Opinion{}
	case d.Allowed:
		o.Verdict = Permits
	}
	return o
}

// Since returns p for a resource that was fetched when the policy then was in force: a preference
// that was stated at that time in one of Crawler.Vocabularies remains, unless a stricter one is
// stated today. ACAP, RFC 9309 and conventional tags are obeyed only as they are today (P1 2.5.3.1,
// H11). then must be a policy for the same crawler; if it is nil, or could not be read, Since returns
// p.
func (p *Policy) Since(then *Policy) *Policy {
	if p == nil || then == nil || len(p.byPurpose) != len(then.byPurpose) {
		return p
	}
	q := *p
	switch {
	case then.stages != nil:
		return p.staged(p.Since(then.stages[0]), p.Since(then.stages[1]))
	case p.byPurpose != nil:
		q.byPurpose = make([]*Policy, len(p.byPurpose))
		for i := range p.byPurpose {
			q.byPurpose[i] = p.byPurpose[i].Since(then.byPurpose[i])
		}
		return &q
	}
	q.earlier = then.preferences
	for i := addedAt; i < len(q.earlier); i++ {
		if said := q.earlier[i]; said != nil {
			q.preferred |= usagesOf(said)
		}
	}
	return &q
}

// usagesOf returns the usages about which preferences say something.
func usagesOf(said Preferences) (set kindSet) {
	for _, u := range said.Usages() {
		set |= setOf(u.anyKind())
	}
	return set
}

// opinion returns what the vocabulary with the index at says about a usage, today or when the
// resource was fetched, whichever is stricter.
func (p *Policy) opinion(at int, u Usage, r *Resource) (o Opinion) {
	if said := p.preference(at); said != nil {
		o = said.Opinion(u, *r)
	}
	if at >= addedAt && at < len(p.earlier) && p.earlier[at] != nil {
		if then := p.earlier[at].Opinion(u, *r); then.Verdict > o.Verdict {
			return then
		}
	}
	return o
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
	for i := range max(len(p.preferences), len(p.earlier)) {
		o := p.opinion(i, k.usage(), r)
		p.recorder.opinion(i, o)
		limits = limits.with(o.limits)
		if o.Verdict > strictest.Verdict {
			strictest = o
		}
	}
	switch {
	case !d.Allowed:
	case strictest.Verdict >= Agreement:
		*d = Decision{Usage: k.usage(), Reason: strictest.Reason, Because: strictest.Because, Note: strictest.Note,
			Terms: strictest.Terms}
	default:
		d.fields.caps = limits
		if strictest.Verdict == Permits && d.Reason == ByDefault {
			d.Reason, d.Because = strictest.Reason, strictest.Because
		}
	}
}
