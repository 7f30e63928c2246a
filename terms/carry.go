package terms

import (
	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/kept"
)

// Failed reports whether a resource that the page requires could not be had for a failure, which
// says nothing of it (H05).
func (t *Terms) Failed() bool {
	for _, got := range t.fetched {
		if got.Failed {
			return true
		}
	}
	return false
}

// failed reports whether that is so of the resource at address, or whether it was not asked for
// because of another.
func (t *Terms) failed(address string) bool {
	got, asked := t.fetched[address]
	return got.Failed || !asked && t.Failed()
}

// Lasts reports whether the index entry that was made, as old says, of another resource may stay
// although that cannot be had now: it could not for a failure, and nothing is known that prohibits
// it (I10, X63).
func (t *Terms) Lasts(old Kept) bool {
	of := old.Of[old.Index]
	if old.Index == "" || len(of) == 0 || !t.failed(of[0]) {
		return false
	}
	c := *t
	c.unread = false
	return c.Keeping(old).Findable() || c.unread
}

// Carry takes into k what old, which was kept of the page before, has of resources that could not
// be had now for a failure: it is the last that is known of them. It reports whether that is
// anything.
func (t *Terms) Carry(k *Kept, old Kept) (some bool) {
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

// KeepsPicture reports whether the thumbnail held, of which old tells, stays although none is made
// now: the resource that it was made of, and must be, could not be had for a failure (H05), or it
// is a drawing that shows nothing but what may be shown, of the page as it is: same says so.
func (t *Terms) KeepsPicture(old Kept, same bool) bool {
	all := t.anyone().Keeping(old)
	d := all.decide(acap.PresentThumbnail)
	uses := t.substitutes(d)
	switch {
	case !d.Allowed, len(uses) == 0 && (!same || old.Drawing == nil):
		return false
	case len(uses) == 0:
		unread, err := all.redrawn(acap.PresentThumbnail, d)
		return err == nil || unread // X63
	}
	of, made := old.Pictured(uses[0].Value)
	if !made || !t.failed(of) {
		return false
	}
	c := *t
	c.unread = false
	return c.standing(of) == nil || c.unread // X63
}
