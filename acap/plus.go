package acap

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// Plus is the licence in an image (P1 2.5.3.1, 2.5.5.5 and 2.5.5.6, plus-terms): values of the PLUS
// License Data Format in its XMP, and the credit line of IPTC Photo Metadata. Values of the
// vocabulary are URIs or their last part.
type Plus struct {
	EndDate     []string `json:",omitempty"` // plus:LicenseEndDate
	CreditLine  []string `json:",omitempty"` // plus:CreditLineRequired
	Credit      []string `json:",omitempty"` // photoshop:Credit
	Owners      []string `json:",omitempty"` // names of plus:CopyrightOwner
	Licensors   []string `json:",omitempty"` // names of plus:Licensor
	Alterations []string `json:",omitempty"` // plus:ImageAlterationConstraints
	Files       []string `json:",omitempty"` // plus:ImageFileConstraints
}

// plusTerms are the qualifiers of a permission that have the value plus-terms.
type plusTerms uint8

const (
	plusEnd         plusTerms = 1 << iota // time-limit
	plusCredit                            // must-include-resource
	plusAlterations                       // prohibited-modification
)

// licensed restores permissions with plus-terms that prohibitions replaced, if t holds all the
// terms they need. It returns p itself if there are none (P1 2.5.3.1, X32).
func (p *Policy) licensed(t *Plus) *Policy {
	if t == nil {
		return p
	}
	q, changed := *p, false
	for k := range p.by {
		if list, ok := t.permit(p.by[k]); ok {
			q.by[k], changed = list, true
			q.arrangeUsage(kind(k))
		}
	}
	if !changed {
		return p
	}
	return &q
}

// permit returns the statements of one usage with the permissions restored for which t holds the
// terms. ok is false if there are none.
func (t *Plus) permit(list []*statement) (out []*statement, ok bool) {
	if !slices.ContainsFunc(list, (*statement).waits) {
		return list, false
	}
	met := map[*statement]bool{} // by the first permission of a field
	for _, s := range list {
		if !s.waits() {
			out = append(out, s)
			continue
		}
		first := s.embedded[0]
		fulfilled, seen := met[first]
		if !seen {
			var limits *restrictions
			if limits, fulfilled = t.fill(first); fulfilled {
				for _, e := range s.embedded {
					c := *e
					c.named, c.purpose, c.limits = s.named, s.purpose, limits
					out = append(out, &c)
				}
			}
			met[first], ok = fulfilled, ok || fulfilled
		}
		if !fulfilled {
			out = append(out, s)
		}
	}
	return out, ok
}

// waits reports whether s may give way to permissions with plus-terms.
func (s *statement) waits() bool { return s.counts && len(s.embedded) > 0 }

// fill returns the limits of a permission completed with the terms. ok is false if a term is
// missing or unclear.
func (t *Plus) fill(s *statement) (limits *restrictions, ok bool) {
	r := *s.limits
	if r.plus&plusEnd != 0 {
		if r.until, r.hasUntil = t.end(); !r.hasUntil {
			return nil, false
		}
	}
	if r.plus&plusCredit != 0 {
		credit, ok := t.credit()
		if !ok {
			return nil, false
		}
		if credit != "" {
			value := scheme + "credit:text:" + url.PathEscape(credit)
			r.mustInclude = slices.Insert(slices.Clone(r.mustInclude), r.creditAt,
				&Required{Field: s.field, Value: value, Role: "credit", Text: credit, IsText: true})
		}
	}
	if r.plus&plusAlterations != 0 {
		mods, ok := t.modifications()
		if !ok {
			return nil, false
		}
		if !contains(r.mods, "any") { // P1 2.5.5.5 (K01): any says it all
			r.mods, r.prevents = mods, prevented(mods)
		}
	}
	return &r, true
}

// end returns the first instant that is no longer permitted: the day after the end date, or the
// time given with it. Without a zone it is UTC, like until-yyyy-mm-dd (P1 2.5.3.1, H02, X03). ok is
// false for a date without a day.
func (t *Plus) end() (end time.Time, ok bool) {
	v, ok := single(t.EndDate)
	if !ok {
		return end, false
	}
	if day, err := time.Parse(time.DateOnly, v); err == nil {
		return day.AddDate(0, 0, 1), true
	}
	for _, layout := range [...]string{"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02T15:04:05Z07:00",
		"2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, v); err == nil {
			return at.UTC(), true
		}
	}
	return end, false
}

// maxCredit bounds the credit line, in bytes.
const maxCredit = 2000

// credit returns the text that must be shown with the image, empty if none is required: the credit
// line, else the names of the copyright owners, else those of the licensors. The presenting service
// may choose the place of the text, since the qualifier requires only inclusion (P1 2.5.5.6).
func (t *Plus) credit() (text string, ok bool) {
	v, ok := single(t.CreditLine)
	if !ok {
		return "", false
	}
	switch vocabulary(v) {
	case "CR-NRQ":
		return "", true
	case "CR-COI", "CR-CAI", "CR-CCA": // on the image, adjacent to it, in a credits area
	default:
		return "", false
	}
	for _, names := range [...][]string{t.Credit, t.Owners, t.Licensors} {
		var all []string
		for _, n := range names {
			if n = strings.Join(strings.Fields(n), " "); n != "" {
				all = appendNew(all, n)
			}
		}
		if text = strings.Join(all, ", "); text != "" {
			return text, len(text) <= maxCredit
		}
	}
	return "", false
}

// constrained returns the modifications of P1 2.5.5.5 that a constraint of the PLUS vocabulary
// prohibits. The name of a file, and an identifier in it, are no part of the resource.
func constrained(term string) (mods []string, ok bool) {
	switch term {
	case "AL-CRP", "AL-FLP", "AL-RET": // cropping, flipping, retouching
		return []string{"appearance", "content"}, true
	case "AL-CLR", "AL-DCL": // colorization, de-colorization
		return []string{"appearance"}, true
	case "AL-MRG": // merging
		return []string{"appearance", "content", "structure"}, true
	case "IF-MMD":
		return []string{"metadata"}, true
	case "IF-MFT":
		return []string{"format"}, true
	case "IF-MFN", "IF-MID":
		return nil, true
	}
	return nil, false
}

// modifications returns what is prohibited by the constraints of alteration, which must be present,
// and those of the file.
func (t *Plus) modifications() (mods []string, ok bool) {
	for _, v := range slices.Concat(t.Alterations, t.Files) {
		more, known := constrained(vocabulary(v))
		if !known {
			return nil, false
		}
		for _, m := range more {
			mods = appendNew(mods, m)
		}
	}
	return mods, len(t.Alterations) > 0
}

// single returns the only value of a list. ok is false if several values differ.
func single(values []string) (v string, ok bool) {
	for i, w := range values {
		w = strings.TrimSpace(w)
		if i > 0 && w != v {
			return "", false
		}
		v = w
	}
	return v, v != ""
}

// vocabulary returns the last part of a URI of the PLUS vocabulary.
func vocabulary(v string) string {
	v = strings.TrimSpace(v)
	for _, scheme := range [...]string{"http", "https"} {
		if rest, ok := cutFold(v, scheme+"://ns.useplus.org/ldf/vocab/"); ok {
			v = rest
		}
	}
	return strings.ToUpper(v)
}
