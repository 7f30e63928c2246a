package course

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// symbolic returns the address of an origin as a name that does not depend on the ports of a
// server.
func symbolic(origin string) string { return "http://" + origin + ".course.example" }

// shortenAddresses removes from a text of the engine the parts that all addresses from symbolic
// have in common.
func shortenAddresses(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, ".course.example", ""), "http://", "")
}

// reading decides, for one crawler that the visitor may be, which requests the course permits.
type reading struct {
	web       *Web
	authority *policy.Authority
	// the policy without licences, for tdmrep.json: a licence server is not needed for it
	unlicensed *policy.Authority
	now        time.Time
}

func newReading(pages, robots *Web, c acap.Crawler, now time.Time) *reading {
	o := policy.Options{Now: func() time.Time { return now }}
	r := &reading{web: pages, now: now, unlicensed: policy.New(files{robots}, c, policy.NewMemory(), o)}
	c.Vocabularies = licences()
	r.authority = policy.New(files{robots}, c, policy.NewMemory(), o)
	return r
}

// licences returns the vocabulary that can prohibit requests in addition to ACAP and RFC 9309.
func licences() []acap.Vocabulary {
	list, err := preference.Vocabularies([]string{"rsl"}, preference.Settings{})
	if err != nil {
		panic(err) // cannot happen: the vocabulary exists
	}
	return list
}

// files serves robots.txt and policy files of the course to the engine. It implements
// policy.Fetcher.
type files struct{ web *Web }

// Fetch returns the answer of the course without a network request.
func (f files) Fetch(_ context.Context, rawurl string, _ http.Header) (policy.Response, error) {
	u, err := url.Parse(rawurl)
	if err != nil {
		return policy.Response{}, err
	}
	a := f.web.Answer(strings.TrimSuffix(u.Host, ".course.example"), u.RequestURI())
	if a.Status == 0 {
		return policy.Response{}, errors.New("no answer")
	}
	return policy.Response{URL: rawurl, Status: a.Status, Header: a.Header, Body: a.Body}, nil
}

// reasonAgainst returns the rule that prohibits this crawler from requesting an address; "" if the
// request is permitted.
func (r *reading) reasonAgainst(ctx context.Context, origin, at string) (because string, err error) {
	p, u, err := r.policy(ctx, origin, at)
	if err != nil {
		return "", err
	}
	if d := p.Decide(acap.Crawl, acap.NewResource(u)); !d.Allowed {
		return shortenAddresses(d.Why()), nil
	}
	if f := terms.TakeDown(p, u); f != nil {
		return "its publisher asks that it be taken down: " + shortenAddresses(f.String()), nil
	}
	s := r.web.stationOf(origin, at)
	if s == nil || s.From == "" || !slices.ContainsFunc(s.Traps,
		func(t string) bool { return target(t) == target(at) }) {
		return "", nil
	}
	return r.reasonAgainstLink(ctx, s, u)
}

func (r *reading) policy(ctx context.Context, origin, at string) (*acap.Policy, *url.URL, error) {
	u, err := url.Parse(symbolic(origin) + at)
	if err != nil {
		u = &url.URL{Scheme: "http", Host: origin + ".course.example", Path: at}
	}
	u.Fragment, u.RawFragment = "", ""
	from := r.authority
	if pathOf(at) == tdmPath {
		from = r.unlicensed
	}
	p, err := from.Policy(ctx, u)
	return p, u, err
}

// reasonAgainstLink returns the rule that prohibits following the link to u on the page s.From; ""
// if following is permitted.
func (r *reading) reasonAgainstLink(ctx context.Context, s *Station, u *url.URL) (because string, err error) {
	p, from, err := r.policy(ctx, s.Origin, s.From)
	if err != nil {
		return "", err
	}
	a := r.web.Answer(s.Origin, s.From)
	pg := page.New([]page.Hop{{URL: from.String(), Method: http.MethodGet, Status: a.Status, Header: a.Header,
		Body: a.Body}})
	t := terms.Of(ctx, p, from, pg, terms.Sources{Licences: r.authority}, acap.Facts{Now: r.now})
	links, _ := t.Links()
	if slices.ContainsFunc(links, func(l string) bool { return same(l, u) }) {
		return "", nil
	}
	if d := t.Decide(acap.Follow); !d.Allowed {
		return "a link that must not be followed: " + shortenAddresses(d.Why()), nil
	}
	return fmt.Sprintf("a link that must not be followed: %s%s: %s", s.Origin, s.From, s.Because), nil
}

func same(link string, u *url.URL) bool {
	l, err := url.Parse(link)
	return err == nil && acap.NewResource(l).URL == acap.NewResource(u).URL
}

// readings returns a reading for every crawler that a visitor may be, strict and lenient. If told
// is true, all names belong to one crawler; otherwise each name is tried as the only name of the
// crawler. If purposes is empty, it tries undeclared purposes, no purpose, and each purpose that a
// robots.txt of the course names. pages is the course as it was served to the visitor. robots is
// the course as it was served to the program that read robots.txt, which may be another one.
func readings(pages, robots *Web, names, purposes []string, told bool, now time.Time) []*reading {
	who := [][]string{names}
	if !told {
		who = nil
		for _, n := range names {
			who = append(who, []string{n})
		}
	}
	if len(names) == 0 {
		who = [][]string{{noName + "-either"}}
	}
	why := [][]string{purposes}
	if len(purposes) == 0 {
		why = [][]string{nil, {}, {noPurpose}, {"a-purpose-of-others"}}
	}
	var list []*reading
	for _, n := range who {
		for _, p := range why {
			for _, strict := range []bool{false, true} {
				list = append(list, newReading(pages, robots, acap.Crawler{Names: n, Purposes: p, Strict: strict}, now))
			}
		}
	}
	return list
}
