package holdings

import (
	"maps"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/terms"
)

// evidence is everything that decide needs to know about one page. Every caller of decide fills in
// an evidence: for a page that is received, imported, swept or checked again.
type evidence struct {
	url        string
	facts      acap.Facts
	noPreserve bool        // this run stores no copies
	noIndex    bool        // this run writes no index entries
	takenDown  *acap.Field // the take-down request in force for the page; nil if none
	unread     bool        // the policy of the page's origin could not be read
	barred     *ground     // why something may not be used from which scripts made the page; nil: all may be used

	// what the terms permit for the received page, or for the stored copy that is checked instead;
	// nil in a sweep
	received *terms.Holding

	record   bool // something is stored for the page besides dates and counts
	recorded bool // the page has been indexed or preserved before
	indexed  bool // an index entry is stored
	current  uint64
	copies   []copyEvidence
	// versions that have a stored thumbnail; the value is true if the thumbnail was made from
	// another resource
	pictured map[int]bool
	kept     terms.Kept // the data stored to present the page
	entry    terms.EntryState

	// The caller of decide sets these fields if plan.need requests them; nil means not yet known.
	remade *remadeEntry
	saved  *savedPicture
	rest   *restEvidence
}

// copyEvidence is one stored copy of a page.
type copyEvidence struct {
	archive.Capture
	permit acap.Decision // whether the whole copy may be preserved
}

// remadeEntry is the index entry that would be made from the stored copy now.
type remadeEntry struct {
	document *index.Document // nil if no entry could be made
	kept     *terms.Kept     // the data to store to present the page with the new entry; nil means no change
	other    bool            // the entry would have to be made from another resource
	unread   bool            // the policy of that resource could not be read
	part     *acap.Decision  // the decision that excludes a part of the page from the index; nil if none
}

// savedPicture is the thumbnail that is saved from a copy that will be erased. The pointer inside
// is nil if no thumbnail exists and none can be made.
type savedPicture struct{ *archive.Picture }

// restEvidence says what today's policy permits of the data stored to present the page.
type restEvidence struct {
	withdrawn []withdrawal
	fits      terms.Kept      // the data that may stay
	because   []acap.Decision // why the rest of the data may not stay
	pictures  []terms.PictureState
}

// withdrawal is a resource that is taken down and that data of the page was made from.
type withdrawal struct {
	line  *acap.Field // the take-down request
	entry bool        // the index entry was made from the resource
}

// action says what happens to one stored or received item of a page.
type action int

const (
	toDrop   action = iota // erase: the item may not be stored
	toKeep                 // leave the stored item unchanged
	toStore                // store the received item
	toRemake               // make the stored item again from the copy
	inDoubt                // keep the stored item, because the policy that might prohibit it cannot be read (X63)
)

// verdict is the decision about one item.
type verdict struct {
	action action
	ground ground // why the item is erased or made again; zero if the policy is not the reason

	until     time.Time // when the item must be erased at the latest; zero means no date
	recrawled bool      // the item must be erased at the next crawl of the page (P1 2.5.3.1: until-recrawl)
}

// held reports whether the item is stored after the decision is executed.
func (v verdict) held() bool { return v.action != toDrop }

// need names the evidence that decide must also have before its plan is complete.
type need int

const (
	nothing     need = iota
	needEntry        // evidence.remade must be set; plan.bare says whether the copy will be erased
	needPicture      // evidence.saved must be set
	needRest         // evidence.rest must be set, for the data that plan.stored returns
)

// plan says what to do with everything stored for a page.
type plan struct {
	need need // the evidence that is missing; if there is any, the plan is incomplete

	// The next three fields are set if the page was received.
	copy    verdict // decision about the received copy
	earlier verdict // decision about the versions stored before
	entry   verdict // decision about the index entry; also set in a sweep

	// The next fields are set in a sweep.
	held     bool             // something was stored that could be checked
	unjudged bool             // something could not be checked, because no policy could be read
	swept    []Swept          // items to erase or to make again
	bare     bool             // the current copy must be erased
	whole    bool             // nothing is left, so the record of the page must be deleted too
	forget   bool             // the index entry must be deleted
	document *index.Document  // the new index entry; nil if it is unchanged or deleted
	kept     *terms.Kept      // the data to store to present the page from now on; nil means no change
	barred   bool             // the page must not wait for resources, because nothing of it may be stored now
	again    bool             // the page must be crawled again soon
	saved    *archive.Picture // the thumbnail to store when its copy is erased; nil if none
}

// decide returns what may be stored of a page: what to store, keep, make again or erase, why, by
// which line of the policy, and until when. It does no I/O. If e is not sufficient, p.need says
// what is missing.
func decide(e *evidence) (p plan) {
	if e.received != nil {
		p.copy = decideCopy(e, e.received.Preserve, false)
		p.earlier = decideCopy(e, e.received.Preserve, true)
		p.entry = decideEntry(e)
		return p
	}
	p.held = len(e.copies) > 0 || e.indexed || len(e.pictured) > 0 || e.record
	switch {
	case !p.held:
	case e.unread:
		p.unjudged = true
	case e.takenDown != nil:
		p.dropAll(e, byTakeDown(e.takenDown))
		p.barred = true
	case e.barred != nil:
		p.dropAll(e, *e.barred)
		p.barred, p.again = true, e.barred.again
	case len(e.copies) == 0 && !e.indexed && len(e.pictured) == 0:
		if e.recorded {
			p.dropAll(e, ground{reason: archive.ReasonNothingLeft, why: "nothing else is left of the page"})
		}
	default:
		p.decideHeld(e)
	}
	return p
}

// decideCopy decides about one copy. permit is the decision about preserve for this copy; held
// means that the copy is already stored.
func decideCopy(e *evidence, permit acap.Decision, held bool) (v verdict) {
	switch {
	case e.takenDown != nil: // P1 2.6 (P04): nothing may be stored while a take-down request is in force
		v.ground = byTakeDown(e.takenDown)
		return v
	case held && permit.Reason == acap.Unavailable:
		v.action = inDoubt
		return v
	case !permit.Allowed:
		v.ground = grounds(permit)
		return v
	case held:
		v.action = toKeep
	case !e.noPreserve:
		v.action = toStore
	}
	l := permit.Limits(e.facts)
	v.until, v.recrawled = l.Until, l.UntilRecrawled
	return v
}

// decideEntry decides about the index entry of a received page.
func decideEntry(e *evidence) (v verdict) {
	r := e.received
	switch {
	case e.takenDown != nil:
		v.ground = byTakeDown(e.takenDown)
	case e.noIndex:
	case r.Textual && !r.Content.Empty():
		v.action = toStore
	case r.Textual: // the page has no text and no title to search for
	case r.Lasts && e.indexed:
		v.action = toKeep
	default:
		v.ground = grounds(r.Index)
	}
	return v
}

// decideHeld decides about all data stored for a page. The policy of the page must be known.
func (p *plan) decideHeld(e *evidence) {
	gone, redirects := p.decideCopies(e)
	if p.needsPicture(e) {
		if e.saved == nil {
			p.need = needPicture
			return
		}
		p.saved = e.saved.Picture
	}
	if p.decideHeldEntry(e); p.need != nothing {
		return
	}
	bare, left := gone == len(e.copies)-redirects && (!e.indexed || p.forget), redirects > 0
	pictured := p.pictured(e)
	// p.kept does not describe the thumbnail, which was made from other data
	if _, instead := pictured[0]; instead && p.kept != nil {
		kept := p.kept.WithPicture(e.kept)
		p.kept = &kept
	}
	if !bare || len(pictured) > 0 {
		if e.rest == nil {
			p.need = needRest
			return
		}
		p.decideStored(e)
		left = p.decidePictures(e) || left
	}
	if bare && left {
		p.strip(e)
	}
	p.whole = len(p.swept) > 0 && bare && !left
}

// decideCopies decides about the stored copies. It returns how many are erased, and how many of the
// others are redirects.
func (p *plan) decideCopies(e *evidence) (gone, redirects int) {
	for _, c := range e.copies {
		v := decideCopy(e, c.permit, true)
		if !v.held() {
			gone++
			p.bare = p.bare || c.ID == e.current
			p.add(e.item(SweptCopy, v.ground).version(c.Version, c.ID))
			continue
		}
		p.unjudged = p.unjudged || v.action == inDoubt
		if c.Redirect() {
			redirects++
		}
	}
	return gone, redirects
}

// needsPicture reports whether a thumbnail must be saved: the current copy is erased, and each
// stored thumbnail belongs to a copy. A thumbnail may still be shown when its copy may no longer be
// stored.
func (p *plan) needsPicture(e *evidence) bool {
	_, instead := e.pictured[0]
	return p.bare && !instead && !e.noPreserve
}

// drops reports whether the plan erases the copy of the given version.
func (p *plan) drops(version int) bool {
	return slices.ContainsFunc(p.swept, func(s Swept) bool { return s.What == SweptCopy && s.Version == version })
}

// pictured returns the stored thumbnails, including the saved one.
func (p *plan) pictured(e *evidence) map[int]bool {
	if p.saved == nil {
		return e.pictured
	}
	all := maps.Clone(e.pictured)
	if all == nil {
		all = map[int]bool{}
	}
	all[0] = p.saved.Other
	return all
}

// decideHeldEntry decides about the stored index entry. The entry is made again if today's policy
// would result in a different entry. It is also made again if its copy is erased, because then the
// order of the words may not be stored.
func (p *plan) decideHeldEntry(e *evidence) {
	s := e.entry
	switch {
	case !e.indexed:
		return
	case s.Index.Reason == acap.Unavailable:
		p.unjudged, p.entry.action = true, inDoubt
		return
	case s.Stands && !p.bare:
		p.entry.action = toKeep
		return
	}
	made := remadeEntry{unread: s.Unread, part: s.Part}
	if e.current != 0 && (p.bare || !s.Unread) {
		if e.remade == nil {
			p.need = needEntry
			return
		}
		made = *e.remade
	}
	p.kept = made.kept
	switch {
	// the entry needs another resource, and the policy of that resource's origin cannot be read
	case made.document == nil && made.unread && !p.bare:
		p.unjudged, p.kept, p.entry.action = true, nil, inDoubt
	case made.document != nil:
		p.document, p.entry = made.document, verdict{action: toRemake, ground: grounds(s.Index)}
		if p.bare {
			p.entry.ground = ground{why: "its copy is erased"}
		}
		p.add(e.item(SweptEntry, p.entry.ground).asRemade())
	case s.Findable && (!p.bare || made.other):
		p.entry.action = toKeep
	default:
		permit := s.Index
		if permit.Allowed && made.part != nil {
			permit = *made.part
		}
		if permit.Allowed {
			permit = permit.Refuse(acap.ByProhibition, "it cannot be made again without its copy")
		}
		p.kept, p.forget, p.entry.ground = nil, true, grounds(permit)
		p.add(e.item(SweptEntry, p.entry.ground))
	}
}

// decideStored decides about the data stored to present the page. Data that may be shown to no one
// is erased. So is data made from a resource that is taken down, or that was reached through an
// address that is taken down (P1 2.6, P04); an index entry made from such a resource is deleted
// too.
func (p *plan) decideStored(e *evidence) {
	add := func(s Swept) {
		p.kept = &e.rest.fits
		// one policy line can cause several erasures, which are reported once
		if n := len(p.swept); n == 0 || p.swept[n-1] != s {
			p.add(s)
		}
	}
	for _, w := range e.rest.withdrawn {
		g := byTakeDown(w.line)
		add(e.item(SweptExcerpt, g))
		if w.entry && e.indexed && !p.forget {
			p.forget, p.document, p.entry = true, nil, verdict{ground: g}
			p.add(e.item(SweptEntry, g))
		}
	}
	for _, d := range e.rest.because {
		add(e.item(SweptExcerpt, grounds(d)))
	}
}

// decidePictures decides about the stored thumbnails. Thumbnails of erased copies are erased with
// them. left reports that a thumbnail without a copy stays.
func (p *plan) decidePictures(e *evidence) (left bool) {
	for _, s := range e.rest.pictures {
		if s.Fits {
			left = left || s.Version == 0
			continue
		}
		if s.Other {
			kept := p.stored(e).WithoutPicture()
			p.kept = &kept
		}
		if s.Version == 0 && p.saved != nil {
			p.saved = nil
			continue
		}
		p.add(e.item(SweptPicture, grounds(s.Permit)).version(s.Version, 0))
	}
	return left
}

// stored returns the data to present the page that will be stored if everything is executed that
// has been decided so far.
func (p *plan) stored(e *evidence) terms.Kept {
	if p.kept != nil {
		return *p.kept
	}
	return e.kept
}

// strip removes title and excerpts, which may be shown only with a copy or an index entry. The
// thumbnail stays.
func (p *plan) strip(e *evidence) {
	kept := p.stored(e)
	if kept.Title == "" && len(kept.Texts) == 0 {
		return
	}
	kept.Title, kept.Texts = "", nil
	p.kept = &kept
	p.add(e.item(SweptExcerpt, ground{why: "neither a copy nor an index entry is left"}))
}

// dropAll erases all data of a page, for the reason g.
func (p *plan) dropAll(e *evidence, g ground) {
	for _, c := range e.copies {
		p.add(e.item(SweptCopy, g).version(c.Version, c.ID))
	}
	if e.indexed {
		p.add(e.item(SweptEntry, g))
	}
	if len(p.swept) == 0 && len(e.pictured) > 0 {
		p.add(e.item(SweptPicture, g))
	}
	if len(p.swept) == 0 && e.record {
		p.add(e.item(SweptRecord, g))
	}
	p.whole, p.forget = true, e.indexed
}

func (p *plan) add(s Swept) { p.swept = append(p.swept, s) }

// item returns the report that one item of the page is erased for the reason g. The parameter what
// names the kind of the item.
func (e *evidence) item(what string, g ground) Swept {
	return Swept{URL: e.url, What: what, Reason: g.reason, Why: g.why, Line: g.line,
		TakenDown: g.reason == archive.ReasonTakenDown, asked: g.asked}
}

func (s Swept) version(n int, capture uint64) Swept {
	s.Version, s.capture = n, capture
	return s
}

func (s Swept) asRemade() Swept {
	s.Anew = true
	return s
}
