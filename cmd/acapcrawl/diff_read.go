package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/convert"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/site"
)

// diffed reads the documents to compare.
func (c *Command) diffed(ctx context.Context, cfg *config.Config, d *differ) error {
	if d.request.History {
		return c.versions(ctx, cfg, d)
	}
	for _, arg := range d.request.Args {
		var one compared
		var err error
		if isURL(arg) {
			one, err = c.robotsOf(ctx, cfg, arg)
		} else {
			one, err = c.fileOf(cfg, d.request.Site, arg)
		}
		if err != nil {
			return err
		}
		d.docs = append(d.docs, one)
	}
	return d.sort()
}

// fileOf reads a robots.txt, a tdmrep.json or a licence document. site is nil if it is not known.
func (c *Command) fileOf(cfg *config.Config, site *url.URL, arg string) (compared, error) {
	root := nowhere
	if site != nil {
		var err error
		if root, err = policy.Key(site); err != nil {
			return compared{}, err
		}
	}
	text, err := c.readFile("diff", arg)
	if err != nil {
		return compared{}, err
	}
	one := compared{name: named(arg), kind: check.Guess(arg, text)}
	newer := vocabularies(cfg)
	switch one.kind {
	case check.TDMRepKind, check.RSLKind:
		one.Document = check.NewStatements(root, one.kind, text, newer)
	default:
		one.kind, one.Document = check.RobotsKind, check.NewDocument(root+"/robots.txt", text)
		// the file follows no reference, so only the vocabularies of its own lines are read
		one.Vocabularies = slices.DeleteFunc(newer, func(v acap.Vocabulary) bool {
			return v.Name() != convert.AIPREF && v.Name() != convert.ContentSignal
		})
	}
	return one, nil
}

// vocabularies returns the newer vocabularies that the settings turn on.
func vocabularies(cfg *config.Config) []acap.Vocabulary {
	return slices.Clone(site.CrawlerOf(cfg).Vocabularies)
}

// robotsOf requests the robots.txt of a site, and every file to which it refers.
func (c *Command) robotsOf(ctx context.Context, cfg *config.Config, arg string) (compared, error) {
	u, err := webURL(arg)
	if err != nil {
		return compared{}, err
	}
	who, err := recorded(cfg.Sender())
	if err != nil {
		return compared{}, err
	}
	if err := c.readable(cfg.SignatureKey); err != nil {
		return compared{}, err
	}
	g, err := site.NewGate(cfg, who)
	if err != nil {
		return compared{}, err
	}
	defer g.Close()
	g.Name(u)
	newer := vocabularies(cfg)
	anyone := acap.Crawler{Vocabularies: newer}
	policies := policy.New(policy.Through(g), anyone, policy.NewMemory(), policy.Options{Pace: g.Pace})
	defer policies.Close()
	g.Use(policies)
	who.Vocabularies = newer // robots.txt must permit this crawler to read tdmrep.json, which is then read for all
	if _, err := policies.For(who).Origin(ctx, u); err != nil {
		return compared{}, err
	}
	o, err := policies.Origin(ctx, u)
	switch {
	case err != nil:
		return compared{}, err
	case o.Status == policy.Unreachable:
		return compared{}, fmt.Errorf("%s/robots.txt could not be read: %s", o.Key, o.Why)
	}
	read := o.Robots.References(anyone)
	for _, one := range check.Questions(u, &check.Document{File: o.Robots}).Crawlers {
		one.Vocabularies = newer
		if !slices.ContainsFunc(o.Robots.References(one), func(r acap.Reference) bool {
			return !slices.ContainsFunc(read, func(known acap.Reference) bool { return known.URL == r.URL })
		}) {
			continue
		}
		if _, err := policies.For(one).Origin(ctx, u); err != nil {
			return compared{}, err
		}
	}
	history, err := policies.History(u)
	if err != nil {
		return compared{}, err
	}
	return versionOf(o.Key, history[len(history)-1], newer), nil
}

// versionOf converts a version from the policy store. newer are the newer vocabularies in which it
// is read.
func versionOf(key string, v policy.Version, newer []acap.Vocabulary) compared {
	return compared{name: key + "/robots.txt", Document: check.NewStored(key, v, newer), kind: check.RobotsKind}
}

// versions reads two stored versions of a site's policy. If only one version is stored, versions
// reads none.
func (c *Command) versions(ctx context.Context, cfg *config.Config, d *differ) (err error) {
	u, err := webURL(d.request.Args[0])
	if err != nil {
		return err
	}
	key, err := policy.Key(u)
	if err != nil {
		return err
	}
	s, err := c.openKnown(cfg, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	list, err := s.Policies().History(u)
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return failure("acapcrawl crawl "+key+"/", fmt.Errorf("no robots.txt of %s was ever read into %s", key,
			cfg.Data))
	}
	at := func(t time.Time) int {
		return slices.IndexFunc(list, func(v policy.Version) bool { return v.Since.After(t) }) - 1
	}
	to := len(list) - 1
	if i := at(d.request.To); !d.request.To.IsZero() && i > -2 {
		to = i
	}
	from := to - 1
	if !d.request.From.IsZero() {
		if from = at(d.request.From); from == -2 {
			from = len(list) - 1
		}
	}
	first := list[0].Since.Format(time.RFC3339)
	switch {
	case to < 0 || from < 0 && !d.request.From.IsZero():
		return misuse("--from "+first, "no version of %s from before %s is known", key, first)
	case from < 0:
		fmt.Fprintf(c.Stderr, "Notice: one version of %s/robots.txt is known up to then, since %s.\n", key, first)
		return nil
	}
	for _, i := range []int{from, to} {
		one := versionOf(key, list[i], vocabularies(cfg))
		one.name += "@" + list[i].Since.Format(time.RFC3339)
		d.docs = append(d.docs, one)
	}
	return nil
}

// openKnown opens the data directory to read the stored data about a site. If the directory is
// empty, openKnown returns an error with exit status 4, because exit status 1 of the verb diff
// means a difference.
func (c *Command) openKnown(cfg *config.Config, origin string) (*directory, error) {
	d, err := c.open(cfg, site.Options{})
	if none, is := errors.AsType[*site.EmptyError](err); is {
		return nil, failure("acapcrawl crawl "+origin+"/", fmt.Errorf("nothing is archived in %s yet", none.Dir))
	}
	return d, err
}
