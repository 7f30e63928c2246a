package conformance

import (
	"context"
	"net/url"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/check"
)

// Said holds the statements of the policy files for some crawlers and purposes.
type Said struct {
	Crawlers []string   `json:"crawlers"` // names of the crawlers; "*" is any crawler
	Purposes []string   `json:"purposes,omitempty"`
	ACAP     bool       `json:"acap"` // true for ACAP statements, false for conventional ones
	Lines    []SaidLine `json:"lines"`
}

// SaidLine is one statement of a policy file.
type SaidLine struct {
	*AuditLine
	Allow      bool         `json:"allow"`
	Usages     []acap.Usage `json:"usages"` // usages that the statement affects; empty: it has no effect
	Patterns   []string     `json:"patterns"`
	Qualifiers []string     `json:"qualifiers,omitempty"`
}

// said adds the statements to the report, grouped by crawler, in the order in which they appear.
func (a *auditor) said() {
	at := func(acapFields bool, crawlers, purposes []string) *Said {
		for i := range a.Said {
			if s := &a.Said[i]; s.ACAP == acapFields && slices.Equal(s.Crawlers, crawlers) &&
				slices.Equal(s.Purposes, purposes) {
				return s
			}
		}
		a.Said = append(a.Said, Said{Crawlers: listed(crawlers), Purposes: purposes, ACAP: acapFields})
		return &a.Said[len(a.Said)-1]
	}
	for _, f := range a.files {
		for _, st := range f.Statements() {
			s := at(true, st.Crawlers, st.Purposes)
			s.Lines = append(s.Lines, SaidLine{lineOf(st.Field), st.Allow, listed(st.Usages), listed(st.Patterns),
				st.Qualifiers})
		}
	}
	for _, f := range a.files {
		for _, g := range f.Groups() {
			for _, r := range g.Rules {
				s := at(false, g.Agents, nil)
				s.Lines = append(s.Lines, SaidLine{lineOf(r.Field), r.Allow, []acap.Usage{acap.Crawl},
					[]string{r.Pattern}, nil})
			}
		}
	}
}

// listed returns a copy of list that is not nil, so that JSON has [] and not null.
func listed[T any](list []T) []T { return append([]T{}, list...) }

// Drift is an address for which crawlers with ACAP and crawlers without ACAP (RFC 9309) decide
// differently.
type Drift struct {
	Crawler      string     `json:"crawler"` // name of the crawler; "" is any crawler that is not named
	URL          string     `json:"url"`     // one address as an example
	More         int        `json:"more"`    // number of further compared addresses with the same difference
	ACAP         bool       `json:"acap"`    // the crawler with ACAP may crawl the address
	Conventional bool       `json:"conventional"`
	By           *AuditLine `json:"by,omitempty"` // the line of the policy file that decides for a crawler with ACAP
	Without      *AuditLine `json:"without,omitempty"`
}

// maxAsked is the maximum number of additional addresses on which readings are compared.
const maxAsked = 500

// drift compares, for each address, what a crawler with ACAP and a crawler without ACAP may do by
// robots.txt.
func (a *auditor) drift(ctx context.Context) {
	if len(a.files) == 0 {
		return
	}
	robots := a.files[0]
	doc := check.NewDocument(robots.URL, a.site.Answers.Of(robots.URL, robots.Final).Body)
	doc.Referred = map[string]*acap.File{}
	for _, f := range a.files[1:] {
		doc.Referred[f.URL] = f
	}
	asked := check.Questions(a.root, doc)
	ask := check.Ask{Usages: []acap.Usage{acap.Crawl}, Crawlers: asked.Crawlers[:min(len(asked.Crawlers),
		maxAudited+1)]}
	for _, p := range a.Pages {
		if u, err := url.Parse(p.URL); err == nil {
			ask.Addresses = append(ask.Addresses, check.NewAddress(u))
		}
	}
	ask.Addresses = append(ask.Addresses, asked.Addresses[:min(len(asked.Addresses), maxAsked)]...)
	found, err := check.Compare(ctx, doc.ACAP(a.o.Check.Now), doc.Conventional(), ask.Bounded())
	if err != nil {
		return // only the end of ctx causes an error here
	}
	for _, f := range found {
		d := Drift{URL: f.Addresses[0].URL.String(), More: len(f.Addresses) - 1, ACAP: f.A.Allowed,
			Conventional: f.B.Allowed,
			By:           lineOf(f.A.Because), Without: lineOf(f.B.Because)}
		if len(f.Crawler.Names) > 0 {
			d.Crawler = f.Crawler.Names[0]
		}
		a.Drifts = append(a.Drifts, d)
	}
}
