package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/present"
	"github.com/acapcrawl/acapcrawl/snippet"
)

func (c *Command) runSearch(ctx context.Context, cfg *config.Config, r searchRequest) (err error) {
	s, p, err := c.openPresenter(ctx, cfg, &r.judging)
	if err != nil {
		return c.orNothing(r.JSON, []struct{}{}, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	found, err := p.Search(ctx, r.Query, 0, r.Limit, present.Reader{Target: r.Reader, AsOf: r.AsOf})
	switch {
	case errors.Is(err, index.ErrQuery):
		return misuse("", "%w", err)
	case err != nil:
		return err
	}
	if r.JSON {
		if found == nil {
			found = []present.Result{}
		}
		if err := c.printJSON(found); err != nil {
			return err
		}
	} else if _, err := c.Stdout.Write([]byte(resultsInWords(found))); err != nil {
		return err
	}
	if len(found) == 0 {
		return nothing("Nothing that is held and may be shown matches.")
	}
	return nil
}

// openPresenter opens the data directory for the reader of j, of whom it finds out what was not said: policies are the last ones read,
// unless they are to be read anew.
func (c *Command) openPresenter(ctx context.Context, cfg *config.Config, j *judging) (*store, *present.Presenter, error) {
	s, err := c.openHeld(ctx, cfg, j.Refresh)
	if err != nil {
		return nil, nil, err
	}
	if err := c.locate(ctx, cfg, &j.Reader); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, present.New(s.archive, s.index, held{s.policy}), nil
}

// refresh reads the policy of every origin anew. Only the hosts that seeds named are open where their address is private.
func (c *Command) refresh(ctx context.Context, s *store) error {
	if err := c.nameSeeds(s.dir, s.gate); err != nil {
		return err
	}
	origins, err := s.policy.Origins()
	if err != nil {
		return err
	}
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil {
			return err
		}
		if _, err := s.policy.Refresh(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

func resultsInWords(found []present.Result) string {
	var b strings.Builder
	for i, r := range found {
		if i > 0 {
			b.WriteByte('\n')
		}
		if r.Title != "" {
			fmt.Fprintln(&b, r.Title)
		}
		fmt.Fprintln(&b, r.URL)
		include := r.Include
		if r.Snippet != nil {
			fmt.Fprintf(&b, "    %s\n", marked(*r.Snippet))
			include = append(include, r.Snippet.Include...)
		}
		for _, in := range include {
			if in.Role != "extract" { // it stands in the snippet
				fmt.Fprintf(&b, "    %s: %s\n", in.Role, strings.TrimSpace(in.Text+" "+in.Href))
			}
		}
	}
	return b.String()
}

// marked puts the words that were searched for between asterisks.
func marked(s snippet.Snippet) string {
	var b strings.Builder
	at := 0
	for _, m := range s.Marks {
		b.WriteString(s.Text[at:m[0]] + "*" + s.Text[m[0]:m[1]] + "*")
		at = m[1]
	}
	return b.String() + s.Text[at:]
}
