package terms

import (
	"errors"
	"maps"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/kept"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// excerpt builds a snippet from the stored excerpt.
func (t *Terms) excerpt(u acap.Usage, w snippet.Wanted) (s snippet.Snippet, ok bool) {
	if t.kept == nil || u != acap.PresentSnippet || !t.Some(u) {
		return s, false
	}
	d := t.Decide(u)
	text, held := t.kept.Texts[u]
	if uses := t.substitutes(d); len(uses) > 0 && uses[0].IsText {
		text = kept.Text{Text: uses[0].Text, From: uses[0].Value}
	} else if !held || !t.stillPermits(u, text) {
		return s, false
	}
	limits := t.limitsOf(text, d)
	extracts := t.extracts(d, &limits)
	s, ok = snippet.Build(text.Text, snippet.Rules{MaxChars: limits.MaxChars, MaxWords: limits.MaxWords,
		Extracts: extracts, Wanted: w})
	s.Include = t.included(d)
	return s, ok
}

// limitsOf returns the length limits that d sets for a stored text.
func (t *Terms) limitsOf(text kept.Text, d acap.Decision) acap.Limits {
	if ofPage(text.From) {
		return t.limits(d)
	}
	return d.Limits(t.facts)
}

// limits returns the length limits of d. If the page is not available, limits adds the limits of
// every marked element that may be used, because the stored text may come from any of these
// elements.
func (t *Terms) limits(d acap.Decision) acap.Limits {
	l := d.Limits(t.facts)
	if t.page == nil && t.policy.Marked() {
		keep := t.cut(d, &l).Keep
		for _, element := range t.elements() {
			keep(element)
		}
	}
	return l
}

// Fit returns k, the data stored for the page, without the items that may no longer be shown to
// anyone. It shortens texts to today's length limits. because holds one decision for each item that
// was removed or shortened. A policy that could not be read removes nothing (X63).
func (t *Terms) Fit(k Kept) (less Kept, because []acap.Decision) {
	t = t.forAnyReader().Keeping(k)
	less = k
	less.Texts = maps.Clone(k.Texts)
	for _, u := range acap.Usages() {
		text, held := k.Texts[u]
		if !held {
			continue
		}
		if d, fits := t.fitText(u, &text); !fits {
			because = append(because, d)
			if less.Texts[u] = text; text.Text == "" {
				delete(less.Texts, u)
			}
		}
	}
	if d, fits := t.fitTitle(&less.Title); !fits {
		because = append(because, d)
	}
	if d := t.decide(acap.Present); len(k.Parts) > 0 && t.nothingShown() {
		less.Parts, less.Clear = nil, nil
		because = append(because, d)
	}
	return less, because
}

// fitText removes or shortens text if u no longer permits all of it. In that case fits is false and
// d is the decision responsible.
func (t *Terms) fitText(u acap.Usage, text *kept.Text) (d acap.Decision, fits bool) {
	d = t.decide(u)
	if t.unread = d.Reason == acap.Unavailable; !t.unread && !t.stillPermits(u, *text) && !t.unread {
		*text = kept.Text{}
		return t.refusalFor(d), false
	}
	limits := t.limitsOf(*text, d)
	if t.unread || !longer(text.Text, limits) {
		return d, true
	}
	cut, _ := snippet.Build(text.Text, snippet.Rules{MaxChars: limits.MaxChars, MaxWords: limits.MaxWords})
	text.Text, d.Because = cut.Text, d.Holder(t.facts, isLimited)
	return d.Refuse(acap.ByProhibition, errLonger.Error()), false
}

var errLonger = errors.New("it is longer than may be shown")

func longer(text string, l acap.Limits) bool {
	return l.MaxChars != nil && snippet.Chars(text) > *l.MaxChars || l.MaxWords != nil &&
		snippet.Words(text) > *l.MaxWords
}

// refusalFor returns a refusal that explains why stored data that d permitted may no longer be
// used.
func (t *Terms) refusalFor(d acap.Decision) acap.Decision {
	if !d.Allowed {
		return d
	}
	if uses := t.substitutes(d); len(uses) > 0 {
		err := t.usable(uses[0], d)
		if err == nil {
			err = errNotKept
		}
		d.Because = uses[0].Field
		return d.Refuse(acap.Unfulfillable, uses[0].Value+": "+err.Error())
	}
	if part, barred := t.FirstBarred(d.Usage); barred {
		return part.Refuse(acap.ByProhibition, "a part of it")
	}
	return d.Refuse(acap.Unfulfillable, "it was made from something that may no longer be used")
}

// fitTitle removes or shortens the stored title if today's policy no longer permits all of it. In
// that case fits is false and d is the decision responsible.
func (t *Terms) fitTitle(title *string) (d acap.Decision, fits bool) {
	d = t.decide(acap.PresentSnippet)
	whole, brief := t.decide(acap.Present), d
	switch {
	case *title == "", whole.Reason == acap.Unavailable, brief.Reason == acap.Unavailable:
		return d, true
	case whole.Allowed && len(t.substitutes(whole)) == 0:
		d = whole
	case !brief.Allowed || len(t.substitutes(brief)) > 0:
		*title = ""
		return t.refusalFor(brief), false
	}
	short := makeTitle(*title, d.Limits(t.facts))
	if short == *title {
		return d, true
	}
	*title, d.Because = short, d.Holder(t.facts, isLimited)
	return d.Refuse(acap.ByProhibition, errLonger.Error()), false
}

// nothingShown reports whether no presentation of the page is permitted to anyone.
func (t *Terms) nothingShown() bool {
	for _, u := range acap.Usages() {
		if d := t.decide(u); u.Presents() && (d.Allowed || d.Reason == acap.Unavailable || t.Some(u)) {
			return false
		}
	}
	return true
}
