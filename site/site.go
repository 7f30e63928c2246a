package site

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Options are the settings for opening a data directory. The zero value is usable.
type Options struct {
	Create  bool          // create the directory if it does not exist or is empty
	Crawler *acap.Crawler // the crawler for which policies are applied; nil: the one that RecordedCrawler returns
	Reread  time.Time     // policies read before this time are read again before use; zero: no such time

	Log      *slog.Logger     // logs messages for the operator; nil: nothing is logged
	Notice   func(string)     // receives messages for the operator; nil: the messages are dropped
	Budget   *memory.Budget   // limits the memory used by pages that are being processed; nil: no limit
	Resolver present.Resolver // finds the DNS names of a reader's address; nil: the system's resolver

	// Owned is called as soon as this process owns the directory, before the rest of it is opened;
	// it may be nil.
	Owned func()

	// returns the free space of the disk; nil: ask the operating system
	Free func(dir string) (free, total int64, err error)
	// for tests: the clock of a node of a cluster; nil: the clock of the machine
	Clock cluster.Clock
	// for tests: called before each write of archive and ledger; nil: not called
	Fault func() error
}

// Site is an open data directory.
type Site struct {
	cfg    *config.Config
	who    acap.Crawler
	o      Options
	defect func(*defect.Error) // logs a recovered panic

	archive *archive.Archive
	index   *index.Index
	policy  *policy.Authority
	ledger  *actions.Ledger
	gate    *gate.Gate
	names   *present.Names

	recovered time.Time // see membership.Recovered
	erased    *erasures
	stock     *stock
	room      *disk.Room

	*opened                // shared with all views of this site that Lend returned
	expired string         // a notice about expired cookies, for the next crawl; "": there is none
	owner   *config.Config // settings of the process that has the directory open; cfg, unless this site is lent
	// this is a view that Lend returned: Close does nothing, because the original site is closed instead
	lent bool
}

// opened holds the parts of a site that are opened on first use.
type opened struct {
	mu          sync.Mutex // held while holdings are opened or closed
	holdings    *holdings.Holdings
	queue       sync.Mutex        // held while the queue is opened, and while it is open for one call only
	frontier    *crawler.Frontier // nil if no queue is open for a crawl
	erasedPages erasedPages       // pages to crawl again soon
	session     *session          // session of the running or last crawl; nil: there was none
	progress    progress          // progress of the running crawl
	// this process as a node of a cluster; nil: it has joined none. It stays set when the node has left
	node    atomic.Pointer[cluster.Node]
	shared  atomic.Bool // the data directory belongs to a node of a cluster
	orders  *orders
	apart   func()   // ends the connection of followApart; nil: there is none
	reports []*Sites // the reports that Sites returned
}

// Empty reports whether nothing was ever stored in dir. A directory with keys but without an
// archive is damaged, not empty.
func Empty(dir string) bool {
	for _, name := range []string{"archive.db", "keys.db"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	return true
}

// Open opens the data directory cfg.Data. The error is an *EmptyError if the directory is empty and
// Create is not set; it wraps ErrInUse if another process has the directory open, and ErrDamaged or
// ErrDamagedIndex if files are damaged. The caller must close the site.
func Open(cfg *config.Config, o Options) (s *Site, err error) {
	var who acap.Crawler
	if o.Crawler != nil {
		who = *o.Crawler
	} else if who, err = RecordedCrawler(cfg); err != nil {
		return nil, err
	}
	s = &Site{cfg: cfg, owner: cfg, who: who, o: o.withDefaults(), erased: &erasures{}, stock: &stock{},
		opened: &opened{}}
	s.orders = newOrders(s)
	shared := sharing{tenure: s.tenure, held: s.heldUntil, errand: s.passErrand,
		notice: func(text string) { s.expired = text }}
	if cfg.Cluster.Servers != "" {
		shared.reserve = s.reservePages
	}
	if s.gate, err = newSenderGate(cfg, who, shared); err != nil {
		return nil, err
	}
	rules, err := LedgerOptions(cfg)
	if err != nil {
		return nil, err
	}
	s.defect = LogDefects(s.o.Log)
	s.names = present.NewNames(s.o.Resolver)
	if o.Create {
		err = os.MkdirAll(cfg.Data, 0o700)
	} else if Empty(cfg.Data) {
		err = &EmptyError{cfg.Data}
	}
	if err != nil {
		return nil, err
	}
	if err := s.readMembership(); err != nil {
		return nil, err
	}
	if err := s.open(rules); err != nil {
		s.Close()
		return nil, classify(err)
	}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Budget == nil {
		o.Budget = memory.NewBudget(0)
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	return o
}

// LogDefects returns a function that logs a recovered panic with its stack.
func LogDefects(log *slog.Logger) func(*defect.Error) {
	return func(e *defect.Error) { log.Error(e.Error(), "stack", string(e.Stack)) }
}

// open opens the files of the directory. It opens the archive first: the process that has the
// archive open has exclusive use of the directory.
func (s *Site) open(rules actions.Options) error {
	dir := s.cfg.Data
	s.room = disk.NewRoom(dir, disk.Options{Least: s.cfg.MinFree, Free: s.o.Free})
	kept, err := archiveOptions(s.cfg, s.epoch)
	if err != nil {
		return err
	}
	kept.Erased, kept.Stored = s.erased.note, s.stock.note
	if fault := s.o.Fault; fault != nil {
		kept.Fault = func(archive.Step) error { return fault() }
		rules.Now = func() time.Time { _ = fault(); return time.Now() }
	}
	if s.archive, err = archive.Open(dir, kept); err != nil {
		return err
	}
	if s.o.Create { // this verb stores pages
		if err = s.archive.CheckStore(context.Background()); err != nil {
			return err
		}
	}
	s.warnOfOpenKey()
	s.room.Make() // give back the reserved disk space, so that a take-down can be executed on a full disk
	rules.Room = s.room.Make
	if s.o.Create {
		if err = s.room.Keep(); err != nil {
			return err
		}
	}
	if s.o.Owned != nil {
		s.o.Owned()
	}
	if s.index, err = index.Open(filepath.Join(dir, "index")); err != nil {
		return err
	}
	if version, err := s.index.MadeBy(); err != nil {
		return err
	} else if version != index.Version {
		s.o.Notice("an earlier version of this program made the index. It is rebuilt from the archived copies. " +
			"A page without a copy may not be found by a phrase, or by words of Chinese, Croatian, Japanese or Persian, " +
			"until it is crawled again.")
	}
	if s.ledger, err = actions.Open(filepath.Join(dir, "actions.db"), rules); err != nil {
		return err
	}
	policies, err := policy.Open(filepath.Join(dir, "policy.db"))
	if err != nil {
		return err
	}
	o := policy.Options{Reread: latest(s.o.Reread, s.recovered), Defect: s.defect, Pace: s.gate.Pace}
	if s.shared.Load() || s.cfg.Cluster.Servers != "" {
		o.Shared = sharedPolicies{s.orders}
	}
	s.policy = policy.New(policy.Through(s.gate), s.who, policies, o)
	return s.orders.open()
}

// Lend returns a view of the site for a caller that acts as the crawler who, with the settings cfg.
// Closing it does nothing.
func (s *Site) Lend(cfg *config.Config, who acap.Crawler) *Site {
	lent := *s
	lent.cfg, lent.who, lent.policy, lent.lent = cfg, who, s.policy.For(who), true
	return &lent
}

// Lent reports whether Lend returned the site.
func (s *Site) Lent() bool { return s.lent }

// Dir returns the data directory.
func (s *Site) Dir() string { return s.cfg.Data }

// Archive returns the archive, for reading.
func (s *Site) Archive() *archive.Archive { return s.archive }

// Policies returns all stored versions of the policies.
func (s *Site) Policies() *policy.Authority { return s.policy }

// Vocabularies returns the newer vocabularies that the crawler obeys.
func (s *Site) Vocabularies() []acap.Vocabulary { return s.who.Vocabularies }

// Names returns the finder of DNS names of readers' IP addresses.
func (s *Site) Names() *present.Names { return s.names }

// Ledger returns the ledger of requests.
func (s *Site) Ledger() *actions.Ledger { return s.ledger }

// Close closes everything that is open. The caller must make sure that no other method is running.
func (s *Site) Close() error {
	if s.lent {
		return nil
	}
	s.endApart()
	for _, o := range s.reports {
		o.tally.close()
	}
	var errs []error
	if s.holdings != nil {
		errs = append(errs, s.holdings.Close())
	}
	if s.node.Load() == nil { // changeQueue has reported what a node could not queue
		errs = append(errs, s.queueErased())
	}
	if s.frontier != nil {
		errs = append(errs, s.frontier.Close())
	}
	s.orders.changes.Wait()
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
		// close the archive last: until then no other process can open the directory
		errs = append(errs, s.room.Keep(), s.archive.Close())
	}
	s.gate.Close()
	return errors.Join(errs...)
}

// Abandon is used instead of Close if an operation on the site does not end. It closes only the
// queue, and waits at most patience for that, and returns a description of what remains open. Data
// that was reported as stored is not lost: it is already on disk. Only the latest changes of the
// queue may be lost.
func (s *Site) Abandon(patience time.Duration) (open string, err error) {
	open = "archive, index, policies and requests"
	if s.frontier == nil {
		return open, nil
	}
	closed := make(chan error, 1)
	go func() { closed <- s.frontier.Close() }()
	select {
	case err = <-closed:
	case <-time.After(patience):
		open += ", and frontier"
	}
	return open, err
}

// openHoldings opens the holdings if they are not open, and returns them.
func (s *Site) openHoldings(ctx context.Context, sources terms.Sources, o holdings.Options) (*holdings.Holdings,
	error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holdings != nil {
		return s.holdings, nil
	}
	o.For = s.decider()
	o.Again = s.crawlErased
	o.Budget, o.Defect, o.Scarce, o.Erased = s.o.Budget, s.defect, s.room.Scarce, s.erased.note
	h, err := holdings.Open(ctx, s.archive, s.index, sources, o)
	if err != nil {
		return nil, err
	}
	s.holdings = h
	if n := h.Behind(); n > 0 {
		s.o.Notice(fmt.Sprintf(
			"the disk of %s has no room for the index entries of %s, which searches do not find. Free space there.",
			s.cfg.Data, pages(n)))
	}
	return h, nil
}

// held opens the holdings for work that makes no network request. Decisions then use the policies
// that were read last.
func (s *Site) held(ctx context.Context) (*holdings.Holdings, error) {
	known := s.lastPolicies()
	return s.openHoldings(ctx, terms.Sources{Policies: known},
		holdings.Options{NoArchive: s.cfg.Policy.NoarchivePreserve, Version: known.version})
}

// Recover completes what a crash left unfinished, so that archive and index are consistent. Methods
// that need consistent data call Recover themselves.
func (s *Site) Recover(ctx context.Context) error {
	if _, err := s.held(ctx); err != nil {
		return err
	}
	if err := s.followApart(ctx); err != nil {
		s.o.Notice(fmt.Sprintf("nothing that is archived here is shown, because this machine does not know what "+
			"publishers have asked for since: %v.", err))
	}
	return nil
}

// closeHoldings closes the holdings if they are open.
func (s *Site) closeHoldings() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holdings == nil {
		return nil
	}
	h := s.holdings
	s.holdings = nil
	return h.Close()
}

// WatchErased returns a list to which erasures by any user of the site are added from now on, until
// end is called.
func (s *Site) WatchErased() (seen *archive.Erasures, end func()) { return s.erased.watch() }

// pages returns "1 page" or "n pages".
func pages(n int) string {
	if n == 1 {
		return "1 page"
	}
	return fmt.Sprintf("%d pages", n)
}
