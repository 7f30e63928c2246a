package preference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Settings are choices of the operator that change verdicts.
type Settings struct {
	// UseOff turns off the key use of Content-Signal (use=immediate, use=reference, use=full).
	UseOff bool `json:"use_off,omitempty"`
	// TDMOnly limits TDMRep to the usage tdm. Otherwise it also covers train-ai, ai-use and
	// ai-index.
	TDMOnly bool `json:"tdm_only,omitempty"`
	// OperatorKind says what the operator is, in the words of RSL: commercial, non-commercial,
	// education, government or personal; "": not said.
	OperatorKind string `json:"operator_kind,omitempty"`
	// OperatorCountry is the country of the operator, as in ISO 3166-1 alpha-2 in upper case; "": not
	// said.
	OperatorCountry string `json:"operator_country,omitempty"`
}

// names are the names of the vocabularies. Of several equally strict verdicts, the first in this
// order decides.
var names = []string{"aipref", "content-signal", "tdmrep", "rsl", "noai", "plus-dmi"}

// Names returns the names of all vocabularies.
func Names() []string { return slices.Clone(names) }

// Vocabularies returns the vocabularies with the given names. The only name "none" means no
// vocabulary. It returns an error for a name that does not exist.
func Vocabularies(wanted []string, s Settings) (list []acap.Vocabulary, err error) {
	if slices.Equal(wanted, []string{"none"}) {
		return nil, nil
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no vocabulary %q of preferences: write %s", name,
				strings.Join(names, ", "))
		}
	}
	for _, v := range []acap.Vocabulary{aipref{}, signals{useOff: s.UseOff}, tdmrep{tdmOnly: s.TDMOnly},
		rsl{operator{s.OperatorKind, s.OperatorCountry}}, noai{}, plusDMI{}} {
		if slices.Contains(wanted, v.Name()) {
			list = append(list, v)
		}
	}
	return list, nil
}

// SettingsOf returns the names and the settings from which Vocabularies made a list. The rest of the
// list is ignored.
func SettingsOf(list []acap.Vocabulary) (names []string, s Settings) {
	for _, v := range list {
		switch v := v.(type) {
		case signals:
			s.UseOff = v.useOff
		case tdmrep:
			s.TDMOnly = v.tdmOnly
		case rsl:
			s.OperatorKind, s.OperatorCountry = v.kind, v.country
		case aipref, noai, plusDMI:
		default:
			continue
		}
		names = append(names, v.Name())
	}
	return names, s
}

// search lists the usages that belong to search: an index, and results with a link and an excerpt.
func search() []acap.Usage {
	return []acap.Usage{acap.Index, acap.PresentLink, acap.PresentSnippet, acap.PresentOldSnippet}
}

// verdict returns an opinion because of the field f.
func verdict(v acap.Verdict, f *acap.Field) acap.Opinion {
	o := acap.Opinion{Verdict: v, Reason: acap.ByPreference, Because: f}
	if v == acap.Agreement {
		o.Reason = acap.ByAgreement
	}
	return o
}

// opinions holds an opinion on each usage, for any resource. A missing usage is unknown.
type opinions map[acap.Usage]acap.Opinion

// add adds an opinion on several usages. The strictest opinion on a usage counts, and of equally
// strict opinions the first.
func (s opinions) add(o acap.Opinion, usages ...acap.Usage) {
	for _, u := range usages {
		if o.Verdict > s[u].Verdict {
			s[u] = o
		}
	}
}

// addAll adds the opinions of t.
func (s opinions) addAll(t opinions) {
	for u, o := range t {
		s.add(o, u)
	}
}

// Usages implements acap.Preferences.
func (s opinions) Usages() (list []acap.Usage) {
	for u := range s {
		list = append(list, u)
	}
	return list
}

// Opinion implements acap.Preferences.
func (s opinions) Opinion(u acap.Usage, _ acap.Resource) acap.Opinion { return s[u] }

// orNil returns s, or nil if s holds no opinion.
func (s opinions) orNil() acap.Preferences {
	if len(s) == 0 {
		return nil
	}
	return s
}

// joint holds the preferences of a site and of one of its pages, of which the stricter count.
type joint struct {
	site acap.Preferences
	page opinions
}

// join returns the joint preferences of a site, which may be nil, and a page.
func join(site acap.Preferences, page opinions) acap.Preferences {
	switch {
	case len(page) == 0:
		return site
	case site == nil:
		return page
	}
	return joint{site, page}
}

// Usages implements acap.Preferences.
func (j joint) Usages() []acap.Usage { return append(j.site.Usages(), j.page.Usages()...) }

// Opinion implements acap.Preferences.
func (j joint) Opinion(u acap.Usage, r acap.Resource) acap.Opinion {
	site, page := j.site.Opinion(u, r), j.page[u]
	if page.Verdict > site.Verdict {
		return page
	}
	return site
}

// headers returns the lines of the header with the given name, in order, without empty lines.
func headers(p *acap.Page, name string) (list []*acap.Tag) {
	for i := range p.Tags {
		t := &p.Tags[i]
		if t.Source == acap.Header && strings.EqualFold(t.Name, name) && strings.TrimSpace(t.Content) != "" {
			list = append(list, t)
		}
	}
	return list
}
