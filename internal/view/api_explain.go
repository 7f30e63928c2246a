package view

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/preference"
	"github.com/acapcrawl/acapcrawl/policy"
)

// apiExplain answers like the verb explain with --json, by the policy that was last read.
func (h *Handler) apiExplain(w http.ResponseWriter, r *request, v values) error {
	if h.o.Explainer == nil {
		return noPage()
	}
	q, err := h.apiQuestion(v)
	if err != nil {
		return err
	}
	var report explain.Report
	err = h.explainLast(r, q, func(e *explain.Explanation) { report = forReader(e.Report(), r.visitor) })
	if errors.Is(err, explain.ErrNeverRead) {
		return &Problem{Status: http.StatusNotFound, Code: "never-read", Title: "The policy of this site is not known",
			Detail: fmt.Sprintf("This archive has never read the robots.txt of %s.", originOf(q.URL.String()))}
	}
	if err != nil {
		return err
	}
	return writeJSON(w, r, report)
}

// forReader returns a report as a visitor may see it: without the lines of the archived page, which contain more
// than its statements, and without errors of the network.
func forReader(out explain.Report, who Visitor) explain.Report {
	for u, d := range out.Decisions {
		if b := d.Because; b != nil && (b.Source == acap.Meta || b.Source == acap.Class) {
			b.SourceLine = ""
		}
		if d.Reason == acap.Unavailable && who.Role != Operator {
			d.Note = policy.PublicWhy(d.Note)
			out.Decisions[u] = d
		}
	}
	return out
}

// apiQuestion returns the question in the parameters of a request. The error is a *Problem.
func (h *Handler) apiQuestion(v values) (q explain.Question, err error) {
	form := readForm(v.given)
	if q, err = h.question(&form); err != nil {
		return q, err
	}
	if v.given.Has("purpose") && strings.TrimSpace(form.Purpose) == "" {
		q.Crawler.Purposes = []string{} // P1 2.3.3 (C15): the crawler declares that it has no purpose
	}
	for _, u := range v.given["usage"] {
		q.Usages = append(q.Usages, acap.Usage(u))
	}
	if v.given.Has("cannot") {
		q.Crawler.Cannot = v.given["cannot"]
	}
	q.Crawler.Strict = q.Crawler.Strict || v.is("strict")
	if v.given.Has("dialect") {
		q.Crawler.Pilot = v.text("dialect") == "pilot"
	}
	if v.given.Has("for") {
		q.Crawler.For = nil
		for _, use := range v.given["for"] {
			q.Crawler.For = append(q.Crawler.For, acap.Usage(use))
		}
	}
	if v.given.Has("preferences") {
		_, settings := preference.SettingsOf(q.Crawler.Vocabularies)
		if q.Crawler.Vocabularies, err = preference.Vocabularies(v.given["preferences"], settings); err != nil {
			return q, badRequest(sentence("The parameter preferences is not valid: " + err.Error()))
		}
	}
	q.All = v.is("all")
	return q, nil
}
