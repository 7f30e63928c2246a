package site

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
)

// counts returns what the scripts of pages could not do so far.
func (s *scripts) counts() ScriptCounts {
	if s == nil {
		return ScriptCounts{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// report counts and reports a request of a page's scripts that was not made or not answered.
func (s *scripts) report(skip crawler.Skip) {
	s.mu.Lock()
	s.count.Blocked++
	s.mu.Unlock()
	s.log.Debug("blocked", "url", skip.URL, "why", skip.Why)
	if s.blocked != nil {
		s.blocked(skip)
	}
}

// reportFailed counts and reports a page that could not be rendered.
func (s *scripts) reportFailed(pg *page.Page, why error) {
	s.mu.Lock()
	s.count.Failed++
	s.mu.Unlock()
	s.log.Warn("a page could not be rendered, so only the page as sent is used", "url", pg.URL().String(), "why", why)
	if s.failed != nil {
		s.failed(pg, why)
	}
}

var (
	errExcluded = errors.New("not requested")
	errNofollow = errors.New("follow is not permitted")
)

// mostReported is how many bytes of an address a report shows.
const mostReported = 2000

// blockedRequest returns the report of a request of a script that was not made, not answered, or whose response
// scripts may not get.
func blockedRequest(page, rawurl string, err error) crawler.Skip {
	skip := crawler.Skip{URL: strings.ToValidUTF8(rawurl[:min(len(rawurl), mostReported)], ""), State: crawler.Failed,
		When: time.Now(), Why: fmt.Sprintf("%v; scripts of %s request it", err, page)}
	var refused *acap.Refused
	switch refusal, is := errors.AsType[*gate.Refusal](err); {
	case is && refusal.Rule != gate.RuleLease:
		skip.State, skip.Decision, skip.TakeDown = crawler.Refused, refusal.Decision, refusal.TakeDown
	case errors.Is(err, errExcluded):
		skip.State = crawler.Outside
	case errors.Is(err, errNofollow):
		skip.State, skip.Decision = crawler.Refused, acap.Decision{Usage: acap.Follow, Reason: acap.ByMeta}
	case errors.As(err, &refused):
		skip.State, skip.Decision = crawler.Refused, refused.Decision
	}
	return skip
}
