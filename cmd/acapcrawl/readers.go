package main

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/view"
	"github.com/acapcrawl/acapcrawl/site"
)

// serveName is the verb that has a data directory open only as long as no other process needs it.
const serveName = "serve"

// The times of readers.
const (
	forAnother   = 10 * time.Second // maximum time that a request waits until the data directory is open
	finishWithin = 5 * time.Second  // after this time, requests that run are cancelled
	// time for a process to open the data directory that it asked for; a process that needs longer asks again
	handOverTime = 500 * time.Millisecond
	watchOwner   = 250 * time.Millisecond // how often the process that has the data directory open is checked
)

// newView returns the handler of readers' requests for an open data directory.
func newView(s *site.Site, failed func(error)) (*view.Handler, error) {
	p := s.Presenter()
	refuses := func(ctx context.Context, address string, who present.Reader) bool {
		is, _, err := p.Refuses(ctx, address, who)
		return is && err == nil
	}
	return view.New(view.Options{Presenter: p, Refuses: refuses, PolicyRead: s.PolicyRead, Sites: s.Sites(),
		Explainer: s, Vocabularies: s.Vocabularies(), Totals: s.Totals, Failed: failed})
}

// readerFacts returns a function that returns what decides about restrictions to certain readers: the
// address, and by the settings the country and the domains of the address.
func (c *Command) readerFacts(cfg *config.Config) (func(context.Context, netip.Addr) (acap.Target, error), error) {
	var countries *present.Countries
	if file := cfg.CountryDatabase; file != "" {
		var err error
		if countries, err = present.OpenCountries(file); err != nil {
			return nil, misuse("", "country_database: %s: %w", file, bare(err))
		}
	}
	names := present.NewNames(c.resolver())
	return func(ctx context.Context, ip netip.Addr) (who acap.Target, err error) {
		who.IP = ip
		if countries != nil {
			if who.Country, err = countries.Country(ip); err != nil {
				return who, err
			}
		}
		if cfg.ReaderDNS {
			// without a verified name, conditions on domains are not met
			who.Domains, _ = names.Of(ctx, ip)
		}
		return who, ctx.Err()
	}, nil
}

// answerer answers a request, or returns false if it cannot because the data directory was closed.
type answerer interface {
	serve(w http.ResponseWriter, r *http.Request) bool
}

// readers answers the requests of readers: in this process while it has the data directory open,
// otherwise through the process that has it open. It implements http.Handler.
type readers struct {
	command *Command
	cfg     *config.Config
	failed  func(error)
	empty   *view.Handler // answers while the data directory is empty
	held    pool          // answers that clients have not read yet

	mu      sync.Mutex
	answers answerer      // nil: no process has the data directory open
	why     error         // why the archive cannot be read
	changed chan struct{} // closed when answers changes
}

func newReaders(c *Command, cfg *config.Config, failed func(error)) (*readers, error) {
	empty, err := newEmptyView(cfg, failed)
	return &readers{command: c, cfg: cfg, failed: failed, empty: empty, changed: make(chan struct{})}, err
}

func (rd *readers) set(answers answerer, why error) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.answers, rd.why = answers, why
	close(rd.changed)
	rd.changed = make(chan struct{})
}

func (rd *readers) current() (answerer, <-chan struct{}, error) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	return rd.answers, rd.changed, rd.why
}

// ready returns why no reader can be answered now, or nil.
func (rd *readers) ready() error {
	answers, _, why := rd.current()
	switch {
	case why != nil:
		return why
	case answers != nil:
		return nil
	}
	return errors.New("the data directory is being opened")
}

// ServeHTTP waits a short time if the data directory is passing from one process to another.
func (rd *readers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	late := time.NewTimer(forAnother)
	defer late.Stop()
	for {
		answers, changed, _ := rd.current()
		if answers != nil && rd.serve(answers, w, r) {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-late.C:
			rd.empty.Refuse(w, r, &view.Problem{Status: http.StatusServiceUnavailable, Code: "closed",
				Title:  "This archive cannot be read now",
				Detail: "It is busy or cannot be opened; the operator's log says why. Try again later.",
				Retry:  forAnother})
			return
		}
	}
}

// serve lets answers answer a request, and then sends the answer. It returns false if answers cannot answer.
func (rd *readers) serve(answers answerer, w http.ResponseWriter, r *http.Request) bool {
	a := &heldAnswer{ResponseWriter: w, pool: &rd.held, client: view.VisitorOf(r.Context()).Reader.IP}
	defer a.release()
	if !answers.serve(a, r) {
		return false
	}
	a.send(r, rd.empty.Refuse)
	return true
}

// run keeps the data directory open, and releases it to other processes that ask for it, until ctx ends.
func (rd *readers) run(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		err := rd.runOwn(ctx)
		if taken, is := errors.AsType[*busy](err); is {
			rd.runThrough(ctx, taken.owner)
			continue
		}
		if err != nil && ctx.Err() == nil {
			if empty := (*site.EmptyError)(nil); errors.As(err, &empty) {
				rd.set(newOwnReaders(rd.empty), err)
			} else {
				if err.Error() != said {
					said = err.Error()
					rd.failed(err)
				}
				rd.set(nil, err)
			}
			sleep(ctx, time.Second)
		}
	}
	rd.set(nil, ctx.Err())
}

// follow answers readers through other processes or verbs that have the data directory open, and does not open it
// itself, until ctx ends.
func (rd *readers) follow(ctx context.Context) {
	for ; ctx.Err() == nil; sleep(ctx, pause) {
		if o, ok := reachable(rd.cfg.Data); ok {
			rd.runThrough(ctx, o)
		}
	}
}

// runOwn opens the data directory in this process and answers readers until another process asks for the
// directory or ctx ends. It then waits until that process has opened it.
func (rd *readers) runOwn(ctx context.Context) (err error) {
	c := rd.command.other(ctx, rd.command.Stderr, serveName)
	d, err := c.openHeld(ctx, rd.cfg, false)
	if err != nil {
		return err
	}
	h, err := newView(d.Site, rd.failed)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	own := newOwnReaders(h)
	rd.set(own, nil)
	token, asked := "", (<-chan struct{})(nil)
	if d.host != nil {
		token, asked = d.host.token, d.host.asked
	}
	select {
	case <-asked:
	case <-ctx.Done():
	}
	rd.set(nil, nil)
	own.finish()
	err = d.Close()
	for until := time.Now().Add(handOverTime); ctx.Err() == nil && time.Now().Before(until); sleep(ctx, pause) {
		if o, ok := reachable(rd.cfg.Data); ok && o.Token != token {
			break
		}
	}
	return err
}

// runThrough answers readers through the process o until that process no longer has the data directory
// open.
func (rd *readers) runThrough(ctx context.Context, o owner) {
	through := newOtherReaders(o)
	defer through.close()
	rd.set(through, nil)
	for ctx.Err() == nil {
		sleep(ctx, watchOwner)
		if now, ok := readOwner(rd.cfg.Data); !ok || now.Token != o.Token {
			break
		}
		if _, ok := reachable(rd.cfg.Data); !ok {
			break
		}
	}
	rd.set(nil, nil)
}

// ownReaders answers readers from the data directory that this process has open.
type ownReaders struct {
	handler http.Handler
	ctx     context.Context // ends when requests that run must end
	cancel  context.CancelFunc

	mu      sync.Mutex
	over    bool
	running sync.WaitGroup
}

func newOwnReaders(h http.Handler) *ownReaders {
	own := &ownReaders{handler: h}
	own.ctx, own.cancel = context.WithCancel(context.Background())
	return own
}

// serve answers a request. It returns false if the data directory is being closed.
func (own *ownReaders) serve(w http.ResponseWriter, r *http.Request) bool {
	own.mu.Lock()
	if own.over {
		own.mu.Unlock()
		return false
	}
	own.running.Add(1)
	own.mu.Unlock()
	defer own.running.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(own.ctx, func() {
		cancel()
		if a, holds := w.(*heldAnswer); holds {
			a.end()
		}
	})()
	own.handler.ServeHTTP(w, r.WithContext(ctx))
	return true
}

// finish waits until no request runs. It cancels requests that take long.
func (own *ownReaders) finish() {
	own.mu.Lock()
	own.over = true
	own.mu.Unlock()
	late := time.AfterFunc(finishWithin, own.cancel)
	defer late.Stop()
	own.running.Wait()
	own.cancel()
}
