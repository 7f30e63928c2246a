package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/conformance"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// runExplain reads the policy of the URL's origin now, and the page with --page or from what is held, and says what that permits.
func (c *Command) runExplain(ctx context.Context, cfg *config.Config, r explainRequest) error {
	who, err := recorded(cfg)
	if err != nil {
		return err
	}
	g := newGate(cfg, who)
	defer g.Close()
	past, err := pastOf(cfg, r.URL, g)
	if err != nil {
		return err
	}
	g.Name(r.URL)
	e := explainer{gate: g, policies: policy.New(policyFiles{g}, who, policy.NewMemory(), policy.Options{Pace: g.Pace})}
	defer e.policies.Close()
	g.Use(e.policies)
	origin, err := e.policies.Origin(ctx, r.URL)
	if err != nil {
		return err
	}
	if err := e.explain(ctx, origin, r, past); err != nil {
		return err
	}
	usages := r.Usages
	if len(usages) == 0 {
		usages = acap.Usages()
	}
	decisions := map[acap.Usage]conformance.Decision{}
	refused := false
	for _, u := range usages {
		d := e.Decide(u)
		answer := conformance.NewDecision(d, e.Facts())
		answer.Note = d.Note
		decisions[u] = answer
		refused = refused || !d.Allowed
	}
	if r.JSON {
		err = c.printJSON(map[string]any{"url": r.URL.String(), "policy": origin.Status, "decisions": decisions})
	} else {
		err = c.printTerms(r.URL, who, origin, &e, usages)
	}
	if err == nil && refused && len(r.Usages) > 0 {
		return &fault{status: statusRefused, err: errors.New("")}
	}
	return err
}

// explainer answers for one URL.
type explainer struct {
	*terms.Reached
	gate     *gate.Gate
	policies *policy.Authority
	led      *acap.Decision // a redirect leads to where crawl is refused
}

// Decide refuses crawl also where a redirect leads to what may not be crawled.
func (e *explainer) Decide(u acap.Usage) acap.Decision {
	if d := e.Reached.Decide(u); u != acap.Crawl || !d.Allowed || e.led == nil {
		return d
	}
	return *e.led
}

// explain finds the terms: of the page fetched now, of what is held, or of the address alone.
func (e *explainer) explain(ctx context.Context, origin *policy.Origin, r explainRequest, past past) error {
	facts := acap.Facts{Now: r.AsOf, FirstCrawled: past.FirstCrawled, FirstIndexed: past.FirstIndexed, FirstPreserved: past.FirstPreserved,
		FirstPresented: past.FirstPresented, Target: r.Reader}
	if facts.Now.IsZero() {
		facts.Now = time.Now().UTC()
	}
	sources := terms.Sources{Policies: e.policies, Fetcher: parts{e.gate}}
	var pg *page.Page
	switch {
	case r.Page:
		var err error
		if pg, err = e.fetch(ctx, r.URL); err != nil {
			return err
		}
	case past.URL != "":
		e.Reached = &terms.Reached{Terms: terms.Held(ctx, origin.Policy, r.URL, past.Own, nil, sources, facts)}
		return nil
	case past.led != "":
		if err := e.hop(ctx, past.led); err != nil {
			return err
		}
	}
	var err error
	e.Reached, err = terms.Reach(ctx, origin.Policy, r.URL, pg, sources, facts)
	return err
}

// hop notes that a redirect leads to address, if crawl is refused there now.
func (e *explainer) hop(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	p, err := e.policies.Policy(ctx, u)
	if err != nil {
		return err
	}
	if d := p.Decide(acap.Crawl, acap.NewResource(u)); !d.Allowed {
		d.Note = "it leads to " + address
		e.led = &d
	}
	return nil
}

// fetch fetches the page through the gate; a refusal by policy is no error here: it is what the decisions will say.
func (e *explainer) fetch(ctx context.Context, u *url.URL) (*page.Page, error) {
	t, err := e.gate.Get(ctx, gate.PageRequest, u.String())
	var refused *gate.Refusal
	switch {
	case errors.As(err, &refused) && refused.Rule == "":
		return nil, e.hop(ctx, refused.URL)
	case err != nil:
		return nil, fmt.Errorf("%s could not be fetched: %w", u, err)
	}
	pg := pageOf(t)
	if s := pg.Last().Status; s < 200 || s > 299 {
		return nil, fmt.Errorf("%s answers with status %d: there is no page to read statements from", u, s)
	}
	return pg, nil
}

// past is what earlier crawls know of a URL.
type past struct {
	archive.Resource
	led string // where a redirect led that was refused
}

// pastOf gives what the data directory knows of u, and opens the hosts that its seeds named; nothing where there is none, or while
// another process has it.
func pastOf(cfg *config.Config, u *url.URL, g *gate.Gate) (p past, err error) {
	if empty(cfg.Data) {
		return p, nil
	}
	a, err := archive.Open(cfg.Data, archive.Options{})
	if errors.Is(err, archive.ErrLocked) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	address, err := crawler.Normal(u.String())
	if err != nil {
		return p, err
	}
	err = withFrontier(cfg.Data, func(f *crawler.Frontier) error {
		seeds, err := f.Seeds()
		if err != nil {
			return err
		}
		name(g, seeds)
		rec, _, err := f.Get(address)
		p.led = rec.Led
		return err
	})
	if err != nil {
		return p, err
	}
	final, err := a.Resolve(address)
	if err != nil {
		return p, err
	}
	p.Resource, _, err = a.Resource(final)
	return p, err
}

// printTerms writes a decision per usage with its line and its limits, and then what is wrong with the policy.
func (c *Command) printTerms(u *url.URL, who acap.Crawler, origin *policy.Origin, t *explainer, usages []acap.Usage) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %s\n", u, strings.Join(who.Names, ", "))
	switch origin.Status {
	case policy.None:
		fmt.Fprintf(&b, "%s/robots.txt: status %d, there are no restrictions\n", origin.Key, origin.HTTP)
	case policy.Unreachable:
		fmt.Fprintf(&b, "%s/robots.txt could not be read: %s\n", origin.Key, origin.Why)
	}
	b.WriteByte('\n')
	for _, usage := range usages {
		d := t.Decide(usage)
		word := "prohibited"
		if d.Allowed {
			word = "permitted"
		}
		fmt.Fprintf(&b, "%-21s %-11s %s\n", usage, word, d.Why())
		if b2 := d.Because; b2 != nil && b2.Source == acap.Robots {
			if source := origin.Robots.Line(b2.Line); source != "" && strings.TrimSpace(source) != b2.Text {
				fmt.Fprintf(&b, "%33s %s\n", "", strings.TrimSpace(source))
			}
		}
		for _, s := range limitsInWords(d.Limits(t.Facts())) {
			fmt.Fprintf(&b, "%33s %s\n", "", s)
		}
	}
	if findings := t.Policy().Findings(); len(findings) > 0 {
		b.WriteString("\nWhat the publisher should know:\n")
		for _, f := range findings {
			fmt.Fprintf(&b, "  %s: %s\n", f.Severity, f)
		}
	}
	_, err := c.Stdout.Write([]byte(b.String()))
	return err
}

// limitsInWords writes each limit as one line.
func limitsInWords(l acap.Limits) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if !l.Until.IsZero() {
		add("until %s", l.Until.Format(time.RFC3339))
	}
	if l.UntilRecrawled {
		add("until it is crawled again")
	}
	if l.MaxChars != nil {
		add("at most %d characters", *l.MaxChars)
	}
	if l.MaxWords != nil {
		add("at most %d words", *l.MaxWords)
	}
	for _, list := range []struct {
		words  string
		values []string
	}{{"made only from", l.MustUse}, {"only with", l.MustInclude}, {"without modification of", l.ProhibitedModification},
		{"never", l.ProhibitedContext}, {"only", l.RequiredContext}, {"only for readers who meet", l.Target},
		{"only at", l.Location}, {"ask at", l.UsageRef}} {
		if len(list.values) > 0 {
			add("%s %s", list.words, strings.Join(list.values, ", "))
		}
	}
	return out
}
