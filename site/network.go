package site

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/gate"
)

// Version is the version of this program. It is part of the User-Agent.
const Version = "0.1.0"

// newSenderGate returns a gate that decides for the given crawler. Its requests usually carry the
// name of this crawler. But if a flag selects a crawler other than the crawler of the data
// directory, requests carry the name of the crawler of the data directory (rule 22, X80).
func newSenderGate(cfg *config.Config, who acap.Crawler, shared sharing) (*gate.Gate, error) {
	if cfg.Sender() != cfg {
		var err error
		if who, err = RecordedCrawler(cfg.Sender()); err != nil {
			return nil, err
		}
	}
	return newGate(cfg, who, shared)
}

// sharing has the functions that a gate needs if several machines share a crawl, and the receiver of notices. The zero
// value is for one machine.
type sharing struct {
	tenure func(host string) error
	held   func(host string) time.Time
	errand func(ctx context.Context, host string, e gate.Errand) (gate.ErrandAnswer, error)
	// takes page requests from the budget of all machines
	reserve func(context.Context) (int, error)
	notice  func(string) // receives a sentence about the credentials; nil: nobody
}

// NewGate returns a gate that sends requests in the name of the crawler who, with the settings cfg.
func NewGate(cfg *config.Config, who acap.Crawler) (*gate.Gate, error) {
	return newGate(cfg, who, sharing{})
}

func newGate(cfg *config.Config, who acap.Crawler, shared sharing) (*gate.Gate, error) {
	sign, err := newSigner(cfg)
	if err != nil {
		return nil, err
	}
	credentials, err := newCredentials(cfg, shared.notice)
	if err != nil {
		return nil, err
	}
	return gate.New(gate.Options{UserAgent: UserAgent(cfg, who), Delay: cfg.Delay, PerHost: cfg.PerHost,
		Timeout: cfg.Timeout, MaxBody: cfg.MaxBody, AllowPrivate: cfg.AllowPrivate, ByAddress: cfg.PerAddress,
		Sign: sign, Credentials: credentials, KeepCredentials: cfg.KeepCredentials, MaxPages: max(cfg.MaxPages, 0),
		Tenure: shared.tenure, Held: shared.held, Errand: shared.errand, Reserve: shared.reserve}), nil
}

// newSigner returns a signer of requests with the configured key; nil if no key is configured.
func newSigner(cfg *config.Config) (*gate.Signer, error) {
	if cfg.SignatureKey == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(cfg.SignatureKey)
	if err != nil {
		return nil, &UsageError{Err: fmt.Errorf("signature_key: %w", err)}
	}
	s, err := gate.NewSigner(pem, cfg.SignatureAgent, time.Now)
	if err != nil {
		return nil, &UsageError{fmt.Errorf("signature_key: %s: %w", cfg.SignatureKey, err), newKey}
	}
	return s, nil
}

// newKey is the command that makes a private key for signing requests or receipts.
const newKey = "openssl genpkey -algorithm ed25519 -out another.pem, and name that"

// UserAgent returns the User-Agent header of the given crawler. It contains the first user-agent
// token, the version of this program, and the contact address of the operator (X67), so that a
// publisher can find the operator.
func UserAgent(cfg *config.Config, who acap.Crawler) string {
	agent := "acapcrawl"
	if len(who.Names) > 0 {
		agent = who.Names[0]
	}
	agent += "/" + Version
	if cfg.Contact != "" {
		agent += " (+" + cfg.Contact + ")"
	}
	return agent
}

// nameHosts permits the gate to fetch from the hosts of seeds even if their IP addresses are
// private.
func nameHosts(g *gate.Gate, seeds []string) {
	for _, seed := range seeds {
		if u, err := url.Parse(seed); err == nil {
			g.Name(u)
		}
	}
}

// RefreshPolicies reads the policy of every known origin again. Hosts with private IP addresses are
// requested only if a seed of the directory names them.
func (s *Site) RefreshPolicies(ctx context.Context) error {
	err := s.withFrontier(func(f *crawler.Frontier) error {
		seeds, err := f.Seeds()
		nameHosts(s.gate, seeds)
		return err
	})
	if err != nil {
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

// withFrontier calls fn with the queue of the data directory, if there is one.
// Calls without an open queue open it one after another. fn must not call withFrontier.
func (s *Site) withFrontier(fn func(*crawler.Frontier) error) error {
	s.queue.Lock()
	if f := s.frontier; f != nil {
		s.queue.Unlock()
		return fn(f)
	}
	defer s.queue.Unlock()
	return withFrontierOf(s.cfg, fn)
}

// withOwnFrontier is withFrontier for changes. It does nothing if the queue is that of a cluster and this process
// does not crawl, since only a node that owns a host may change its queue.
func (s *Site) withOwnFrontier(fn func(*crawler.Frontier) error) error {
	s.queue.Lock()
	apart := s.frontier == nil && s.shared.Load()
	s.queue.Unlock()
	if apart {
		return nil
	}
	return s.withFrontier(fn)
}

// withFrontierOf calls fn with the queue of the data directory cfg.Data, if there is one.
func withFrontierOf(cfg *config.Config, fn func(*crawler.Frontier) error) (err error) {
	file := frontierFile(cfg)
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	f, err := crawler.Open(file, crawler.FrontierOptions{MaxHost: max(cfg.MaxHostURLs, 0)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return fn(f)
}
