package terms

import "github.com/acapcrawl/acapcrawl/acap"

// HoldingOptions say what Holding is to answer.
type HoldingOptions struct {
	NoArchive bool  // noarchive and nocache prohibit preserve too (N24)
	NoIndex   bool  // leave out what the index may hold
	Entry     *Kept // what is stored with the index entry held of the page; nil: there is no entry
}

// Holding is what the terms of a page permit to hold of it.
type Holding struct {
	Crawl  acap.Decision
	Follow acap.Decision
	Links  []string // that may be followed, absolute
	Open   bool     // some link may be followed, or would be if there were one

	Preserve acap.Decision // of the page; a part that must be cut out and cannot be refuses it (N28)
	Uncut    bool          // that is why Preserve refuses
	Body     []byte        // the copy that may be kept; nil if Preserve refuses
	Cut      bool          // Body is not the original body

	Index   acap.Decision // why Content may not be indexed; zero if it may, or the entry held may stay
	Content Content       // the text for the index
	Textual bool          // Content may be indexed
	Lasts   bool          // the entry held may stay, although the resource it was made of cannot be had now (I10, X63)
}

// Holding answers what may be held of the page. It may request resources that the page requires.
func (t *Terms) Holding(o HoldingOptions) (h Holding) {
	h.Links, h.Open = t.Links()
	if !h.Open {
		h.Follow = t.Decide(acap.Follow)
	}
	h.Crawl = t.Decide(acap.Crawl)
	t.answerCopy(&h, o.NoArchive)
	if !o.NoIndex {
		t.answerEntry(&h, o.Entry)
	}
	return h
}

// HoldingCopy answers what copy of the page may be held, and nothing else.
func (t *Terms) HoldingCopy(noArchive bool) (h Holding) {
	t.answerCopy(&h, noArchive)
	return h
}

// HoldingEntry answers what the index may hold of the page, and nothing else.
func (t *Terms) HoldingEntry() (h Holding) {
	t.answerEntry(&h, nil)
	return h
}

func (t *Terms) answerCopy(h *Holding, noArchive bool) {
	if h.Preserve = t.Preserving(noArchive); !h.Preserve.Allowed {
		return
	}
	var ok bool
	if h.Body, h.Cut, ok = t.Copy(acap.Preserve); !ok {
		h.Preserve = h.Preserve.Refuse(acap.ByProhibition, "a part that may not be kept cannot be cut out")
		h.Body, h.Cut, h.Uncut = nil, false, true
		return
	}
	if h.Body == nil {
		h.Body = []byte{}
	}
}

func (t *Terms) answerEntry(h *Holding, entry *Kept) {
	if h.Content, h.Textual = t.Text(); h.Textual {
		return
	}
	if h.Lasts = entry != nil && t.Lasts(*entry); !h.Lasts {
		h.Index = t.Decide(acap.Index)
	}
}

// Preserving decides whether a copy may be kept at all. With noArchive, noarchive and nocache of
// the page prohibit it too (N24).
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

// EntryState is what the terms say of the index entry held of a page, without the page.
type EntryState struct {
	Index    acap.Decision
	Findable bool // the entry may be used: it was made of nothing that may no longer be used
	Stands   bool // the entry is what would be made of the page now
	Unread   bool // the policy of a resource that it was made of could not be read

	Part *acap.Decision // the first that bars a part of the page from the index; nil if none does, or the entry stands
}

// EntryState judges the index entry held; Keeping must have said what is stored with it.
func (t *Terms) EntryState() (e EntryState) {
	e.Index = t.Decide(acap.Index)
	e.Findable = t.Findable()
	e.Stands = t.Stands()
	e.Unread = t.Unread()
	if !e.Stands {
		e.Part = t.BarredPart(acap.Index)
	}
	return e
}

// BarredPart is Barred; nil if no part is barred.
func (t *Terms) BarredPart(u acap.Usage) *acap.Decision {
	if d, barred := t.Barred(u); barred {
		return &d
	}
	return nil
}

// PictureState is what the terms say of one thumbnail held of a page.
type PictureState struct {
	Version int
	Other   bool          // it was made of another resource
	Fits    bool          // it may stay
	Permit  acap.Decision // why not
}
