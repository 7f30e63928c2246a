package acapcolly

import (
	"context"
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
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/fetch"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Options configure Attach. The zero value is usable.
type Options struct {
	// Crawler says for whom policies are evaluated. If it has no name, the name is the first word of the collector's
	// User-Agent, up to a slash. If its Vocabularies are nil, all those of policy.Vocabularies are obeyed (AIPREF,
	// Content Signals, TDMRep, RSL, noai and PLUS); an empty slice means none of them.
	Crawler acap.Crawler
	// Seeds are http and https addresses at which the crawl starts. Their hosts may have private addresses, and they
	// are requested even if pages do not permit following links to them. Name all start addresses here, because a page
	// may refuse links to those that are visited later.
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
	maxBody  int64 // limit of the gate for a body in bytes
	policies *policy.Authority
	sources  terms.Sources
	links    *links

	mu       sync.Mutex
	attached []*colly.Collector
	last     uint64                                 // number of the last visit
	visits   map[uint64]*visit                      // by number; a visit stays while its colly.Request is reachable
	number   map[weak.Pointer[colly.Request]]uint64 // number of the visit of a request
}

// Attach makes c obey the permissions of publishers. It must be called before callbacks are registered and before c
// makes a request. After an error, each request of c fails with this error, also if another transport is set later. The
// exception is a collector that is already attached: it stays attached.
func Attach(c *colly.Collector, o Options) (*Permissions, error) {
	if isAttached(c) {
		return nil, errAttached
	}
	p, err := newPermissions(c, o)
	if err != nil {
		stop(c, err)
		c.WithTransport(refuseAll{err})
		return nil, err
	}
	return p, p.Attach(c)
}

// stop makes every request of c fail, because c could not be attached.
func stop(c *colly.Collector, err error) {
	c.IgnoreRobotsTxt = true
	avoidCache(c)
	// Like ticket, this is not a valid name, so package net/http does not send the request and names it in its error.
	// The address without host stops a transport that does not check names; callbacks still see the whole address.
	name := fmt.Sprintf("acapcolly: the collector could not be attached: %s", err)
	c.OnRequestHeaders(func(r *colly.Request) {
		(*r.Headers)[name] = nil
		shown := *r.URL
		r.URL.Host = ""
		r.URL = &shown
	})
}

// avoidCache makes c ignore its cache, also if CacheDir is set later.
func avoidCache(c *colly.Collector) {
	c.CacheDir = ""
	c.OnRequest(func(r *colly.Request) {
		if c.CacheDir != "" {
			r.Headers.Set("Cache-Control", "no-cache")
		}
	})
}

// refuseAll is the transport of a collector that could not be attached, and of its clones.
type refuseAll struct{ err error }

func (r refuseAll) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, r.err
}

// attachedKey is the key under which the context of an attached collector holds the collector itself. A clone has the
// same context, so it is not attached.
type attachedKey struct{}

func isAttached(c *colly.Collector) bool { return c.Context.Value(attachedKey{}) == c }

var errAttached = errors.New("the collector is already attached")

func newPermissions(c *colly.Collector, o Options) (*Permissions, error) {
	who, err := crawlerOf(c, o.Crawler)
	if err != nil {
		return nil, err
	}
	for _, seed := range o.Seeds {
		if _, err := address.Parse(seed); err != nil {
			return nil, fmt.Errorf("a seed is wrong: %w", err)
		}
	}
	// Colly applies MaxBodySize itself. What it cuts off may contain META tags and links.
	most := int64(max(c.MaxBodySize, leastBody))
	g := gate.New(gate.Options{UserAgent: c.UserAgent, Delay: o.Delay, PerHost: o.PerHost, Timeout: o.Timeout,
		MaxBody: most, AllowPrivate: o.AllowPrivate, Proxy: noteProxy(o.Proxy)})
	p := &Permissions{agent: c.UserAgent, gate: g, maxBody: most, visits: map[uint64]*visit{},
		number: map[weak.Pointer[colly.Request]]uint64{}, links: newLinks()}
	for _, seed := range o.Seeds {
		if u, err := url.Parse(seed); err == nil {
			g.Name(u)
		}
		p.links.permit(1, keyOf(seed))
	}
	store := o.Store
	if store == nil {
		store = policy.NewMemory()
	}
	p.policies = policy.New(policy.Through(g), who, store, policy.Options{Pace: g.Pace})
	g.Use(p.policies)
	p.sources = terms.Sources{Policies: p.policies, Fetcher: fetch.NewResources(g, 0), Licences: p.policies}
	return p, nil
}

// leastBody is the least limit for the part of a body that is received and judged, in bytes.
const leastBody = 32 << 20

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
		if who.Vocabularies, err = policy.Vocabularies(); err != nil {
			return who, err
		}
	}
	return who, nil
}

// Attach makes a further collector obey the same permissions, for example a clone of the first one. It must be called
// before callbacks are registered and before the collector makes a request. Its User-Agent must be that of the first
// one. After an error, each request of the collector fails, unless it is already attached.
func (p *Permissions) Attach(c *colly.Collector) error {
	if isAttached(c) {
		return errAttached
	}
	if c.UserAgent != p.agent {
		err := fmt.Errorf("the User-Agent %q is another one than %q, for which permissions are evaluated", c.UserAgent,
			p.agent)
		stop(c, err)
		return err
	}
	c.Context = context.WithValue(c.Context, attachedKey{}, c)
	p.mu.Lock()
	p.attached = append(p.attached, c)
	p.mu.Unlock()
	c.IgnoreRobotsTxt = true
	avoidCache(c)
	c.SetRequestTimeout(0)
	c.WithTransport(&transport{p})
	c.OnRequestHeaders(p.begin)
	c.OnResponse(p.withhold)
	c.OnError(func(r *colly.Response, err error) {
		if refusal, is := errors.AsType[*LinkRefusal](err); is && !c.AllowURLRevisit {
			p.links.wait(refusal.URL, newWaiting(c, r.Request))
		}
		p.askAgain(c) // an answer such as 404 may have links, too
	})
	c.OnScraped(func(*colly.Response) { p.askAgain(c) })
	return nil
}

// Close closes idle connections and the store of the policies.
func (p *Permissions) Close() error {
	err := p.policies.Close()
	p.gate.Close()
	return err
}

// errNotReceived is the error of Terms for a response that did not pass the gate.
var errNotReceived = errors.New("the response was not received through the gate")
