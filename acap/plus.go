package acap

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// Plus holds the licence terms in an image (P1 2.5.3.1, 2.5.5.5 and 2.5.5.6, plus-terms): values of
// the PLUS License Data Format in its XMP, and the credit line of IPTC Photo Metadata. Values of
// the PLUS vocabulary are URIs or the last part of a URI.
type Plus struct {
	EndDate     []string `json:",omitempty"` // values of plus:LicenseEndDate
	CreditLine  []string `json:",omitempty"` // values of plus:CreditLineRequired
	Credit      []string `json:",omitempty"` // values of photoshop:Credit
	Owners      []string `json:",omitempty"` // names in plus:CopyrightOwner
	Licensors   []string `json:",omitempty"` // names in plus:Licensor
	Alterations []string `json:",omitempty"` // values of plus:ImageAlterationConstraints
	Files       []string `json:",omitempty"` // values of plus:ImageFileConstraints
	DataMining  []string `json:",omitempty"` // values of plus:DataMining, which the vocabulary plus-dmi reads
}

// plusTerms is the set of qualifiers of a permission that have the value plus-terms.
type plusTerms uint8

const (
	plusEnd         plusTerms = 1 << iota // the qualifier time-limit
	plusCredit                            // the qualifier must-include-resource
	plusAlterations                       // the qualifier prohibited-modification
)

// licensed returns a copy of p in which permissions with plus-terms are in force if t holds all
// terms that they need. In p, prohibitions replace these permissions. licensed returns p itself if
// p contains no permission with plus-terms that t completes (P1 2.5.3.1, X32).
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

// permit returns the statements of one usage. Where a prohibition in list replaces permissions with
// plus-terms, and t holds all terms that these permissions need, the result contains the
// permissions instead. ok is false if no prohibition was replaced by permissions.
func (t *Plus) permit(list []*statement) (out []*statement, ok bool) {
	if !slices.ContainsFunc(list, (*statement).waits) {
		return list, false
	}
	met := map[*statement]bool{} // whether t holds all terms that a field needs, by the first permission of the field
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

// waits reports whether permissions with plus-terms may replace s.
func (s *statement) waits() bool { return s.counts && len(s.embedded) > 0 }

// fill returns the limits of the permission s, completed with the licence terms. ok is false if a
// term is missing or unclear.
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
		if !contains(r.mods, "any") { // P1 2.5.5.5 (K01): "any" already prohibits every modification
			r.mods, r.prevents = mods, prevented(mods)
		}
	}
	return &r, true
}

// end returns the first instant at which the usage is no longer permitted: the day after the end
// date, or the time in the end date. A time without a zone is UTC, as in until-yyyy-mm-dd (P1
// 2.5.3.1, H02, X03). ok is false for a date without a day.
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

// maxCredit is the greatest length of the credit line, in bytes.
const maxCredit = 2000

// credit returns the text that must be shown with the image, or "" if none is required. The text is
// the credit line, otherwise the names of the copyright owners, otherwise the names of the
// licensors. The presenting service may choose the place of the text, because the qualifier only
// requires that the text is included (P1 2.5.5.6).
func (t *Plus) credit() (text string, ok bool) {
	v, ok := single(t.CreditLine)
	if !ok {
		return "", false
	}
	switch PlusTerm(v) {
	case "CR-NRQ":
		return "", true
	case "CR-COI", "CR-CAI", "CR-CCA": // the credit must be on the image, next to it, or in a credits area
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
// prohibits. The name of a file, and an identifier in it, are not part of the resource, so
// constraints on them prohibit nothing.
func constrained(term string) (mods []string, ok bool) {
	switch term {
	case "AL-CRP", "AL-FLP", "AL-RET": // the constraint prohibits cropping, flipping or retouching
		return []string{"appearance", "content"}, true
	case "AL-CLR", "AL-DCL": // the constraint prohibits colorization or de-colorization
		return []string{"appearance"}, true
	case "AL-MRG": // the constraint prohibits merging with other images
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

// modifications returns the modifications that the constraints on alteration and on the file
// prohibit. ok is false if a constraint is unknown, or if there is none on alteration.
func (t *Plus) modifications() (mods []string, ok bool) {
	for _, v := range slices.Concat(t.Alterations, t.Files) {
		more, known := constrained(PlusTerm(v))
		if !known {
			return nil, false
		}
		for _, m := range more {
			mods = appendNew(mods, m)
		}
	}
	return mods, len(t.Alterations) > 0
}

// single returns the value of a list whose values are all equal. ok is false if several values
// differ.
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

// PlusTerm returns the last part of a URI in the PLUS vocabulary, in upper case. A value that is no
// such URI is returned whole.
func PlusTerm(v string) string {
	v = strings.TrimSpace(v)
	for _, scheme := range [...]string{"http", "https"} {
		if rest, ok := cutFold(v, scheme+"://ns.useplus.org/ldf/vocab/"); ok {
			v = rest
		}
	}
	return strings.ToUpper(v)
}
