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

// evidence is everything that decide needs to know of one page. Whoever receives, imports, sweeps
// or judges a page again gathers it.
type evidence struct {
	url        string
	facts      acap.Facts
	noPreserve bool        // this run keeps no copies
	noIndex    bool        // this run indexes nothing
	takenDown  *acap.Field // the take-down request in force for the page; nil: none
	unread     bool        // no policy of the page's origin could be read

	received *terms.Holding // the terms of the page received, or of the copy judged in its place; nil in a sweep

	record   bool // something is stored of the page beside dates and counts
	recorded bool // it has been indexed or preserved once
	indexed  bool // an index entry is held
	current  uint64
	copies   []copyEvidence
	pictured map[int]bool // versions of which a thumbnail is held, and whether it was made of another resource
	kept     terms.Kept   // what is stored to present the page
	entry    terms.EntryState

	// What decide asks for with plan.need; nil: not gathered yet.
	remade *remadeEntry
	saved  *savedPicture
	rest   *restEvidence
}

// copyEvidence is one copy held of a page.
type copyEvidence struct {
	archive.Capture
	permit acap.Decision // whether it may be preserved, all of it
}

// remadeEntry is the index entry as the copy held gives it now.
type remadeEntry struct {
	document *index.Document // nil: none could be made
	kept     *terms.Kept     // what is to be stored to present the page then; nil: as before
	other    bool            // it would have to be made of another resource
	unread   bool            // the policy of that could not be read
	part     *acap.Decision  // that which bars a part of the page from the index; nil: none does
}

// savedPicture is the thumbnail of a copy that goes; nil if there is none and none can be made.
type savedPicture struct{ *archive.Picture }

// restEvidence is what the terms say of what is stored to present the page.
type restEvidence struct {
	withdrawn []withdrawal
	fits      terms.Kept      // what may stay of it
	because   []acap.Decision // why the rest may not
	pictures  []terms.PictureState
}

// withdrawal is a resource that the page was made of and that is taken down.
type withdrawal struct {
	line  *acap.Field // the request
	entry bool        // the index entry was made of the resource
}

// action says what becomes of one thing that is held of a page, or could be.
type action int

const (
	toDrop   action = iota // it may not be held: what is held of it is erased
	toKeep                 // what is held stays as it is
	toStore                // what was received is stored
	toRemake               // what is held is made again from the copy
	inDoubt                // what is held stays, because no policy could be read that prohibits it (X63)
)

// verdict is the decision on one thing.
type verdict struct {
	action action
	ground ground // why it is dropped or made again; zero if policy is not the reason

	until     time.Time // when it must be dropped at the latest; zero: no date is set
	recrawled bool      // it must be dropped when the page is crawled again (P1 2.5.3.1)
}

// held reports whether the thing is held afterwards.
func (v verdict) held() bool { return v.action != toDrop }

// need is what decide must know in addition before its plan is complete.
type need int

const (
	nothing     need = iota
	needEntry        // evidence.remade; plan.bare says whether the copy goes
	needPicture      // evidence.saved
	needRest         // evidence.rest, of plan.stored
)

// plan is what is to become of a page.
type plan struct {
	need need // if it is not nothing, the plan is not complete

	// If the page was received.
	copy    verdict // of what was received
	earlier verdict // of the versions held before
	entry   verdict // of the index entry, also in a sweep

	// In a sweep.
	held     bool             // there was something to judge
	unjudged bool             // no policy could be read that would say what may be held
	swept    []Swept          // what goes or is made again
	bare     bool             // the current copy goes
	whole    bool             // nothing is left: what is known of the page goes too
	forget   bool             // the index entry goes
	document *index.Document  // the index entry made again; nil: it stays as it is, or goes
	kept     *terms.Kept      // what is stored to present the page from now on; nil: as before
	barred   bool             // the page itself is taken down
	saved    *archive.Picture // the thumbnail that takes the place of the copy that goes; nil: none does
}

// decide returns what may be held of a page: what is stored, kept, made again or dropped, why, by
// which line, and until when. It reads nothing and asks nobody: if it needs to know more, the plan
// says what.
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
	case len(e.copies) == 0 && !e.indexed && len(e.pictured) == 0:
		if e.recorded {
			p.dropAll(e, ground{reason: archive.ReasonNothingLeft, why: "nothing else is left of the page"})
		}
	default:
		p.decideHeld(e)
	}
	return p
}

// decideCopy decides about a copy that permit is the decision on preserve for; held says that it is
// held already.
func decideCopy(e *evidence, permit acap.Decision, held bool) (v verdict) {
	switch {
	case e.takenDown != nil: // P1 2.6 (P04): nothing may be kept while a take-down request is in force
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

// decideEntry decides about the index entry of a page received.
func decideEntry(e *evidence) (v verdict) {
	r := e.received
	switch {
	case e.takenDown != nil:
		v.ground = byTakeDown(e.takenDown)
	case e.noIndex:
	case r.Textual && !r.Content.Empty():
		v.action = toStore
	case r.Textual: // there is nothing to be found by
	case r.Lasts && e.indexed:
		v.action = toKeep
	default:
		v.ground = grounds(r.Index)
	}
	return v
}

// decideHeld decides about what is held of a page whose policy is known.
func (p *plan) decideHeld(e *evidence) {
	gone, redirects := p.decideCopies(e)
	if p.savesPicture(e) {
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
	if _, instead := pictured[0]; instead && p.kept != nil { // which was made again
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

// decideCopies decides about the copies held. It returns how many go, and how many redirects are
// among the others.
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

// savesPicture reports whether the current copy goes and no thumbnail is held that does not depend
// on it. What may be shown is not lost with what may not be kept.
func (p *plan) savesPicture(e *evidence) bool {
	_, instead := e.pictured[0]
	return p.bare && !instead && !e.noPreserve
}

// drops reports whether the copy of a version goes.
func (p *plan) drops(version int) bool {
	return slices.ContainsFunc(p.swept, func(s Swept) bool { return s.What == SweptCopy && s.Version == version })
}

// pictured returns the thumbnails held, with the one that is saved.
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

// decideHeldEntry decides about the index entry held. An entry that would be made otherwise now is
// made again from the copy, and so is an entry whose copy goes: its words must not keep their
// order.
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
	// what must be shown with it is of an origin whose policy cannot be read
	case made.document == nil && made.unread && !p.bare:
		p.unjudged, p.kept, p.entry.action = true, nil, inDoubt
	case made.document != nil:
		p.document, p.entry = made.document, verdict{action: toRemake, ground: grounds(s.Index)}
		if p.bare {
			p.entry.ground = ground{why: "its copy goes"}
		}
		p.add(e.item(SweptEntry, p.entry.ground).again())
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

// decideStored decides about what is stored to present the page. What may be presented to nobody
// goes. So does what was made of a resource that is taken down, or that a redirect from such an
// address led to (P1 2.6, P04); the index entry goes with it.
func (p *plan) decideStored(e *evidence) {
	add := func(s Swept) {
		p.kept = &e.rest.fits
		if n := len(p.swept); n == 0 || p.swept[n-1] != s { // one line can end several things
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

// decidePictures decides about the thumbnails held. Those of copies that go, go with them. left
// says that one stays that stands for no copy.
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

// stored returns what is stored to present the page, as far as it has been decided.
func (p *plan) stored(e *evidence) terms.Kept {
	if p.kept != nil {
		return *p.kept
	}
	return e.kept
}

// strip takes away what is stored to be shown beside a copy or an index entry: a thumbnail alone is
// left.
func (p *plan) strip(e *evidence) {
	kept := p.stored(e)
	if kept.Title == "" && len(kept.Texts) == 0 {
		return
	}
	kept.Title, kept.Texts = "", nil
	p.kept = &kept
	p.add(e.item(SweptExcerpt, ground{why: "neither a copy nor an index entry is left"}))
}

// dropAll drops everything of a page for one reason.
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

// item is one thing of the page that goes for a reason.
func (e *evidence) item(what string, g ground) Swept {
	return Swept{URL: e.url, What: what, Reason: g.reason, Why: g.why, Line: g.line,
		TakenDown: g.reason == archive.ReasonTakenDown}
}

func (s Swept) version(n int, capture uint64) Swept {
	s.Version, s.capture = n, capture
	return s
}

func (s Swept) again() Swept {
	s.Anew = true
	return s
}
