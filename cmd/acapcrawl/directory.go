package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/site"
)

// directory is an open data directory, which verbs of other processes may use too.
type directory struct {
	*site.Site
	// runs the verbs of other processes in this process; nil: other processes wait until the
	// directory is closed
	host    *host
	unlimit func() // removes the memory limit of the process
}

// open opens the data directory of cfg. If the verb runs in the process that already has this
// directory open, the result uses the open directory. If o.Create is true, open makes a missing
// directory.
func (c *Command) open(cfg *config.Config, o site.Options) (d *directory, err error) {
	if c.owner != nil {
		who, err := site.RecordedCrawler(cfg)
		if err != nil {
			return nil, faultOf(err)
		}
		return &directory{Site: c.owner.Lend(cfg, who)}, nil
	}
	if o.Log == nil {
		o.Log = logger(c.Stderr, cfg)
	}
	o.Notice = func(sentence string) { fmt.Fprintln(c.Stderr, "Notice: "+sentence) }
	o.Resolver, o.Free, o.Fault = c.resolver(), c.free, c.fault
	err = c.unlocked(cfg.Data, func() error {
		d, err = c.openOwn(cfg, o)
		return err
	})
	return d, faultOf(err)
}

// openOwn opens the data directory in this process.
func (c *Command) openOwn(cfg *config.Config, o site.Options) (d *directory, err error) {
	d = &directory{}
	o.Budget, d.unlimit = c.limitMemory(cfg)
	if slices.Contains(hosting, c.verb) {
		o.Owned = func() {
			if d.host, err = listen(cfg.Data, c.verb, c.Stderr); err == nil {
				d.host.own = ownSettings{c.Env, cfg.File, c.Resolver}
			} else {
				o.Notice(fmt.Sprintf("other verbs have to wait until this one ends, because their calls cannot be "+
					"received: %v", err))
			}
		}
	}
	if d.Site, err = site.Open(cfg, o); err != nil {
		if d.host != nil {
			err = errors.Join(err, d.host.close())
		}
		d.unlimit()
		return nil, err
	}
	return d, nil
}

// openHeld opens the data directory for a verb that decides about archived pages by the stored
// policies. From then on this process also runs the verbs of other processes. If refresh is true,
// openHeld reads the policies again before it returns.
func (c *Command) openHeld(ctx context.Context, cfg *config.Config, refresh bool) (*directory, error) {
	d, err := c.open(cfg, site.Options{})
	if err != nil {
		return nil, err
	}
	if err = d.Recover(ctx); err == nil {
		d.serve()
		if refresh {
			err = d.RefreshPolicies(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// serve runs the verbs of other processes from now until the directory is closed, if hosting
// contains this verb.
func (d *directory) serve() {
	if d.host == nil {
		return
	}
	d.host.serve(d.Site)
	l, err := d.ListenToCluster()
	if err != nil {
		d.host.failed(err)
	} else if l != nil {
		d.host.serveCluster(l, d.Site)
	}
}

// Close waits until the verbs that this process executes for others have ended, and closes the
// directory.
func (d *directory) Close() error {
	if d.Lent() {
		return nil
	}
	defer d.unlimit()
	if d.host != nil {
		if err := d.host.close(); err != nil {
			open, failed := d.Abandon(d.host.patient)
			return failure("acapcrawl archive verify", fmt.Errorf("%w: %s of %s could not be closed; nothing that "+
				"was stored is lost",
				errors.Join(err, failed), open, d.Dir()))
		}
	}
	return d.Site.Close()
}

// limitMemory sets the memory limit of the process, and returns the budget for pages and a function
// that removes the limit. GOMEMLIMIT takes precedence.
func (c *Command) limitMemory(cfg *config.Config) (*memory.Budget, func()) {
	limit := cfg.Memory
	if limit == 0 {
		var err error
		if limit, err = memory.Limit(); err != nil { // no limit is set if the system does not report its memory
			return memory.NewBudget(0), func() {}
		}
	}
	if slices.ContainsFunc(c.Env, func(pair string) bool { return strings.HasPrefix(pair, "GOMEMLIMIT=") }) {
		return memory.NewBudget(limit), func() {}
	}
	return memory.NewBudget(limit), memory.SetLimit(limit)
}

// openArchive opens from the data directory only the archive. The caller must call done at the end.
func (c *Command) openArchive(cfg *config.Config) (a *archive.Archive, done func() error, err error) {
	if c.owner != nil {
		return c.owner.Archive(), func() error { return nil }, nil
	}
	if site.Empty(cfg.Data) {
		return nil, nil, faultOf(&site.EmptyError{Dir: cfg.Data})
	}
	err = c.unlocked(cfg.Data, func() error {
		a, err = site.OpenArchive(cfg)
		return err
	})
	if err != nil {
		return nil, nil, faultOf(err)
	}
	return a, a.Close, nil
}

// openLedger opens from the data directory only the ledger of requests. The caller must call done
// at the end.
func (c *Command) openLedger(cfg *config.Config) (l *actions.Ledger, done func() error, err error) {
	return c.ledger(cfg, func() (*actions.Ledger, error) { return site.OpenLedger(cfg, c.verb == "actions verify") })
}

// makeLedger opens from the data directory only the ledger, and makes the ledger if it does not
// exist. The caller must call done at the end.
func (c *Command) makeLedger(cfg *config.Config) (l *actions.Ledger, done func() error, err error) {
	return c.ledger(cfg, func() (*actions.Ledger, error) { return site.MakeLedger(cfg) })
}

func (c *Command) ledger(cfg *config.Config, open func() (*actions.Ledger, error)) (l *actions.Ledger,
	done func() error, err error) {
	if c.owner != nil {
		return c.owner.Ledger(), func() error { return nil }, nil
	}
	err = c.unlocked(cfg.Data, func() error {
		l, err = open()
		return err
	})
	if err != nil {
		return nil, nil, faultOf(err)
	}
	return l, l.Close, nil
}

// recorded returns the crawler that filled the data directory, as site.RecordedCrawler does.
func recorded(cfg *config.Config) (acap.Crawler, error) {
	who, err := site.RecordedCrawler(cfg)
	return who, faultOf(err)
}

// Advice to the user about a damaged data directory.
const (
	repairVerb  = "acapcrawl archive verify --repair"
	restoreVerb = "acapcrawl archive restore of a backup, into another directory with --data"
)

// faultOf returns err as a fault if package site provides an exit status or a hint for err,
// otherwise err itself.
func faultOf(err error) error {
	var usage *site.UsageError
	var failed *site.FailedError
	var identity *site.IdentityError
	var empty *site.EmptyError
	var refused *site.RefusedError
	var f *fault
	switch {
	case err == nil, errors.As(err, &f):
	case errors.As(err, &usage):
		return &fault{status: statusUsage, err: err, try: usage.Try}
	case errors.As(err, &failed):
		return failure(failed.Try, err)
	case errors.As(err, &identity):
		return failure("crawl into the directory again, which rewrites it", err)
	case errors.As(err, &empty):
		return &fault{status: statusNothing, err: err}
	case errors.As(err, &refused):
		return refusal(err)
	case errors.Is(err, site.ErrNothing):
		return nothing("Nothing is archived that could be exported.")
	case errors.Is(err, site.ErrDamagedIndex):
		return failure(repairVerb+", which rebuilds the index from the copies", err)
	case errors.Is(err, site.ErrDamaged):
		return failure(restoreVerb+"; nothing was changed", err)
	}
	return err
}
