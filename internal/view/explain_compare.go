package view

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/explain"
)

// Limits on a comparison.
const (
	maxCrawlers  = 6       // crawlers for which two files are compared
	maxQuestions = 150_000 // usages of addresses, for all crawlers together
)

// compareFiles compares the robots.txt of an explanation with the second file of the form: for the crawler of
// the question, for the crawlers that the files name, and for any other.
func (h *Handler) compareFiles(ctx context.Context, e *explain.Explanation, q explain.Question, out *explainPage,
	who Visitor) (*compared, error) {
	q.Past = explain.Past{}
	then, err := explain.Pasted(ctx, q, []byte(out.Form.Against))
	if err != nil {
		return nil, err
	}
	second := h.describe(then, &explainForm{Robots: out.Form.Against, second: true}, who)
	for i := range out.About.Answers {
		out.About.Answers[i].Then = &second.Answers[i]
	}
	out.About.Sources = append(out.About.Sources, second.Sources...)
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	before, after := documentOf(e), documentOf(then)
	ask := questions(e.URL, q.Crawler, before, after)
	c := &compared{First: "First file", Second: "Second file", Refused: "Allowed by the first file, not by the second",
		Allowed: "Allowed by the second file, not by the first", Notes: ask.Left}
	var names []string
	for _, one := range ask.Crawlers {
		names = append(names, nameOf(one))
	}
	c.Crawlers = strings.Join(names, ", ")
	err = c.fill(ctx, before, after, e.Facts().Now, ask, ask.Preferences(nil, before, after))
	if errors.Is(err, context.DeadlineExceeded) {
		return &compared{Stopped: true}, nil
	}
	return c, err
}

// documentOf returns the robots.txt of an explanation, with the files to which it refers.
func documentOf(e *explain.Explanation) *check.Document {
	text := ""
	if e.Origin.Robots != nil {
		text = strings.Join(e.Origin.Robots.Lines(), "\n") + "\n"
	}
	d := check.NewDocument(e.Origin.Key+"/robots.txt", []byte(text))
	d.Referred = map[string]*acap.File{}
	d.Vocabularies = e.Crawler.Vocabularies
	for _, ref := range e.Origin.References {
		if ref.File != nil {
			d.Referred[ref.URL] = ref.File
		} else if ref.Vocabulary != "" && ref.Err == nil {
			d.Files = append(d.Files, ref)
		}
	}
	return d
}

// questions returns what to ask about two documents: for the crawler who, for some crawlers that they
// name and any other, about the address at and the addresses that their patterns cover.
func questions(at *url.URL, who acap.Crawler, docs ...*check.Document) check.Ask {
	ask := check.Questions(at, docs...)
	named := slices.DeleteFunc(ask.Crawlers, func(c acap.Crawler) bool {
		return slices.ContainsFunc(who.Names, func(name string) bool {
			return len(c.Names) > 0 && strings.EqualFold(name, c.Names[0])
		})
	})
	if n := len(named) - (maxCrawlers - 1); n > 0 {
		ask.Left = append(ask.Left, fmt.Sprintf("%d of the crawlers that the files name were left out", n))
		named = named[:maxCrawlers-1]
	}
	who.Vocabularies, who.For = nil, nil // vocabularies are compared separately
	ask.Crawlers = append([]acap.Crawler{who}, named...)
	for i := range ask.Crawlers {
		ask.Crawlers[i].Purposes, ask.Crawlers[i].Strict = who.Purposes, who.Strict
	}
	own := check.NewAddress(at)
	ask.Addresses = append([]check.Address{own}, slices.DeleteFunc(ask.Addresses, func(a check.Address) bool {
		return a.URL.String() == own.URL.String()
	})...)
	return ask.AtMost(maxQuestions)
}
