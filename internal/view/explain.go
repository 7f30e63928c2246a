package view

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// Explainer says what may be done with an address. It makes no request. It may be used concurrently.
type Explainer interface {
	// Crawler returns the crawler of this archive.
	Crawler() acap.Crawler
	// Explain answers q by the policies as they were last read. It uses what is stored about the address
	// only if the reader may see a link to it. The error wraps explain.ErrNeverRead if the policy of the
	// origin was never read.
	Explain(ctx context.Context, q explain.Question, who present.Reader) (*explain.Explanation, error)
}

const (
	maxExplaining = 2                // explanations that are made at the same time
	explainTime   = 20 * time.Second // for one explanation
	compareTime   = 10 * time.Second // for the comparison of two files
)

// explainPage is the policy explorer: the form, and the answers if there was a question.
type explainPage struct {
	Form      explainForm
	Wrong     *fieldError // a value of the form that cannot be used; then there are no answers
	Crawlers  []string    // that the robots.txt names
	Asked     bool
	Pasted    bool
	Permalink string // path and query of a question about stored policies
	NeverRead string // the origin whose policy was never read; then there are no answers
	About     explained
	Compared  *compared // nil: there was no second file
	Notes     []string
}

// explainStored answers a question about a stored policy (GET), or shows the form.
func (h *Handler) explainStored(w http.ResponseWriter, r *request) error {
	if h.o.Explainer == nil {
		return noPage()
	}
	form := readForm(r.query)
	if form == (explainForm{}) {
		return h.show(w, r, "explain.html", "Explain", explainPage{})
	}
	out := explainPage{Form: form, Asked: true, Permalink: form.permalink()}
	q, err := h.question(&form)
	if err != nil {
		return h.explainAgain(w, r, out, err)
	}
	err = h.explainLast(r, q, func(e *explain.Explanation) { out.add(h.describe(e, &out.Form, r.visitor), e) })
	if errors.Is(err, explain.ErrNeverRead) {
		out.NeverRead = originOf(q.URL.String())
	} else if err != nil {
		return err
	}
	return h.show(w, r, "explain.html", "Explain "+q.URL.String(), out)
}

// explainLast answers q by the policies that were last read, and calls describe with the answer. The error
// wraps explain.ErrNeverRead if the policy of the origin was never read; it is a *Problem if the time ends.
func (h *Handler) explainLast(r *request, q explain.Question, describe func(*explain.Explanation)) error {
	ctx, done, err := h.takeTurn(r)
	if err != nil {
		return err
	}
	defer done()
	e, err := h.o.Explainer.Explain(ctx, q, r.visitor.reader())
	switch {
	case errors.Is(err, explain.ErrNeverRead):
		return err
	case err != nil:
		return tooLong(ctx, err)
	}
	describe(e)
	return nil
}

// explainPasted answers a question about pasted texts (POST). Nothing of them is stored.
func (h *Handler) explainPasted(w http.ResponseWriter, r *request) error {
	if h.o.Explainer == nil {
		return noPage()
	}
	form, err := readPosted(w, r)
	if err != nil {
		return err
	}
	out := explainPage{Form: form, Asked: true, Pasted: true}
	if form.Robots == "" && form.Page == "" && form.Headers == "" && form.Against == "" {
		return h.explainAgain(w, r, out,
			&fieldError{"robots", "is empty, and so are the other texts: paste one of them"})
	}
	ctx, done, err := h.takeTurn(r)
	if err != nil {
		return err
	}
	defer done()
	q, err := h.question(&form)
	if err != nil {
		return h.explainAgain(w, r, out, err)
	}
	if q.Page, err = form.pasted(q.URL); err != nil {
		return h.explainAgain(w, r, out, err)
	}
	e, err := h.explainForm(ctx, q, r.visitor.reader(), &out)
	if err != nil {
		return tooLong(ctx, err)
	}
	out.add(h.describe(e, &out.Form, r.visitor), e)
	if form.Against != "" {
		if out.Compared, err = h.compareFiles(ctx, e, q, &out, r.visitor); err != nil {
			return tooLong(ctx, err)
		}
	}
	return h.showOnce(w, r, http.StatusOK, "explain.html", "Explain pasted text", out)
}

// add adds the answers of e, as they are shown.
func (p *explainPage) add(about explained, e *explain.Explanation) {
	p.About = about
	if e.Origin.Robots != nil {
		for _, name := range e.Origin.Robots.Crawlers() {
			if len(p.Crawlers) < maxNamed {
				p.Crawlers = append(p.Crawlers, shorten(name))
			}
		}
	}
}

// maxNamed is the number of crawlers that the form suggests.
const maxNamed = 50

// explainAgain shows the forms again with what was sent, and says what is wrong with a field if err is a
// *fieldError. Otherwise it returns err.
func (h *Handler) explainAgain(w http.ResponseWriter, r *request, out explainPage, err error) error {
	wrong, is := errors.AsType[*fieldError](err)
	if !is {
		return err
	}
	out.Asked, out.Wrong = false, wrong
	return h.showOnce(w, r, http.StatusBadRequest, "explain.html", "Explain", out)
}

// explainForm answers q by the pasted robots.txt, otherwise by the policy that was last read of the
// address, otherwise by an empty robots.txt.
func (h *Handler) explainForm(ctx context.Context, q explain.Question, who present.Reader, out *explainPage) (
	*explain.Explanation, error) {
	form := &out.Form
	if form.Robots != "" {
		return explain.Pasted(ctx, q, []byte(form.Robots))
	}
	if form.URL != "" && form.URL[0] != '/' {
		e, err := h.o.Explainer.Explain(ctx, q, who)
		if !errors.Is(err, explain.ErrNeverRead) {
			if err == nil {
				out.Notes = append(out.Notes, "No robots.txt was pasted, so the one that was last read of "+
					e.Origin.Key+" counts.")
			}
			return e, err
		}
	}
	form.empty = true
	return explain.Pasted(ctx, q, nil)
}

// takeTurn waits until fewer than maxExplaining explanations are being made, because one of a
// hostile file takes long. It returns the context in which to make the explanation. The caller
// must call done afterwards.
func (h *Handler) takeTurn(r *request) (limited context.Context, done func(), err error) {
	end, err := h.explaining.take(r.Context(), r.visitor.Reader.IP)
	if err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(r.Context(), explainTime)
	return limited, func() { cancel(); end() }, nil
}

// tooLong returns the problem for an explanation that was stopped, otherwise err.
func tooLong(ctx context.Context, err error) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	return &Problem{Status: http.StatusServiceUnavailable, Code: "too-slow", Title: "This takes too long",
		Detail: "The texts are so large or so complicated that the answers could not be found in time; shorten them.",
		Retry:  time.Minute}
}
