package acapcolly

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/fetch"
	"github.com/acapcrawl/acapcrawl/internal/preference"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Options configure Attach. The zero value is usable.
type Options struct {
	// Crawler says for whom policies are evaluated. If it has no name, the name is the first word of the collector's
	// User-Agent, up to a slash. If its Vocabularies are nil, all vocabularies of package preference are obeyed.
	Crawler acap.Crawler
	// Seeds are start addresses. Their hosts may have private addresses, and they are requested even if pages do not
	// permit following links to them.
	Seeds        []string
	AllowPrivate bool            // allow private and loopback addresses for all hosts
	Delay        time.Duration   // shortest time between two requests to a host; 0: only Crawl-delay and LimitRule
	PerHost      int             // concurrent requests to a host; default: 1
	Timeout      time.Duration   // time limit for each request; default: 60 s
	Proxy        colly.ProxyFunc // the proxy for a request; nil: requests are sent directly
	Store        policy.Store    // where policies are kept; nil: in memory
}

// Permissions is what publishers permit to the collectors that it is attached to. It is safe for concurrent use.
// Close it when the collectors have ended.
type Permissions struct {
	agent    string // sent as User-Agent
	gate     *gate.Gate
	policies *policy.Authority
	sources  terms.Sources
	links    *links

	mu     sync.Mutex
	last   uint64                                 // number of the last visit
	visits map[uint64]*visit                      // by number; a visit stays while its colly.Request is reachable
	number map[weak.Pointer[colly.Request]]uint64 // number of the visit of a request
}

// Attach makes c obey the permissions of publishers. It must be called before callbacks are registered and before c
// makes a request. After an error, c makes no request at all: each fails with this error.
func Attach(c *colly.Collector, o Options) (*Permissions, error) {
	p, err := newPermissions(c, o)
	if err != nil {
		c.IgnoreRobotsTxt, c.CacheDir = true, ""
		c.WithTransport(refuseAll{err})
	}
	return p, err
}

// refuseAll is the transport of a collector that could not be attached.
type refuseAll struct{ err error }

func (r refuseAll) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, r.err
}

func newPermissions(c *colly.Collector, o Options) (*Permissions, error) {
	who, err := crawlerOf(c, o.Crawler)
	if err != nil {
		return nil, err
	}
	for _, seed := range o.Seeds {
		if _, err := url.Parse(seed); err != nil {
			return nil, fmt.Errorf("the seed %q is not an address: %w", seed, err)
		}
	}
	g := gate.New(gate.Options{UserAgent: c.UserAgent, Delay: o.Delay, PerHost: o.PerHost, Timeout: o.Timeout,
		MaxBody: int64(c.MaxBodySize), AllowPrivate: o.AllowPrivate, Proxy: o.Proxy})
	p := &Permissions{agent: c.UserAgent, gate: g, visits: map[uint64]*visit{},
		number: map[weak.Pointer[colly.Request]]uint64{}, links: newLinks()}
	for _, seed := range o.Seeds {
		if u, err := url.Parse(seed); err == nil {
			g.Name(u)
		}
		p.links.permit(seed)
	}
	store := o.Store
	if store == nil {
		store = policy.NewMemory()
	}
	p.policies = policy.New(policy.Through(g), who, store, policy.Options{Pace: g.Pace})
	g.Use(p.policies)
	p.sources = terms.Sources{Policies: p.policies, Fetcher: fetch.NewResources(g, 0), Licences: p.policies}
	return p, p.Attach(c)
}

// crawlerOf completes the description of the crawler whose requests c sends.
func crawlerOf(c *colly.Collector, who acap.Crawler) (acap.Crawler, error) {
	if len(who.Names) == 0 {
		name, _, _ := strings.Cut(c.UserAgent, " ")
		name, _, _ = strings.Cut(name, "/")
		if name == "" || strings.EqualFold(name, "Mozilla") {
			return who, fmt.Errorf("the User-Agent %q does not begin with the name of the crawler, so Options.Crawler "+
				"must name it", c.UserAgent)
		}
		who.Names = []string{name}
	}
	if !strings.Contains(strings.ToLower(c.UserAgent), strings.ToLower(who.Names[0])) {
		return who, fmt.Errorf("the User-Agent %q does not contain the name of the crawler, %q", c.UserAgent,
			who.Names[0])
	}
	if who.Vocabularies == nil {
		var err error
		if who.Vocabularies, err = preference.Vocabularies(preference.Names(), preference.Settings{}); err != nil {
			return who, err
		}
	}
	return who, nil
}

// Attach makes a further collector obey the same permissions, for example a clone of the first one. It must be called
// before the collector makes a request. Its User-Agent must be that of the first one.
func (p *Permissions) Attach(c *colly.Collector) error {
	if c.UserAgent != p.agent {
		return fmt.Errorf("the User-Agent %q is another one than %q, for which permissions are evaluated", c.UserAgent,
			p.agent)
	}
	c.IgnoreRobotsTxt, c.CacheDir = true, ""
	c.SetRequestTimeout(0)
	c.WithTransport(&transport{p})
	c.OnRequestHeaders(p.begin)
	c.OnResponse(p.withhold)
	c.OnError(func(r *colly.Response, err error) {
		refusal, is := errors.AsType[*LinkRefusal](err)
		if is && !c.AllowURLRevisit && !p.links.wait(refusal.URL, r.Request) {
			_ = r.Request.Retry() // its error arrives in OnError, too
		}
		p.askAgain() // an answer such as 404 may have links, too
	})
	c.OnScraped(func(*colly.Response) { p.askAgain() })
	return nil
}

// askAgain begins the requests again that were refused and are permitted by now.
func (p *Permissions) askAgain() {
	for _, r := range p.links.takeDue() {
		_ = r.Retry() // its error arrives in OnError, too
	}
}

// Close closes idle connections and the store of the policies.
func (p *Permissions) Close() error {
	err := p.policies.Close()
	p.gate.Close()
	return err
}

// errNotReceived is the error of Terms for a response that did not pass the gate.
var errNotReceived = errors.New("the response was not received through the gate")
