package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// NewStatements returns the document of a tdmrep.json or of a licence document of the site with the
// given root URL, as kind says. vocabularies are those in which it is read.
func NewStatements(root string, kind Kind, src []byte, vocabularies []acap.Vocabulary) *Document {
	name, file, robots := tdmrepName, root+"/.well-known/tdmrep.json", ""
	if kind == RSLKind {
		name, file = rslName, root+"/license.xml"
		robots = "License: " + file + "\n"
	}
	d := NewDocument(root+"/robots.txt", []byte(robots))
	d.Files = []acap.Reference{{URL: file, Vocabulary: name, Text: src}}
	d.Vocabularies = slices.DeleteFunc(slices.Clone(vocabularies),
		func(v acap.Vocabulary) bool { return v.Name() != name })
	return d
}

// Opinions returns what the newer vocabularies of a document, and its ACAP fields, say about a
// usage of an address.
type Opinions func(acap.Usage, Address) []acap.Said

// Opinions returns the function with the opinions for one crawler.
func (d *Document) Opinions(c acap.Crawler) Opinions {
	c.Vocabularies = d.Vocabularies
	refs := d.References(c)
	for i := range refs {
		if refs[i].Vocabulary == "" {
			continue
		}
		refs[i].Err = errors.New("it was not read")
		for _, f := range d.Files {
			if f.URL == refs[i].URL {
				refs[i].Text, refs[i].Final, refs[i].Err = f.Text, f.Final, f.Err
			}
		}
	}
	p := d.File.Policy(c, refs...)
	return func(u acap.Usage, at Address) []acap.Said { return p.Opinions(u, at.resource) }
}

// Contrast is a usage about which the vocabularies of a site say different things to one crawler,
// or two versions of a document in one vocabulary.
type Contrast struct {
	Crawler    acap.Crawler
	Usage      acap.Usage
	Addresses  []Address // the first one is an example
	Vocabulary string    // the vocabulary whose versions differ; "" if vocabularies differ
	// what each vocabulary says, without those that say nothing; for versions: before and after
	Said []acap.Said
}

// Opposed returns the usages about which the vocabularies of a site say different things. docs are
// the documents of the site. The error is that of ctx.
func Opposed(ctx context.Context, docs []*Document, ask Ask) ([]Contrast, error) {
	return contrasts(ctx, ask, func(c acap.Crawler) func(acap.Usage, Address) []Contrast {
		var all []Opinions
		for _, d := range docs {
			all = append(all, d.Opinions(c))
		}
		return func(u acap.Usage, at Address) []Contrast {
			var said []acap.Said
			for _, opinions := range all {
				said = append(said, opinions(u, at)...)
			}
			if !slices.ContainsFunc(said, func(s acap.Said) bool { return s.Verdict != said[0].Verdict }) {
				return nil
			}
			return []Contrast{{Said: said}}
		}
	})
}

// restated returns the usages about which a newer vocabulary says something else in the second of
// two versions of a document. The error is that of ctx.
func restated(ctx context.Context, before, after *Document, ask Ask) ([]Contrast, error) {
	var names []string
	for _, v := range slices.Concat(before.Vocabularies, after.Vocabularies) {
		if !slices.Contains(names, v.Name()) {
			names = append(names, v.Name())
		}
	}
	return contrasts(ctx, ask, func(c acap.Crawler) func(acap.Usage, Address) []Contrast {
		a, b := before.Opinions(c), after.Opinions(c)
		return func(u acap.Usage, at Address) (list []Contrast) {
			was, is := a(u, at), b(u, at)
			for _, name := range names {
				x, y := opinionOf(was, name), opinionOf(is, name)
				if x.Verdict != y.Verdict || x.Terms != y.Terms {
					list = append(list, Contrast{Vocabulary: name, Said: []acap.Said{x, y}})
				}
			}
			return list
		}
	})
}

// opinionOf returns what a vocabulary says.
func opinionOf(list []acap.Said, name string) acap.Said {
	for _, said := range list {
		if said.Vocabulary == name {
			return said
		}
	}
	return acap.Said{Vocabulary: name}
}

// contrasts asks every question, and joins contrasts that come from the same fields.
func contrasts(ctx context.Context, ask Ask, of func(acap.Crawler) func(acap.Usage, Address) []Contrast) (
	[]Contrast, error) {
	var out []Contrast
	for _, c := range ask.Crawlers {
		judge, at := of(c), map[string]int{}
		var found []Contrast
		for i, address := range ask.Addresses {
			if i%256 == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			for _, u := range ask.Usages {
				for _, one := range judge(u, address) {
					key := one.key(u)
					n, known := at[key]
					if !known {
						n = len(found)
						at[key] = n
						one.Crawler, one.Usage = c, u
						found = append(found, one)
					}
					found[n].Addresses = append(found[n].Addresses, address)
				}
			}
		}
		slices.SortStableFunc(found, func(a, b Contrast) int {
			return slices.Index(ask.Usages, a.Usage) - slices.Index(ask.Usages, b.Usage)
		})
		out = append(out, found...)
	}
	return out, nil
}

// key returns a text that is equal for contrasts about a usage that come from the same fields.
func (c *Contrast) key(u acap.Usage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", u, c.Vocabulary)
	for _, s := range c.Said {
		fmt.Fprintf(&b, " %s %s %p %s", s.Vocabulary, s.Verdict, s.Because, s.Terms)
	}
	return b.String()
}

// Preferences returns the questions about the newer vocabularies of documents: for the crawlers and
// addresses of a, and for the given usages, or all if there are none. Documents without statements
// in these vocabularies lead to no questions.
func (a Ask) Preferences(usages []acap.Usage, docs ...*Document) Ask {
	if !slices.ContainsFunc(docs, (*Document).prefers) {
		return Ask{}
	}
	if len(usages) == 0 {
		usages = slices.DeleteFunc(append(acap.Usages(), acap.NewerUsages()...),
			func(u acap.Usage) bool { return u == acap.Other })
	}
	a.Usages, a.Left = usages, nil
	return a.AtMost(maxPreferred)
}

// prefers reports whether a document makes statements in one of its newer vocabularies.
func (d *Document) prefers() bool {
	if len(d.Vocabularies) == 0 {
		return false
	}
	lines := len(preference.Groups(d.File)) > 0 || len(preference.LicenceLines(d.File)) > 0
	return lines || slices.ContainsFunc(d.Files, func(f acap.Reference) bool { return f.Err == nil })
}
