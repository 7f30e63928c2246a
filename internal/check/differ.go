package check

import (
	"context"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Address is a URL for which readings are compared.
type Address struct {
	URL      *url.URL
	resource acap.Resource
}

// NewAddress returns the address of u. Do not change u afterwards.
func NewAddress(u *url.URL) Address { return Address{u, acap.NewResource(u)} }

// Ask is the set of questions for which two readings are compared.
type Ask struct {
	Crawlers  []acap.Crawler // a crawler without names stands for any crawler that the documents do not name
	Usages    []acap.Usage
	Addresses []Address
	// the second reading knows only crawl, so other usages are compared only at addresses that it
	// permits to crawl
	Crawled bool
	Left    []string // sentences that say what was not compared because of a limit
}

// Difference is a usage about which two readings decide differently for one crawler. At all its
// addresses, the same lines are the reason.
type Difference struct {
	Crawler   acap.Crawler
	Usage     acap.Usage
	Addresses []Address // the addresses on which the readings differ; the first one is an example
	A, B      Answer    // the answers of the two readings for the first address
}

// Compare compares the answers of two readings to every question, crawler by crawler. It joins
// differences that come from the same two fields. The error is that of ctx.
func Compare(ctx context.Context, a, b Reading, ask Ask) ([]Difference, error) {
	var out []Difference
	for _, c := range ask.Crawlers {
		one := comparison{a: a(c), b: b(c), crawler: c, at: map[alike]int{}}
		for i, address := range ask.Addresses {
			if i%256 == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			one.compare(address, &ask)
		}
		order := func(d Difference) int { return slices.Index(ask.Usages, d.Usage) }
		slices.SortStableFunc(one.found, func(a, b Difference) int { return order(a) - order(b) })
		out = append(out, one.found...)
	}
	return out, nil
}

// comparison collects the differences for one crawler.
type comparison struct {
	a, b    Judge
	crawler acap.Crawler
	found   []Difference
	at      map[alike]int // index in found of the difference with this key
}

// alike is a key for differences: all differences with the same key are reported as one.
type alike struct {
	usage acap.Usage
	a, b  verdict
}

type verdict struct {
	allowed bool
	reason  acap.Reason
	because *acap.Field
	limits  string
}

func (c *comparison) compare(address Address, ask *Ask) {
	crawled := !ask.Crawled || c.b(acap.Crawl, address).Allowed
	for _, u := range ask.Usages {
		if u != acap.Crawl && !crawled {
			continue
		}
		a, b := c.a(u, address), c.b(u, address)
		if a.agrees(b) {
			continue
		}
		a, b = a.whole(), b.whole()
		key := alike{u, a.verdict(), b.verdict()}
		i, known := c.at[key]
		if !known {
			i = len(c.found)
			c.at[key] = i
			c.found = append(c.found, Difference{Crawler: c.crawler, Usage: u, A: a, B: b})
		}
		c.found[i].Addresses = append(c.found[i].Addresses, address)
	}
}

// agrees reports whether both answers permit the usage with the same limits, or both refuse it.
func (a Answer) agrees(b Answer) bool {
	if a.Unknown != "" || b.Unknown != "" {
		return true
	}
	return a.Allowed == b.Allowed && (a.Limits.Empty() && b.Limits.Empty() ||
		reflect.DeepEqual(sorted(a.Limits), sorted(b.Limits)))
}

func (a Answer) verdict() verdict {
	v := verdict{allowed: a.Allowed, reason: a.Reason, because: a.Because}
	if !a.Limits.Empty() {
		text, _ := json.Marshal(a.Limits) // limits contain only numbers, texts and times, so this cannot fail
		v.limits = string(text)
	}
	return v
}

// sorted returns limits in an order that does not depend on the order of the fields that set them.
func sorted(l acap.Limits) acap.Limits {
	for _, list := range []*[]string{&l.MustUse, &l.MustInclude, &l.ProhibitedModification, &l.ProhibitedContext,
		&l.RequiredContext, &l.Target,
		&l.Location, &l.UsageRef} {
		*list = slices.Sorted(slices.Values(*list))
	}
	return l
}
