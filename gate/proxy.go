package gate

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

type proxyKey struct{}

// withProxy returns out with a context that names the proxy through which it is sent, if there is one.
func (g *Gate) withProxy(out *http.Request, key string) (*http.Request, error) {
	if g.o.Proxy == nil {
		return out, nil
	}
	u, err := g.o.Proxy(out)
	if err != nil {
		return nil, fmt.Errorf("the proxy for %s cannot be chosen: %w", key, err)
	}
	switch {
	case u == nil:
		return out, nil
	case g.o.Tenure != nil:
		return nil, fmt.Errorf("%s cannot be requested through a proxy, because several machines share this crawl", key)
	}
	if err := g.checkName(key); err != nil {
		return nil, err
	}
	return out.WithContext(context.WithValue(out.Context(), proxyKey{}, u)), nil
}

// checkName applies the address rule to the name of a host that a proxy resolves.
func (g *Gate) checkName(key string) error {
	host, _, err := net.SplitHostPort(key)
	if err != nil {
		return &Refusal{URL: key, Rule: RuleAddress, Why: err.Error()}
	}
	if what := address.Inner(host); what != "" && !g.o.AllowPrivate && g.named.get(key) == nil {
		return notPublic(key, host, what)
	}
	return nil
}

// chosenProxy returns the proxy that withProxy has chosen; nil if there is none.
func chosenProxy(out *http.Request) (*url.URL, error) { return proxyOf(out.Context()), nil }

func proxyOf(ctx context.Context) *url.URL {
	u, _ := ctx.Value(proxyKey{}).(*url.URL)
	return u
}
