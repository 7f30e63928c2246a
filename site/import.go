package site

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// ImportOptions say how WARC files are imported.
type ImportOptions struct {
	Assume *AssumedPolicy // for sites whose robots.txt was never read; nil: pages of such sites are refused
	// import also what the operator has erased since it was fetched, see Site.Forget
	Forgotten bool
	Ready     func() // called once other methods of the site may be used; may be nil
}

// AssumedPolicy is a robots.txt text that the operator assumes for sites whose robots.txt was never
// read. If Text is nil, the sites are assumed to have no robots.txt.
type AssumedPolicy struct{ Text []byte }

// ImportSummary is the result of an import.
type ImportSummary struct {
	Files int `json:"files"` // number of files read; the last may have been read only in part
	holdings.ImportCounts
	Erased []archive.Erasure `json:"erased"`
}

// Importer imports WARC files one after the other.
type Importer struct {
	holdings *holdings.Holdings
	o        holdings.ImportOptions
	sum      ImportSummary
	erased   *archive.Erasures
	end      func()
}

// Import begins an import. The caller must call End on the returned Importer.
func (s *Site) Import(ctx context.Context, o ImportOptions) (*Importer, error) {
	if err := recordFirstCrawler(s.cfg.Data, s.who); err != nil {
		return nil, err
	}
	if !s.lent { // an import into a lent site uses the settings of the original site
		if err := s.closeHoldings(); err != nil {
			return nil, err
		}
	}
	known := s.lastPolicies()
	h, err := s.openHoldings(ctx, terms.Sources{Policies: known}, holdings.Options{NoIndex: !s.cfg.Index,
		NoArchive: s.cfg.Policy.NoarchivePreserve, Version: known.version})
	if err != nil {
		return nil, err
	}
	if o.Ready != nil {
		o.Ready()
	}
	m := &Importer{holdings: h, o: holdings.ImportOptions{Normal: address.Normal, MaxBody: s.cfg.MaxBody,
		Forgotten: o.Forgotten, Revisits: &holdings.Revisits{},
		Policies: &assumedPolicies{lastPolicies: known, assume: o.Assume, origins: map[string]bool{}}}}
	m.erased, m.end = s.erased.watch()
	return m, nil
}

// Read imports one file. name appears in error messages. Read calls each for every record that
// should be reported.
func (m *Importer) Read(ctx context.Context, name string, in io.Reader, each func(holdings.Imported)) error {
	m.sum.Files++
	n, err := m.holdings.Import(ctx, in, m.o, each)
	m.sum.Add(n)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// End imports the revisit records whose payload was in a later record or file, ends the import and returns what was
// imported.
func (m *Importer) End(ctx context.Context) (ImportSummary, error) {
	n, err := m.holdings.ImportRevisits(ctx, m.o)
	m.sum.Add(n)
	_ = m.holdings.Flush() // Site.Close returns this error too
	m.end()
	m.sum.Erased = m.erased.List()
	return m.sum, err
}

// assumedPolicies returns policies without a request. It returns the version of a policy that was
// read last. For sites whose robots.txt was never read, it returns the assumed policy.
type assumedPolicies struct {
	lastPolicies
	assume *AssumedPolicy // nil: no policy is assumed

	mu      sync.Mutex
	origins map[string]bool // origins for which the assumed policy has been stored
}

// Policy returns the last read or assumed policy of u's origin.
func (a *assumedPolicies) Policy(_ context.Context, u *url.URL) (*acap.Policy, error) {
	if a.assume != nil {
		if err := a.store(u); err != nil {
			return nil, err
		}
	}
	o, known := a.Held(u)
	if !known || o.Since.IsZero() {
		return nil, fmt.Errorf("the policy of %s was never read, and none is assumed", u.Host)
	}
	return a.ledger.Bind(o.Key, o.Policy)
}

// store stores the assumed policy for the origin of u. It does nothing if it has already done so.
func (a *assumedPolicies) store(u *url.URL) error {
	key, err := policy.Key(u)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.origins[key] {
		return nil
	}
	if _, err := a.Assume(u, a.assume.Text); err != nil {
		return err
	}
	a.origins[key] = true
	return nil
}
