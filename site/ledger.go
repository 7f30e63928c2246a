package site

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
)

// The names of files in a data directory.
const (
	ledgerName   = "actions.db"
	frontierName = "frontier.db"
	policyName   = "policy.db"
)

func ledgerFile(cfg *config.Config) string   { return filepath.Join(cfg.Data, ledgerName) }
func frontierFile(cfg *config.Config) string { return filepath.Join(cfg.Data, frontierName) }

// LedgerOptions returns the settings of the ledger of requests, including the key that signs
// receipts. A key that cannot be read is a *UsageError.
func LedgerOptions(cfg *config.Config) (o actions.Options, err error) {
	who, err := RecordedCrawler(cfg)
	if err != nil {
		return o, err
	}
	o = actions.Options{Pending: cfg.Actions.MaxPending, Day: cfg.Actions.MaxADay,
		Issuer: actions.Issuer{Crawler: who.Names[0], Contact: cfg.Contact, Version: Version}}
	if cfg.Actions.Mode == config.ActionsConfirm {
		o.ConfirmWithin = cfg.Actions.ConfirmWithin
	}
	name := cfg.Actions.ReceiptKey
	if name == "" {
		return o, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return o, &UsageError{Err: fmt.Errorf("actions.receipt_key: %w", err)}
	}
	if o.Key, err = actions.PrivateKey(text); err != nil {
		return o, &UsageError{fmt.Errorf("actions.receipt_key: %s: %w", name, err), newKey}
	}
	return o, nil
}

// OpenLedger opens only the ledger of the data directory; another process may have the archive
// open. With check, it also opens a damaged ledger, so that the caller can verify it. The error is
// an *EmptyError if there is no ledger; it wraps ErrInUse if another process has the ledger open,
// and ErrDamaged if the ledger cannot be read.
func OpenLedger(cfg *config.Config, check bool) (*actions.Ledger, error) {
	if _, err := os.Stat(ledgerFile(cfg)); errors.Is(err, os.ErrNotExist) {
		return nil, &EmptyError{cfg.Data}
	}
	rules, err := LedgerOptions(cfg)
	if err != nil {
		return nil, err
	}
	rules.Check = check
	l, err := actions.Open(ledgerFile(cfg), rules)
	return l, classify(err)
}

// MakeLedger opens the ledger like OpenLedger, and creates it if it does not exist, so that
// publishers can get credentials before the first crawl.
func MakeLedger(cfg *config.Config) (*actions.Ledger, error) {
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return nil, err
	}
	rules, err := LedgerOptions(cfg)
	if err != nil {
		return nil, err
	}
	l, err := actions.Open(ledgerFile(cfg), rules)
	return l, classify(err)
}

// OpenArchive opens only the archive of the data directory. The error is an *EmptyError if there is
// no archive; it wraps ErrInUse if another process has the archive open, and ErrDamaged if the
// archive cannot be read.
func OpenArchive(cfg *config.Config) (*archive.Archive, error) {
	if Empty(cfg.Data) {
		return nil, &EmptyError{cfg.Data}
	}
	kept, err := archiveOptions(cfg, nil)
	if err != nil {
		return nil, classify(err)
	}
	a, err := archive.Open(cfg.Data, kept)
	return a, classify(err)
}
