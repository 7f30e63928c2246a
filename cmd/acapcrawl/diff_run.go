package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// nowhere is used as the site of a file if the user named no site. It is never printed.
const nowhere = "http://example.com"

// compared is one of the two robots.txt, or one of the two readings of a robots.txt, that the verb
// diff compares.
type compared struct {
	*check.Document
	name   string // name or URL of the file, printed before each line of the file
	reader string // name of this reading in the result
	kind   check.Kind
}

// runDiff compares two readings of one robots.txt, or two versions.
func (c *Command) runDiff(ctx context.Context, cfg *config.Config, r diffRequest) error {
	d := differ{request: &r, now: time.Now().UTC(), strict: cfg.Policy.Strict}
	if err := c.diffed(ctx, cfg, &d); err != nil {
		return err
	}
	if len(d.docs) == 0 { // no version is stored
		return c.printDiff(&d)
	}
	base, err := url.Parse(d.docs[0].File.URL)
	if err != nil {
		return err
	}
	var documents []*check.Document
	for _, one := range append(slices.Clip(d.docs), d.parts...) {
		documents = append(documents, one.Document)
	}
	d.ask = check.Questions(base, documents...)
	d.narrow()
	if err := c.addresses(ctx, cfg, &d, base); err != nil {
		return err
	}
	if err := d.compare(ctx); err != nil {
		return err
	}
	for _, sentence := range slices.Concat(d.ask.Left, d.notes) {
		fmt.Fprintf(c.Stderr, "Notice: %s.\n", strings.Map(visible, sentence))
	}
	return c.printDiff(&d)
}

// differ compares two versions of a robots.txt, or two readings of one robots.txt.
type differ struct {
	request *diffRequest
	now     time.Time
	strict  bool
	docs    []compared // one document, or the versions before and after
	parts   []compared // for one document: other files of its site
	ask     check.Ask
	notes   []string // notes for the user, without a full stop

	found []check.Difference
	// usages about which the vocabularies of the site, or the versions in a vocabulary, differ
	contrasts []check.Contrast
	changes   []check.Change
	partial   bool // some addresses were not compared
	// the conventional reading, if found contains differences from the reading of another library
	blind check.Reading
}

// sort finds out whether the documents are two versions, or several files of one site, which have
// different kinds.
func (d *differ) sort() error {
	kinds := map[check.Kind]bool{}
	for _, one := range d.docs {
		kinds[one.kind] = true
	}
	two := len(d.docs) > 1
	switch {
	case two && len(kinds) == len(d.docs) && !slices.ContainsFunc(d.request.Args, isURL):
		order := []check.Kind{check.RobotsKind, check.TDMRepKind, check.RSLKind}
		slices.SortFunc(d.docs, func(a, b compared) int {
			return slices.Index(order, a.kind) - slices.Index(order, b.kind)
		})
		d.docs, d.parts = slices.Clone(d.docs[:1]), d.docs[1:]
	case len(d.docs) > 2 || len(kinds) > 1:
		return misuse("", "two versions of one file are compared, or up to three files of one site: robots.txt, "+
			"tdmrep.json and a licence document")
	case two && (d.request.Against != againstConventional || d.request.Alone || d.request.Case):
		return misuse("", "--against, --alone and --case compare readings of one file, not two versions")
	}
	return nil
}

// narrow removes from the comparison all crawlers and usages except the requested ones, and sets
// the purposes of the crawlers.
func (d *differ) narrow() {
	if names := d.request.Crawlers; len(names) > 0 {
		d.ask.Crawlers = nil
		for _, name := range names {
			one := acap.Crawler{Names: []string{name}}
			if name == "*" {
				one.Names = nil
			}
			d.ask.Crawlers = append(d.ask.Crawlers, one)
		}
	}
	for i := range d.ask.Crawlers {
		one := &d.ask.Crawlers[i]
		one.Purposes, one.Strict = d.request.Purposes, d.strict
	}
	if len(d.request.Usages) > 0 {
		d.ask.Usages = d.request.Usages
	}
	seen := map[string]bool{}
	for _, doc := range d.docs {
		for _, s := range doc.File.Statements() {
			for _, p := range s.Purposes {
				seen[p] = true
			}
		}
	}
	if len(seen) > 0 && d.request.Purposes == nil {
		d.notes = append(d.notes, "the crawlers declare no purpose, so permissions for a single purpose do not "+
			"count: declare purposes with --purpose")
	}
}

// addresses replaces the example addresses with those that the user requested.
func (c *Command) addresses(ctx context.Context, cfg *config.Config, d *differ, base *url.URL) error {
	var list []check.Address
	var err error
	switch {
	case d.request.URLs != "":
		list, err = c.listedAddresses(d, base)
	case d.request.Held:
		list, err = c.heldAddresses(ctx, cfg, base)
	default:
		if d.request.Case {
			d.ask.Addresses = append(d.ask.Addresses, check.OtherCase(d.ask.Addresses)...)
		}
		if d.request.Against == againstTemoto {
			d.ask.Addresses = append(d.ask.Addresses, check.Deeper(d.ask.Addresses)...)
		}
		d.ask = d.ask.Bounded()
		return nil
	}
	d.ask.Addresses = list
	d.ask = d.ask.Bounded()
	return err
}

// listedAddresses reads a file with an address on each line.
func (c *Command) listedAddresses(d *differ, base *url.URL) ([]check.Address, error) {
	text, err := c.readFile("--urls", d.request.URLs)
	if err != nil {
		return nil, err
	}
	var out []check.Address
	others := 0
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		u, err := url.Parse(line)
		switch {
		case err == nil && u.Host == "" && u.Scheme == "" && strings.HasPrefix(line, "/"):
			u = base.ResolveReference(u)
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return nil, misuse("", "--urls: line %d of %s is neither an http or https URL nor a path: %q", i+1,
				named(d.request.URLs), line)
		}
		u.Fragment, u.RawFragment = "", ""
		key, err := policy.Key(u)
		if err != nil {
			return nil, misuse("", "--urls: line %d of %s: %w", i+1, named(d.request.URLs), err)
		}
		if base.Scheme+"://"+base.Host != nowhere && key != base.Scheme+"://"+base.Host {
			others++
			continue
		}
		out = append(out, check.NewAddress(u))
	}
	if others > 0 {
		d.notes = append(d.notes, fmt.Sprintf("%s of other sites than %s://%s were left out",
			several(others, "address"), base.Scheme, base.Host))
	}
	if len(out) == 0 {
		return nil, misuse("", "--urls: %s names no address of the site", named(d.request.URLs))
	}
	return out, nil
}

// heldAddresses returns the archived addresses of a site.
func (c *Command) heldAddresses(ctx context.Context, cfg *config.Config, base *url.URL) (out []check.Address,

	err error) {
	site := base.Scheme + "://" + base.Host
	s, err := c.openKnown(cfg, site)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	seen := map[string]bool{}
	err = s.Archive().EachCapture(func(cp archive.Capture) error {
		u, err := url.Parse(cp.URL)
		if err != nil || seen[cp.URL] {
			return ctx.Err()
		}
		seen[cp.URL] = true
		key, err := policy.Key(u)
		// P1 2.6.2 (P04): a page under a take-down is invisible even before it is erased
		if err == nil && key == site && terms.TakenDown(ctx, s.LastPolicies(), cp.URL) == nil {
			out = append(out, check.NewAddress(u))
		}
		return ctx.Err()
	})
	if err == nil && len(out) == 0 {
		return nil, failure("acapcrawl crawl "+site+"/", fmt.Errorf("nothing of %s is archived in %s", site, cfg.Data))
	}
	return out, err
}

// compare compares the documents or readings, and stores the differences in d.
func (d *differ) compare(ctx context.Context) (err error) {
	first := d.docs[0]
	if len(d.docs) == 2 {
		d.docs[0].reader, d.docs[1].reader = "before", "after"
		second := d.docs[1].Document
		ask := d.ask.Preferences(d.request.Usages, first.Document, second)
		r, err := check.CompareVersions(ctx, first.Document, second, d.now, d.ask, ask)
		d.found, d.changes, d.contrasts = r.Decisions, r.Changes, r.Contrasts
		d.notes = slices.Concat(d.notes, r.Left, ask.Left)
		return err
	}
	d.docs = append(d.docs, first)
	d.docs[0].reader, d.docs[1].reader = "ACAP", d.request.Against
	d.ask.Crawled = true
	if d.request.Against != againstTemoto {
		all := []*check.Document{first.Document}
		for _, one := range d.parts {
			all = append(all, one.Document)
		}
		ask := d.ask.Preferences(d.request.Usages, all...)
		d.notes = append(d.notes, ask.Left...)
		if d.contrasts, err = check.Opposed(ctx, all, ask); err != nil || d.request.Against == againstPreferences {
			return err
		}
	}
	return d.compareReadings(ctx)
}

// compareReadings compares the ACAP reading of one document with another reading.
func (d *differ) compareReadings(ctx context.Context) (err error) {
	first := d.docs[0]
	acapReading := first.ACAP(d.now)
	if d.request.Alone {
		d.docs[0].reader = "only ACAP"
		acapReading = first.Alone(d.now)
	}
	if d.request.Against == againstTemoto {
		temoto, left, err := first.Temoto()
		if err != nil {
			return fmt.Errorf("temoto/robotstxt reads nothing of %s: %w", first.name, err)
		}
		d.blind = first.Conventional()
		d.found, err = check.Compare(ctx, acapReading, temoto, d.ask)
		d.notes, d.partial = append(d.notes, left()...), len(left()) > 0
		return err
	}
	if d.found, err = check.Compare(ctx, acapReading, first.Conventional(), d.ask); err != nil ||
		d.request.URLs != "" || d.request.Held {
		return err
	}
	return d.besides(ctx, acapReading)
}

// besides adds a note for each of the flags --case and --alone that would find more differences,
// with their number.
func (d *differ) besides(ctx context.Context, reading check.Reading) error {
	first := d.docs[0]
	if !d.request.Case {
		more := d.ask
		more.Addresses = append(slices.Clip(more.Addresses), check.OtherCase(more.Addresses)...)
		all, err := check.Compare(ctx, reading, first.Conventional(), more.Bounded())
		if err != nil {
			return err
		}
		if n := len(all) - len(d.found); n > 0 {
			d.notes = append(d.notes, fmt.Sprintf("--case lists %s more, in addresses of other letter case: ACAP "+
				"ignores case and conventional rules do not", several(n, "difference")))
		}
	}
	if !d.request.Alone {
		alone, err := check.Compare(ctx, first.Alone(d.now), first.Conventional(), d.ask)
		if err != nil {
			return err
		}
		if n := len(alone) - len(d.found); n > 0 {
			d.notes = append(d.notes, fmt.Sprintf("--alone lists %s more between ACAP records and conventional ones; "+
				"a crawler that reads ACAP obeys both, so they are no differences for it", several(n, "difference")))
		}
	}
	return nil
}
