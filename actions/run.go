package actions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Eraser erases all that is held of a URL and says how many copies that were (P1 2.6.1).
type Eraser interface {
	Erase(ctx context.Context, url, why, line string) (erased int, err error)
}

// Recrawler puts a URL before other work of its host; policy is asked when its turn comes (P1 2.6.2, P08).
type Recrawler interface {
	Promote(url string) error
}

// MaxRecrawls is how many re-crawls of one origin are promoted at once; take-downs are not limited (P09).
const MaxRecrawls = 1000

// Run executes what the policy of an origin asks for now. Every request is noted; one that failed is due again. The error joins those
// of the take-downs: what was to go may still be held, while a re-crawl that failed harms nobody.
func (l *Ledger) Run(ctx context.Context, origin string, asked []acap.Action, e Eraser, r Recrawler) error {
	due, err := l.Observe(origin, asked, time.Now())
	if err != nil {
		return err
	}
	var results []Result
	var failed []error
	recrawls := 0
	for _, req := range due {
		res := Result{Request: req}
		switch {
		case req.Action == acap.TakeDown:
			res.Erased, res.Err = e.Erase(ctx, req.URL, "taken down at the publisher's request", req.Source)
		case recrawls == MaxRecrawls:
			continue // stays due
		default:
			recrawls++
			res.Err = r.Promote(req.URL)
		}
		if res.Err != nil && req.Action == acap.TakeDown {
			failed = append(failed, fmt.Errorf("%s of %s failed: %w", req.Action, req.URL, res.Err))
		}
		results = append(results, res)
	}
	return errors.Join(append(failed, l.Finish(results, time.Now()))...)
}
