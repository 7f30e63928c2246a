package main

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/web"
	"github.com/acapcrawl/acapcrawl/site"
)

// serverOptions listens at the configured address, and returns the options of a server for readers, without those
// that answer them.
func (c *Command) serverOptions(ctx context.Context, cfg *config.Config) (net.Listener, web.Options, error) {
	if cfg.Serve.ReplayDomain != "" && cfg.Serve.Readers == config.ReadersLogin {
		return nil, web.Options{}, misuse("", "serve.replay_domain needs serve.readers: everyone, because browsers do "+
			"not send a login to other hosts")
	}
	facts, err := c.readerFacts(cfg)
	if err != nil {
		return nil, web.Options{}, err
	}
	l, secure, err := c.listener(ctx, cfg)
	if err != nil {
		return nil, web.Options{}, err
	}
	log := logger(c.Stderr, cfg)
	return l, web.Options{Hosts: cfg.Serve.PublicHosts, ReplayDomain: cfg.Serve.ReplayDomain, TLS: secure,
		Trusted: prefixes(cfg.Serve.TrustedProxies), Limits: limitsOf(cfg), Reader: facts, Defect: site.LogDefects(log),
		Failed: func(err error) { log.Error("an answer failed", "error", err) }}, nil
}

// addressOf returns the address of a server with these options, without a slash at its end.
func addressOf(l net.Listener, o web.Options) string {
	if o.TLS != nil {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// addLogins adds to the options of a server the logins, and the pages of requests and receipts, but not their Backend.
func (c *Command) addLogins(cfg *config.Config, o *web.Options) error {
	ledger, err := site.LedgerOptions(cfg)
	if err != nil {
		return err
	}
	if o.Frame, err = c.frame(cfg); err != nil {
		return err
	}
	if ledger.Key != nil {
		o.Key = actions.JWK(ledger.Key.Public().(ed25519.PublicKey))
	}
	o.Password, o.LoginToRead = cfg.Serve.OperatorPassword, cfg.Serve.Readers == config.ReadersLogin
	o.Audit, o.Contact = web.NewAudit(filepath.Join(cfg.Data, auditFile)), cfg.Contact
	o.Late = max(10*cfg.Actions.EraseWithin, 10*time.Minute)
	return nil
}

// addPublishers adds to the options of a server what answers publishers from the data directory. The caller must call
// close of the channel.
func (c *Command) addPublishers(ctx context.Context, cfg *config.Config, o *web.Options) (*channel, error) {
	if err := c.addLogins(cfg, o); err != nil {
		return nil, err
	}
	ch := newChannel(ctx, c, cfg)
	o.Backend = ch
	return ch, nil
}

// measure makes a server log and count its answers. now returns the state of the requests.
func (c *Command) measure(o *web.Options, cfg *config.Config, now func() (actions.Status, bool)) {
	registry := prometheus.NewRegistry()
	count := newServeMetrics(registry, now)
	log := logger(c.Stderr, cfg)
	o.Metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	o.Answered = func(r *http.Request, status int, code string) {
		count(r.Method, status)
		log.Log(r.Context(), levelOf(status), "answered", "method", r.Method, "path", r.URL.Path, "status", status,
			"code", code, "client", r.RemoteAddr)
	}
}

// levelOf returns the level at which an answer with this HTTP status is logged. For example,
// requests for a page that does not exist are logged at level info.
func levelOf(status int) slog.Level {
	switch {
	case status >= 500:
		return slog.LevelError
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone:
	case status >= 400:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// listener listens at the configured address. If other machines can reach this address, listener
// returns an error unless TLS is configured here or in a proxy, because tokens must not be sent
// unencrypted.
func (c *Command) listener(ctx context.Context, cfg *config.Config) (l net.Listener, secure *tls.Config, err error) {
	certificate, key := cfg.Serve.Certificate, cfg.Serve.Key
	if (certificate == "") != (key == "") {
		return nil, nil, misuse("", "set both serve.certificate and serve.key, or neither")
	}
	if certificate == "" && len(cfg.Serve.TrustedProxies) == 0 && !loopback(cfg.Listen) {
		return nil, nil, misuse("serve.certificate and serve.key, or serve.trusted_proxies if proxies use TLS",
			"serve does not listen at %s without TLS: others could read passwords and the tokens of publishers, and "+
				"submit requests in their name",
			cfg.Listen)
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, nil, misuse("", "serve.certificate and serve.key: %v", err)
		}
		secure = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"h2", "http/1.1"}}
	}
	l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		flag := "--listen"
		if c.verb == "crawl" {
			flag = "--serve"
		}
		return nil, nil, failure("another address with "+flag+", as in 127.0.0.1:8081",
			fmt.Errorf("the pages cannot be served at %s: %w", cfg.Listen, err))
	}
	return l, secure, nil
}

// adminListener listens at the address that is configured for health and metrics. It returns nil if
// no address is configured.
func (c *Command) adminListener(ctx context.Context, cfg *config.Config) (net.Listener, error) {
	if cfg.Serve.AdminListen == "" {
		return nil, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Serve.AdminListen)
	if err != nil {
		return nil, failure("another address in serve.admin_listen, as in 127.0.0.1:8081",
			fmt.Errorf("serve cannot listen at %s: %w", cfg.Serve.AdminListen, err))
	}
	fmt.Fprintf(c.Stderr, "Health and metrics are at http://%s/healthz, /readyz and /metrics.\n", l.Addr())
	return l, nil
}

// loopback reports whether only this machine can reach a server that listens on address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// prefixes returns the IP addresses and ranges in list, which the settings have checked.
func prefixes(list []string) (out []netip.Prefix) {
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if ip, failed := netip.ParseAddr(s); failed == nil {
			p, err = ip.Prefix(ip.BitLen())
		}
		if err == nil {
			out = append(out, p)
		}
	}
	return out
}

func limitsOf(cfg *config.Config) web.Limits {
	s := cfg.Serve
	return web.Limits{Rate: float64(s.RequestsPerSecond), Burst: s.Burst, PerClient: s.ClientConnections,
		Connections: s.Connections}
}
