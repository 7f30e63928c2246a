package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/defect"
	"github.com/acapcrawl/acapcrawl/disk"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/memory"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/present"
	"github.com/acapcrawl/acapcrawl/terms"
)

// store is an open data directory.
type store struct {
	defects func(*defect.Error) // logs panics that were caught
	dir     string
	stderr  io.Writer // for notices
	who     acap.Crawler
	archive *archive.Archive
	index   *index.Index
	policy  *policy.Authority
	ledger  *actions.Ledger
	gate    *gate.Gate
	names   *present.Names
	erased  *erasures // what is erased while the directory is open

	holdings *holdings.Holdings // set by hold
	frontier *crawler.Frontier  // of the crawl that owns the directory; nil: no crawl is under way
	crawl    *handler           // of that crawl
	room     *disk.Room         // on the disk of the directory
	lent     bool               // by the process that owns the directory: whoever has it closes nothing
	budget   *memory.Budget     // of the pages at hand
	unlimit  func()             // takes the limit of memory back
	host     *host              // takes in the verbs of other processes; nil: they wait
}

// openStore opens the data directory of cfg, and makes it with create. A verb that others may go through calls serve when all it needs
// is in the store.
func (c *Command) openStore(cfg *config.Config, who acap.Crawler, o policy.Options, create bool) (s *store, err error) {
	if c.owner != nil {
		return c.owner.lend(who), nil
	}
	err = c.unlocked(cfg.Data, func() error {
		s, err = c.ownStore(cfg, who, o, create)
		return err
	})
	return s, err
}

// ownStore is openStore where no other process has the directory. The archive comes first: who has it owns the directory.
func (c *Command) ownStore(cfg *config.Config, who acap.Crawler, o policy.Options, create bool) (s *store, err error) {
	g, err := senderGate(cfg, who)
	if err != nil {
		return nil, err
	}
	rules, err := ledgerOptions(cfg)
	if err != nil {
		return nil, err
	}
	o.Defect = defects(logger(c.Stderr, cfg))
	s = &store{dir: cfg.Data, stderr: c.Stderr, who: who, defects: o.Defect, gate: g,
		names: present.NewNames(c.resolver()), erased: &erasures{}}
	s.budget, s.unlimit = c.limitMemory(cfg)
	if create {
		err = os.MkdirAll(cfg.Data, 0o700)
	} else if empty(cfg.Data) {
		return nil, errEmpty(cfg.Data)
	}
	if err != nil {
		return nil, s.fault(err)
	}
	defer func() {
		if err != nil {
			s.Close()
			s, err = nil, s.fault(err)
		}
	}()
	s.room = disk.NewRoom(cfg.Data, disk.Options{Least: cfg.MinFree, Free: c.free})
	kept := archive.Options{Erased: s.erased.note}
	if c.fault != nil {
		kept.Fault = func(archive.Step) error { return c.fault() }
		rules.Now = func() time.Time { _ = c.fault(); return time.Now() }
	}
	if s.archive, err = archive.Open(cfg.Data, kept); err != nil {
		return s, err
	}
	s.room.Make() // whoever has the directory may have a take-down to execute
	rules.Room = s.room.Make
	if create {
		if err = s.room.Keep(); err != nil {
			return s, err
		}
	}
	if slices.Contains(hosting, c.verb) {
		if s.host, err = listen(cfg.Data, c.verb, c.Stderr); err != nil {
			fmt.Fprintf(c.Stderr, "Notice: other verbs have to wait until this one ends, since they cannot be listened to: %v\n", err)
		}
	}
	if s.index, err = index.Open(filepath.Join(cfg.Data, "index")); err != nil {
		return s, err
	}
	if version, err := s.index.MadeBy(); err != nil {
		return s, err
	} else if version != index.Version {
		fmt.Fprintln(c.Stderr, "Notice: an earlier version of this program made the index. It is rebuilt from the copies held. "+
			"A page without a copy may not be found by a phrase, or by words of Chinese, Japanese or Persian, until it is crawled again.")
	}
	if s.ledger, err = actions.Open(filepath.Join(cfg.Data, "actions.db"), rules); err != nil {
		return s, err
	}
	policies, err := policy.Open(filepath.Join(cfg.Data, "policy.db"))
	if err != nil {
		return s, err
	}
	o.Pace = s.gate.Pace
	s.policy = policy.New(policyFiles{s.gate}, who, policies, o)
	return s, nil
}

// empty reports whether nothing was ever crawled into dir. A directory that has keys but no archive is damaged, not empty.
func empty(dir string) bool {
	for _, name := range []string{"archive.db", "keys.db"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	return true
}

// nothingYet says that nothing was ever crawled into a directory.
type nothingYet struct{ dir string }

func (n *nothingYet) Error() string {
	return fmt.Sprintf("Nothing is held in %s yet: acapcrawl crawl fills it.", n.dir)
}

// errEmpty is the answer of verbs that have nothing to look at.
func errEmpty(dir string) error {
	return &fault{status: statusNothing, err: &nothingYet{dir}}
}

// fault says what is wrong with the data directory. That it is locked stays to be seen.
func (s *store) fault(err error) error {
	switch {
	case errors.Is(err, index.ErrCorrupt):
		return failure(repairVerb+", which makes the index anew from the copies", err)
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, actions.ErrDamaged):
		return failure(restoreVerb+"; nothing was changed", err)
	}
	return err
}

// lend gives the store to a command that judges for who.
func (s *store) lend(who acap.Crawler) *store {
	lent := *s
	lent.who, lent.policy, lent.lent, lent.host = who, s.policy.For(who), true, nil
	return &lent
}

// serve lets verbs of other processes use the store from now until it is closed, if its verb is one they go through. Nothing of the
// store may be set after it.
func (s *store) serve() {
	if s.host != nil {
		s.host.serve(s)
	}
}

// hold opens the holdings, or gives those of the process that owns the directory. They are closed with the store.
func (s *store) hold(ctx context.Context, sources terms.Sources, o holdings.Options) (h *holdings.Holdings, err error) {
	if s.holdings == nil {
		o.Budget, o.Defect, o.Scarce, o.Erased = s.budget, s.defects, s.room.Scarce, s.erased.note
		if s.holdings, err = holdings.Open(ctx, s.archive, s.index, sources, o); err != nil {
			return nil, err
		}
		if n := s.holdings.Behind(); n > 0 {
			fmt.Fprintf(s.stderr, "Notice: the disk of %s has no room for the index entries of %s, which searches do not find. Free space there.\n",
				s.dir, several(n, "page"))
		}
	}
	return s.holdings, err
}

// openRecorded opens the data directory as the crawler that its policies were read for.
func (c *Command) openRecorded(cfg *config.Config) (*store, error) {
	who, err := recorded(cfg)
	if err != nil {
		return nil, err
	}
	return c.openStore(cfg, who, policy.Options{}, false)
}

// openHeld opens the data directory for a verb that judges what is held by the policies last read, and lets other verbs in. With
// refresh, policies are read anew first.
func (c *Command) openHeld(ctx context.Context, cfg *config.Config, refresh bool) (*store, error) {
	s, err := c.openRecorded(cfg)
	if err != nil {
		return nil, err
	}
	known := s.held()
	_, err = s.hold(ctx, terms.Sources{Policies: known}, holdings.Options{NoArchive: cfg.Policy.NoarchivePreserve, Version: known.version})
	if err == nil {
		s.serve()
		if refresh {
			err = c.refresh(ctx, s)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openArchive opens the archive alone, until done is called.
func (c *Command) openArchive(cfg *config.Config) (a *archive.Archive, done func() error, err error) {
	if c.owner != nil {
		return c.owner.archive, func() error { return nil }, nil
	}
	if empty(cfg.Data) {
		return nil, nil, errEmpty(cfg.Data)
	}
	err = c.unlocked(cfg.Data, func() error {
		a, err = archive.Open(cfg.Data, archive.Options{})
		return (&store{dir: cfg.Data}).fault(err)
	})
	if err != nil {
		return nil, nil, err
	}
	return a, a.Close, nil
}

// openLedger opens the ledger of action requests alone, until done is called.
func (c *Command) openLedger(cfg *config.Config) (l *actions.Ledger, done func() error, err error) {
	if c.owner != nil {
		return c.owner.ledger, func() error { return nil }, nil
	}
	name := filepath.Join(cfg.Data, "actions.db")
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		return nil, nil, errEmpty(cfg.Data)
	}
	rules, err := ledgerOptions(cfg)
	if err != nil {
		return nil, nil, err
	}
	rules.Check = c.verb == "actions verify"
	err = c.unlocked(cfg.Data, func() error {
		l, err = actions.Open(name, rules)
		return (&store{dir: cfg.Data}).fault(err)
	})
	if err != nil {
		return nil, nil, err
	}
	return l, l.Close, nil
}

// Close closes what is open.
func (s *store) Close() error {
	if s.lent {
		return nil
	}
	if s.host != nil {
		if err := s.host.close(); err != nil {
			return s.leave(err)
		}
	}
	var errs []error
	if s.holdings != nil {
		errs = append(errs, s.holdings.Close())
	}
	if s.frontier != nil {
		errs = append(errs, s.frontier.Close())
	}
	if s.policy != nil {
		errs = append(errs, s.policy.Close())
	}
	if s.ledger != nil {
		errs = append(errs, s.ledger.Close())
	}
	if s.index != nil {
		errs = append(errs, s.index.Close())
	}
	if s.archive != nil {
		errs = append(errs, s.room.Keep(), s.archive.Close()) // as long as nobody else has the directory
	}
	s.gate.Close()
	s.unlimit()
	return errors.Join(errs...)
}

// limitMemory sets the memory limit of the process, and returns the budget for pages and a function
// that undoes the limit. GOMEMLIMIT takes precedence.
func (c *Command) limitMemory(cfg *config.Config) (*memory.Budget, func()) {
	limit := cfg.Memory
	if limit == 0 {
		var err error
		if limit, err = memory.Limit(); err != nil { // as where the system does not say it: then nothing is set
			return memory.NewBudget(0), func() {}
		}
	}
	if slices.ContainsFunc(c.Env, func(pair string) bool { return strings.HasPrefix(pair, "GOMEMLIMIT=") }) {
		return memory.NewBudget(limit), func() {}
	}
	return memory.NewBudget(limit), memory.SetLimit(limit)
}

// leave closes what a guest that does not end leaves alone, and says what stays open. Nothing acknowledged is lost by that: all of it is
// on disk, and the frontier, of which the last moments are not, is waited for for a while.
func (s *store) leave(why error) error {
	open := "archive, index, policies and requests"
	if s.frontier != nil {
		closed := make(chan error, 1)
		go func() { closed <- s.frontier.Close() }()
		select {
		case err := <-closed:
			why = errors.Join(why, err)
		case <-time.After(s.host.patient):
			open += ", and frontier"
		}
	}
	return failure("acapcrawl archive verify", fmt.Errorf("%w: %s of %s could not be closed; nothing that was kept is lost", why, open, s.dir))
}

// ledgerOptions are the rules of the ledger, with the key that it signs with.
func ledgerOptions(cfg *config.Config) (o actions.Options, err error) {
	who, err := recorded(cfg)
	if err != nil {
		return o, err
	}
	o = actions.Options{Pending: cfg.Actions.MaxPending, Day: cfg.Actions.MaxADay,
		Issuer: actions.Issuer{Crawler: who.Names[0], Contact: cfg.Contact, Version: programVersion}}
	if cfg.Actions.Mode == config.ActionsConfirm {
		o.ConfirmWithin = cfg.Actions.ConfirmWithin
	}
	name := cfg.Actions.ReceiptKey
	if name == "" {
		return o, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return o, misuse("", "actions.receipt_key: %v", err)
	}
	if o.Key, err = actions.PrivateKey(text); err != nil {
		return o, misuse("openssl genpkey -algorithm ed25519 -out another.pem, and name that", "actions.receipt_key: %s: %v", name, err)
	}
	return o, nil
}

// held answers for policies without a request: the last version read (H11), with the take-downs that stand. A reader of what is held
// asks nothing of the network.
type held struct {
	*policy.Authority
	ledger *actions.Ledger
}

func (s *store) held() held { return held{s.policy, s.ledger} }

func (h held) Policy(_ context.Context, u *url.URL) (*acap.Policy, error) {
	o, known := h.Held(u)
	if !known {
		return nil, fmt.Errorf("the policy of %s was never read", u.Host)
	}
	return h.ledger.Bind(o.Key, o.Policy)
}

// policyFiles fetches robots.txt and references through the gate.
type policyFiles struct{ *gate.Gate }

func (p policyFiles) Fetch(ctx context.Context, rawurl string, condition http.Header) (policy.Response, error) {
	h, err := p.FetchIf(ctx, rawurl, condition)
	return policy.Response{URL: h.URL, Status: h.Status, Header: h.Header, Body: h.Body, Truncated: h.Truncated}, err
}

func pageOf(t *gate.Trace) *page.Page {
	hops := make([]page.Hop, len(t.Hops))
	for i, h := range t.Hops {
		hops[i] = page.Hop(h)
	}
	return page.New(hops)
}

// senderGate returns the gate of a verb that judges for who. Requests carry the name of who, unless
// a flag named another crawler than that of the data directory: then they carry the name of the
// latter (X80).
func senderGate(cfg *config.Config, who acap.Crawler) (*gate.Gate, error) {
	if cfg.Sender() != cfg {
		var err error
		if who, err = recorded(cfg.Sender()); err != nil {
			return nil, err
		}
	}
	return newGate(cfg, who)
}

func newGate(cfg *config.Config, who acap.Crawler) (*gate.Gate, error) {
	sign, err := signer(cfg)
	if err != nil {
		return nil, err
	}
	return gate.New(gate.Options{UserAgent: userAgent(cfg, who), Delay: cfg.Delay, PerHost: cfg.PerHost, Timeout: cfg.Timeout, MaxBody: cfg.MaxBody,
		AllowPrivate: cfg.AllowPrivate, ByAddress: cfg.PerAddress, Sign: sign, MaxPages: max(cfg.MaxPages, 0)}), nil
}

// signer signs requests with the configured key; nil where there is none.
func signer(cfg *config.Config) (*gate.Signer, error) {
	if cfg.SignatureKey == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(cfg.SignatureKey)
	if err != nil {
		return nil, misuse("", "signature_key: %v", err)
	}
	s, err := gate.NewSigner(pem, cfg.SignatureAgent, time.Now)
	if err != nil {
		return nil, misuse("openssl genpkey -algorithm ed25519 -out another.pem, and name that", "signature_key: %s: %v", cfg.SignatureKey, err)
	}
	return s, nil
}

// userAgent is the first token with the version of this program and where to ask (X67).
func userAgent(cfg *config.Config, who acap.Crawler) string {
	agent := "acapcrawl"
	if len(who.Names) > 0 {
		agent = who.Names[0]
	}
	agent += "/" + programVersion
	if cfg.Contact != "" {
		agent += " (+" + cfg.Contact + ")"
	}
	return agent
}
