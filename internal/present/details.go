package present

import (
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
)

// Details explain a result to its reader.
type Details struct {
	MIME     string
	Language string // primary language of the text; "": unknown
	// Captured is the fetch time of the current copy; zero if none is stored.
	Captured time.Time
	Copy     bool // the current copy may be shown, outside a frame
	Parts    []Part
}

// Part is a part of a result or another presentation of its page, with the decision about it.
type Part struct {
	Decision acap.Decision
	Limits   acap.Limits
	Shown    bool // the result has this part
}

// Missing returns the parts that are not shown because they may not be shown: parts of the result itself, and the
// copy.
func (d *Details) Missing() (list []Part) {
	for _, p := range d.Parts {
		if !p.Shown && !p.Decision.Allowed {
			list = append(list, p)
		}
	}
	return list
}

// describe sets the details of a result. held is the current copy; its ID is 0 if none is stored. The
// credits that a thumbnail requires join those of the result, because both are shown together.
func (s *search) describe(c *candidate, res *Result, held archive.Capture, language string) {
	out := &Details{MIME: c.resource.MIME, Language: language, Captured: held.Fetched}
	add := func(d acap.Decision, shown bool) {
		out.Parts = append(out.Parts, Part{d, d.Limits(c.facts), shown})
	}
	add(c.decision(acap.PresentLink), res.Link)
	add(c.decision(acap.PresentSnippet), res.Snippet != nil)
	if title := c.decision(acap.Present); res.Title == "" && !title.Allowed {
		add(title, false)
	}
	if res.Thumbnail != nil {
		add(c.terms.Decide(acap.PresentThumbnail), true)
		for _, in := range c.terms.Included(acap.PresentThumbnail) {
			if !slices.Contains(res.Include, in) && (res.Snippet == nil || !slices.Contains(res.Snippet.Include, in)) {
				res.Include = append(res.Include, in)
			}
		}
	}
	if held.ID != 0 {
		v := &version{Terms: c.terms, usage: acap.PresentCurrentCopy, resource: c.resource, capture: held,
			facts: c.facts}
		d, _, _ := v.decideCopy(s.who)
		out.Copy = d.Allowed
		add(d, false)
	}
	res.Details = out
}

// decision returns the decision about a part of a result. If the page has elements that the usage may
// not show, although the page itself may be shown, it is the decision about the first of them.
func (c *candidate) decision(u acap.Usage) acap.Decision {
	d := c.terms.Decide(u)
	if part, barred := c.terms.FirstBarred(u); d.Allowed && barred {
		return part
	}
	return d
}

// CountPartial counts the parts of a result that are not shown because they may not be shown.
func (f *Found) CountPartial(r Result) {
	if r.Details == nil {
		return
	}
	for _, p := range r.Details.Missing() {
		d := p.Decision
		i := slices.IndexFunc(f.Partial, func(one Partial) bool {
			return one.Usage == d.Usage && one.Reason == d.Reason
		})
		if i < 0 {
			i = len(f.Partial)
			f.Partial = append(f.Partial, Partial{Usage: d.Usage, Reason: d.Reason})
		}
		f.Partial[i].Results++
	}
}
