package terms

import "github.com/acapcrawl/acapcrawl/acap"

// HoldingOptions selects what Holding computes.
type HoldingOptions struct {
	NoArchive bool  // noarchive and nocache also prohibit preserve (N24, a configuration option)
	NoIndex   bool  // do not compute what the index may store
	Entry     *Kept // the data stored with the current index entry of the page; nil if there is no entry
}

// Holding says what may be stored of a page.
type Holding struct {
	Crawl  acap.Decision
	Follow acap.Decision
	Links  []string // absolute URLs of the links that may be followed
	Open   bool     // following links is permitted for the page, even if the page has no links, or for one of its links

	// the decision about preserving the page; a refusal if a prohibited part cannot be cut out
	// (N28)
	Preserve acap.Decision
	Uncut    bool   // Preserve is a refusal because a prohibited part cannot be cut out
	Body     []byte // the copy that may be stored; nil if Preserve is a refusal
	Rendered []byte // the copy of the rendered document; nil: the page was not rendered. Body is the page as sent
	Cut      bool   // Body is not the original body, or Rendered is not the whole document

	// why Content may not be indexed; zero if Content may be indexed or if the existing entry may
	// stay
	Index   acap.Decision
	Content Content // title and text for the index
	Textual bool    // Content may be indexed
	Lasts   bool    // the existing index entry may stay, although its source cannot be fetched now (I10, X63)
}

// Holding returns what may be stored of the page. It may request resources that the policy of the
// page requires.
func (t *Terms) Holding(o HoldingOptions) (h Holding) {
	h.Links, h.Open = t.Links()
	if !h.Open {
		h.Follow = t.Decide(acap.Follow)
	}
	h.Crawl = t.Decide(acap.Crawl)
	t.setCopy(&h, o.NoArchive)
	if !o.NoIndex {
		t.setEntry(&h, o.Entry)
	}
	return h
}

// HoldingCopy returns which copy of the page may be stored; other fields of h stay zero.
func (t *Terms) HoldingCopy(noArchive bool) (h Holding) {
	t.setCopy(&h, noArchive)
	return h
}

// HoldingEntry returns the text that the index may store for the page; other fields of h stay zero.
func (t *Terms) HoldingEntry() (h Holding) {
	t.setEntry(&h, nil)
	return h
}

func (t *Terms) setCopy(h *Holding, noArchive bool) {
	if h.Preserve = t.Preserving(noArchive); !h.Preserve.Allowed {
		return
	}
	var ok bool
	if h.Body, h.Rendered, h.Cut, ok = t.preserved(); !ok {
		h.Preserve = h.Preserve.Refuse(acap.ByProhibition, "a part that may not be kept cannot be cut out")
		h.Uncut = true
		return
	}
	if h.Body == nil {
		h.Body = []byte{}
	}
}

// preserved returns what may be stored of the page as sent and, if it was rendered, of the rendered
// document; cut reports that parts were cut out. ok is false if they cannot be cut out of one of the two.
func (t *Terms) preserved() (body, rendered []byte, cut, ok bool) {
	document, cut, ok := t.Copy(acap.Preserve)
	if !ok {
		return nil, nil, false, false
	}
	if !t.page.Rendered() {
		return document, nil, cut, true
	}
	body, also, ok := t.SentCopy(acap.Preserve)
	if !ok {
		return nil, nil, false, false
	}
	return body, document, cut || also, true
}

func (t *Terms) setEntry(h *Holding, entry *Kept) {
	if h.Content, h.Textual = t.Text(); h.Textual {
		return
	}
	if h.Lasts = entry != nil && t.EntryMayStay(*entry); !h.Lasts {
		h.Index = t.Decide(acap.Index)
	}
}

// Preserving decides whether a copy may be stored at all. If noArchive is set, the values noarchive
// and nocache in the page also prohibit a copy (N24).
func (t *Terms) Preserving(noArchive bool) acap.Decision {
	d := t.Decide(acap.Preserve)
	if !d.Allowed || !noArchive {
		return d
	}
	shown := t.Decide(acap.PresentCurrentCopy)
	if !shown.Allowed && (shown.Reason == acap.ByMeta || shown.Reason == acap.ByHeader) {
		shown.Usage = acap.Preserve
		return shown
	}
	return d
}

// EntryState says what today's policy permits of the stored index entry of a page. It is computed
// without the page itself.
type EntryState struct {
	Index    acap.Decision
	Findable bool // the entry may be used: everything it was made from may still be used
	Stands   bool // the entry equals the entry that would be made from the page now
	Unread   bool // the policy of a resource that the entry was made from could not be read

	// the first decision that excludes a part of the page from the index; nil if there is none, or
	// if Stands is set
	Part *acap.Decision
}

// EntryState checks the stored index entry. The caller must call Keeping first.
func (t *Terms) EntryState() (e EntryState) {
	e.Index = t.Decide(acap.Index)
	e.Findable = t.Findable()
	e.Stands = t.EntryCurrent()
	e.Unread = t.Unread()
	if !e.Stands {
		e.Part = t.BarredPart(acap.Index)
	}
	return e
}

// BarredPart returns the decision that prohibits the usage u for a part of the page, the first one
// as in FirstBarred. It returns nil if u is prohibited for no part.
func (t *Terms) BarredPart(u acap.Usage) *acap.Decision {
	if d, barred := t.FirstBarred(u); barred {
		return &d
	}
	return nil
}

// RefusedText returns why scripts may not put the text of the resource into another page; nil if they may. Readers
// of that page get the text by the policy of that page. So every usage that can show the text must be permitted,
// and without a limit.
func (t *Terms) RefusedText() *acap.Decision {
	for _, u := range []acap.Usage{acap.Crawl, acap.Index, acap.Preserve, acap.Present, acap.PresentCurrentCopy,
		acap.PresentOldCopy, acap.PresentSnippet, acap.PresentOldSnippet} {
		d := t.decide(u)
		if d.Allowed && !d.Limits(t.facts).Empty() {
			d.Because = d.Holder(t.facts, func(l acap.Limits) bool { return !l.Empty() })
			d = d.Refuse(acap.ByProhibition, "it is permitted only with a limit, and its text would lose that")
		}
		if !d.Allowed {
			return &d
		}
		if part := t.BarredPart(u); part != nil {
			return part
		}
	}
	return nil
}

// PictureState says whether today's policy permits to keep one stored thumbnail of a page.
type PictureState struct {
	Version int
	Other   bool          // the thumbnail was made from another resource
	Fits    bool          // the thumbnail may stay
	Permit  acap.Decision // why the thumbnail may not stay, if Fits is false
}
