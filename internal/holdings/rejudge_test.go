package holdings

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
)

// versioned is a web whose policy changes. A version of the policy is named by the time since when
// it is in force. versioned records what Rejudge erases.
type versioned struct {
	*web
	mu    sync.Mutex
	since time.Time
	swept []string
}

func (v *versioned) version(u *url.URL) archive.PolicyVersion {
	v.mu.Lock()
	defer v.mu.Unlock()
	return archive.PolicyVersion{Origin: u.Scheme + "://" + u.Host, Since: v.since}
}

// changes makes robots a new version of the policy.
func (v *versioned) changes(robots string) {
	v.says(robots)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.since = v.since.Add(time.Hour)
}

func (v *versioned) told(s Swept) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.swept = append(v.swept, fmt.Sprint(strings.TrimPrefix(s.URL, site), " ", s.What))
}

// takeReports returns the erasures reported since the last call of takeReports.
func (v *versioned) takeReports() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := strings.Join(v.swept, ", ")
	v.swept = nil
	return out
}

func (v *versioned) options() Options { return Options{Version: v.version, Swept: v.told} }

func (s *store) rejudge(origin string) {
	s.Helper()
	s.Rejudge(origin)
	s.AwaitRejudged(context.Background())
}

func (s *store) judged() time.Time {
	s.Helper()
	var since time.Time
	err := s.archive.EachJudged(func(v archive.PolicyVersion) error {
		if v.Origin == site {
			since = v.Since
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return since
}

// TestRejudge checks that a new version of a policy causes one check of everything stored for the
// origin, also in the next run (H11).
func TestRejudge(t *testing.T) {
	dir := t.TempDir()
	v := &versioned{web: newWeb(""), since: firstUse}
	s := open(t, dir, v.web, v.options())
	s.rejudge(site) // nothing is stored
	if !s.judged().IsZero() {
		t.Errorf("judged under %v", s.judged())
	}
	s.receive(pageOf(article, a))
	s.rejudge(site)
	if got := v.takeReports(); got != "" || !s.judged().Equal(firstUse) {
		t.Errorf("%q, judged under %v", got, s.judged())
	}
	v.says("ACAP-disallow-index: /") // the version is the same, so nothing is checked again
	s.rejudge(site)
	if got := v.takeReports(); got != "" {
		t.Errorf("%q", got)
	}
	v.changes("ACAP-disallow-index: /")
	s.rejudge("http://other.example")
	s.rejudge(site)
	if got := v.takeReports(); got != "/a index entry" || s.found("pilot") != "" || !s.judged().Equal(v.since) {
		t.Errorf("%q, judged under %v", got, s.judged())
	}
	v.changes("ACAP-disallow-preserve: /") // the policy changes while no process runs
	s.shut()
	s = open(t, dir, v.web, v.options())
	s.rejudge(site)
	if got := v.takeReports(); got != "/a copy" || !s.judged().Equal(v.since) {
		t.Errorf("%q", got)
	}
	// If the version of the policy is not known, nothing is erased.
	s.receive(pageOf(article, b))
	v.mu.Lock()
	v.since = time.Time{}
	v.mu.Unlock()
	v.says("ACAP-disallow-index: /")
	s.rejudge(site)
	if got := v.takeReports(); got != "" {
		t.Errorf("%q", got)
	}
	s.rejudge("") // this checks everything, whatever the version
	if got := v.takeReports(); got != "/b index entry" {
		t.Errorf("%q", got)
	}
}

// TestRejudgeCutShort checks that Close stops the current work, and that interrupted work is not
// recorded as done.
func TestRejudgeCutShort(t *testing.T) {
	dir := t.TempDir()
	v := &versioned{web: newWeb(""), since: firstUse}
	s := open(t, dir, v.web, v.options())
	for i := range 3 {
		s.receive(pageOf(article, fmt.Sprintf("%s/%d", site, i)))
	}
	v.changes("ACAP-disallow-index: /")
	h, reached, release := s.Holdings, make(chan struct{}), make(chan struct{})
	var once sync.Once
	v.asked = func() {
		once.Do(func() {
			close(reached)
			<-release
		})
	}
	s.Rejudge(site)
	<-reached
	closed := make(chan error)
	go func() { closed <- h.Close() }()
	<-h.background.ctx.Done()
	h.Rejudge(site) // this call is too late, because the store is closed
	close(release)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	v.asked = nil
	due := 0
	if err := s.archive.EachDue(site, firstUse, func(archive.Due) error { due++; return nil }); err != nil || due == 0 {
		t.Errorf("%d pages are due, %v", due, err)
	}
	s.shut()
	s = open(t, dir, v.web, v.options())
	s.rejudge(site)
	if !s.judged().Equal(v.since) || s.found("pilot") != "" {
		t.Errorf("judged under %v, found %q", s.judged(), s.found("pilot"))
	}
}

// TestRejudgeQueue checks that single origins are checked before a check of everything, and between
// its batches. If too many origins are waiting, everything is checked instead.
func TestRejudgeQueue(t *testing.T) {
	v := &versioned{web: newWeb(""), since: firstUse}
	s := open(t, t.TempDir(), v.web, v.options())
	s.receive(pageOf(article, a))
	b := &s.background
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	v.asked = func() {
		once.Do(func() {
			close(reached)
			<-release
		})
	}
	v.changes("ACAP-disallow-index: /")
	s.Rejudge("")
	<-reached
	for i := range maxPending {
		s.Rejudge(fmt.Sprintf("http://%d.example", i))
	}
	b.mu.Lock()
	pending, all := len(b.pending), b.all
	b.mu.Unlock()
	s.Rejudge(site)
	b.mu.Lock()
	if pending != maxPending || all || len(b.pending) != 0 || !b.all {
		t.Errorf("%d and %d wait, everything: %v and %v", pending, len(b.pending), all, b.all)
	}
	b.mu.Unlock()
	close(release)
	s.AwaitRejudged(context.Background())
	if got := v.takeReports(); got != "/a index entry" {
		t.Errorf("%q", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.AwaitRejudged(ctx)
}

// TestRejudgeFails checks that Close returns an error of the background work, and that the work is
// repeated later.
func TestRejudgeFails(t *testing.T) {
	failing := errors.New("no space left on device")
	dir := t.TempDir()
	v := &versioned{web: newWeb("ACAP-disallow-index: /"), since: firstUse}
	var mu sync.Mutex
	full := false
	s := openWith(t, dir, v.web, v.options(), archive.Options{Fault: func(step archive.Step) error {
		mu.Lock()
		defer mu.Unlock()
		if full && step == archive.Commit {
			return failing
		}
		return nil
	}})
	s.receive(pageOf(article, a))
	v.changes("ACAP-disallow-preserve: /\nACAP-disallow-index: /")
	mu.Lock()
	full = true
	mu.Unlock()
	s.rejudge(site)
	mu.Lock()
	full = false
	mu.Unlock()
	if len(s.copies(a)) != 1 || !s.judged().IsZero() {
		t.Errorf("copies %q, judged under %v", s.copies(a), s.judged())
	}
	s.rejudge(site)
	if len(s.copies(a)) != 0 || !slices.Contains(strings.Split(v.takeReports(), ", "), "/a copy") {
		t.Errorf("copies %q", s.copies(a))
	}
	if err := s.Holdings.Close(); !errors.Is(err, failing) {
		t.Errorf("closed with %v", err)
	}
	s.Holdings = nil
}
