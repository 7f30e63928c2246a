package terms

import (
	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/kept"
)

// Failed reports whether a required resource could not be fetched because of a temporary failure.
// Such a failure does not mean that the resource is gone (H05).
func (t *Terms) Failed() bool {
	for _, got := range t.fetched {
		if got.Failed {
			return true
		}
	}
	return false
}

// failed reports whether the resource at address could not be fetched because of a temporary
// failure. It also reports true if the resource was not requested because a request for another
// required resource failed temporarily.
func (t *Terms) failed(address string) bool {
	got, asked := t.fetched[address]
	return got.Failed || !asked && t.Failed()
}

// EntryMayStay reports whether an index entry made from another resource may stay although that
// resource cannot be fetched now. The entry may stay if the fetch failed temporarily and no known
// policy prohibits the entry (I10; X63: an unreadable policy erases nothing). old is the data
// stored with the entry.
func (t *Terms) EntryMayStay(old Kept) bool {
	of := old.Of[old.Index]
	if old.Index == "" || len(of) == 0 || !t.failed(of[0]) {
		return false
	}
	c := *t
	c.unread = false
	return c.Keeping(old).Findable() || c.unread
}

// CopyUnavailable copies from old into k the data made from resources that cannot be fetched now
// because of a temporary failure. old is the data stored for the page by an earlier visit. some
// reports whether anything was copied.
func (t *Terms) CopyUnavailable(k *Kept, old Kept) (some bool) {
	for value, of := range old.Of {
		if _, had := k.Of[value]; had || len(of) == 0 || kept.OfThumbnail(value) || !t.failed(of[0]) {
			continue
		}
		some = true
		k.SetSource(value, of)
		if in, is := old.Parts[value]; is {
			k.SetPart(value, in)
		}
		for u, text := range old.Texts {
			if _, had := k.Texts[u]; text.From == value && !had {
				k.SetText(u, text)
			}
		}
		if value == old.Index && k.Index == "" && k.Same == "" {
			k.Index, k.Aside, k.Same = old.Index, old.Aside, old.Same
		}
	}
	return some
}

// KeepsPicture reports whether the stored thumbnail, described by old, may stay although no new
// thumbnail is made. The thumbnail may stay in two cases. In the first case, the resource that the
// thumbnail must be made from cannot be fetched because of a temporary failure (H05). In the second
// case, the thumbnail is a drawing of the page, everything in the drawing may still be shown, and
// the page has not changed. The caller sets same if the page has not changed.
func (t *Terms) KeepsPicture(old Kept, same bool) bool {
	all := t.forAnyReader().Keeping(old)
	d := all.decide(acap.PresentThumbnail)
	uses := t.substitutes(d)
	switch {
	case !d.Allowed, len(uses) == 0 && (!same || old.Drawing == nil):
		return false
	case len(uses) == 0:
		unread, err := all.checkDrawing(acap.PresentThumbnail, d)
		return err == nil || unread // X63: an unreadable policy erases nothing
	}
	of, made := old.Pictured(uses[0].Value)
	if !made || !t.failed(of) {
		return false
	}
	c := *t
	c.unread = false
	return c.checkUsable(of) == nil || c.unread // X63: an unreadable policy erases nothing
}
