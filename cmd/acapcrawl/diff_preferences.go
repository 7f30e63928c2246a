package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/check"
)

// heading returns what is compared.
func (d *differ) heading() string {
	if d.docs[0].Document != d.docs[1].Document {
		return d.docs[0].name + " and " + d.docs[1].name
	}
	names := d.docs[0].name
	for _, one := range d.parts {
		names += ", " + one.name
	}
	switch readings := fmt.Sprintf("the readings %s and %s", d.docs[0].reader, d.docs[1].reader); {
	case d.request.Against == againstPreferences:
		return names + ": the vocabularies"
	case len(d.contrasts) > 0:
		return fmt.Sprintf("%s: %s, and the vocabularies", names, readings)
	default:
		return names + ": " + readings
	}
}

// contrastsOf returns as text the differences in newer vocabularies that concern crawler c.
func (d *differ) contrastsOf(c acap.Crawler) string {
	var list usageTexts
	for _, one := range d.contrasts {
		if crawlerName(one.Crawler) == crawlerName(c) {
			list.add(d.contrast(one), one.Usage)
		}
	}
	var b strings.Builder
	list.write(&b)
	return b.String()
}

// contrast returns one difference as text: the addresses, and what each vocabulary or version says.
func (d *differ) contrast(c check.Contrast) string {
	var b strings.Builder
	b.WriteString(d.addresses(c.Addresses))
	if c.Vocabulary != "" {
		b.WriteString(" in " + c.Vocabulary)
	}
	b.WriteByte('\n')
	for i, said := range c.Said {
		side, name := d.sideOf(&c, i)
		why := d.line(side, said.Because)
		if said.Note != "" {
			why += " (" + said.Note + ")"
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("    %-14s %-10s %s", name, said.Verdict, why), " ") + "\n")
		if said.Terms != "" {
			fmt.Fprintf(&b, "    %-14s the terms are at %s\n", "", d.terms(side, said.Terms))
		}
	}
	return b.String()
}

// sideOf returns the index of the document of an opinion, and its name in results.
func (d *differ) sideOf(c *check.Contrast, i int) (side int, name string) {
	if c.Vocabulary != "" {
		return i, d.docs[i].reader
	}
	return 0, c.Said[i].Vocabulary
}

// terms returns the URL of terms in d.docs[side] in the form in which it is printed: the name of
// the compared file, if it contains them.
func (d *differ) terms(side int, address string) string {
	return d.shown(d.file(side, &acap.Field{URL: address}))
}

func (d *differ) contrastJSON(c check.Contrast) differenceJSON {
	j := differenceJSON{URL: d.shown(c.Addresses[0].URL.String()), Crawler: crawlerName(c.Crawler), Usage: c.Usage,
		Vocabulary: c.Vocabulary, Lines: []int{}, By: map[string]sideJSON{}, Others: len(c.Addresses) - 1}
	if d.request.All {
		for _, a := range c.Addresses {
			j.URLs = append(j.URLs, d.shown(a.URL.String()))
		}
	}
	for i, said := range c.Said {
		side, name := d.sideOf(&c, i)
		s := sideJSON{File: d.docs[side].name, Reason: said.Reason, Note: said.Note, Verdict: said.Verdict.String(),
			Terms: d.terms(side, said.Terms)}
		d.because(&j, &s, side, said.Because)
		if s.Because != nil {
			s.File = s.Because.URL
		}
		j.By[name] = s
	}
	slices.Sort(j.Lines)
	return j
}
