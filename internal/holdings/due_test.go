package holdings

import (
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// press is several publishers, each with a policy of its own.
type press struct {
	robots map[string]string // by host
}

func (p *press) Policy(_ context.Context, u *url.URL) (*acap.Policy, error) {
	lines, ok := p.robots[u.Host]
	if !ok {
		return nil, fmt.Errorf("the policy of %s was never read", u.Host)
	}
	return acap.Parse("http://"+u.Host+"/robots.txt", []byte("ACAP-version: 1.1\nACAP-crawler: *\n"+lines+"\n")).
		Policy(acap.Crawler{Names: []string{"gazer"}}), nil
}

func (p *press) version(u *url.URL) archive.PolicyVersion {
	lines, ok := p.robots[u.Host]
	if !ok {
		return archive.PolicyVersion{}
	}
	sum := crc32.ChecksumIEEE([]byte(lines))
	return archive.PolicyVersion{Origin: "http://" + u.Host, Since: firstUse.Add(time.Duration(sum) * time.Second)}
}

func (p *press) Fetch(_ context.Context, rawurl string) (*page.Page, error) {
	return pageOf("<p>tables", rawurl), nil
}

// dueStore is a data directory with pages of several publishers.
type dueStore struct {
	*store
	*press
	dir string
	now *clock
}

func newDueStore(t *testing.T, hosts ...string) *dueStore {
	t.Helper()
	s := &dueStore{press: &press{robots: map[string]string{}}, dir: t.TempDir(), now: newClock(firstUse)}
	for _, host := range hosts {
		s.robots[host] = ""
	}
	s.reopen(t, "gazer")
	return s
}

// reopen closes the directory, and opens it again for another crawler.
func (s *dueStore) reopen(t *testing.T, crawler string) {
	t.Helper()
	if s.store != nil {
		s.shut()
	}
	s.store = &store{T: t}
	var err error
	if s.archive, err = archive.Open(s.dir, archive.Options{Now: s.now.now}); err != nil {
		t.Fatal(err)
	}
	if s.index, err = index.Open(s.dir + "/index"); err != nil {
		t.Fatal(err)
	}
	s.Holdings, err = Open(context.Background(), s.archive, s.index, terms.Sources{Policies: s.press, Fetcher: s.press},
		Options{Now: s.now.now, Version: s.version, For: crawler})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.shut)
}

func (s *dueStore) get(body string, address string) {
	s.Helper()
	s.receive(s.now.fetched(pageOf(body, address)))
}

// checks returns how many pages a sweep decides about.
func (s *dueStore) checks(o SweepOptions) int {
	s.Helper()
	before := s.checked.Load()
	s.sweep(o)
	return int(s.checked.Load() - before)
}

// TestSweepChecksWhatIsDue counts the pages that sweeps decide about: only those that are due.
func TestSweepChecksWhatIsDue(t *testing.T) {
	s := newDueStore(t, "a.example", "b.example", "c.example")
	want := func(when string, n int, o SweepOptions) {
		t.Helper()
		if got := s.checks(o); got != n {
			t.Errorf("%s: %d pages checked, want %d", when, got, n)
		}
	}
	want("nothing is stored", 0, SweepOptions{})
	s.robots["a.example"] = "ACAP-allow-preserve: /3 time-limit=3-days\n" +
		"ACAP-allow-index: /4 time-limit=until-2026-03-20"
	s.robots["c.example"] = "ACAP-allow-index: / must-use-resource=http://b.example/tables"
	for i := range 10 {
		s.get(fmt.Sprint(article, i), fmt.Sprint("http://a.example/", i))
		s.get(fmt.Sprint(article, i), fmt.Sprint("http://b.example/", i))
	}
	s.get(article, "http://c.example/0")
	want("new pages", 0, SweepOptions{})
	s.get(article+"again", "http://a.example/1")
	want("a dry run", 1, SweepOptions{DryRun: true})
	want("one page has changed", 1, SweepOptions{})
	want("nothing is due", 0, SweepOptions{})
	want("all", 21, SweepOptions{All: true, DryRun: true})
	want("at a later time", 2, SweepOptions{DryRun: true, AsOf: firstUse.AddDate(1, 0, 0)})
	s.now.set(firstUse.AddDate(0, 0, 3))
	want("a limit has passed", 2, SweepOptions{}) // the page is decided again after its copy is erased
	want("after a limit has passed", 0, SweepOptions{})
	s.robots["b.example"] = "ACAP-disallow-preserve: /7"
	want("a policy has changed, and a page depends on it: a dry run", 10+1, SweepOptions{DryRun: true})
	want("a policy has changed, and a page depends on it", 10+1+1, SweepOptions{})
	want("after a policy has changed", 0, SweepOptions{})
	s.robots["a.example"] += "\nACAP-disallow-follow: /"
	s.rejudge("http://b.example")
	want("another policy has changed", 10, SweepOptions{Origin: "http://a.example"})
	delete(s.robots, "b.example")
	counts, err := s.Sweep(context.Background(), SweepOptions{}, func(x Swept) { t.Errorf("%+v", x) })
	if err != nil || counts.Pages != 11 || counts.Unjudged != 11 {
		t.Errorf("the policy is lost: %+v, %v", counts, err)
	}
	s.robots["b.example"] = ""
	want("the policy is read again", 11, SweepOptions{})
	s.reopen(t, "gazer")
	want("in the next process", 0, SweepOptions{})
	s.reopen(t, "heron")
	want("for another crawler, a dry run", 21, SweepOptions{DryRun: true})
	want("for another crawler", 21, SweepOptions{})
	want("for the same crawler", 0, SweepOptions{})
	s.now.set(firstUse.AddDate(0, 0, 11))
	want("the other limit has passed", 2, SweepOptions{})
	before := s.checked.Load()
	s.rejudge("")
	if s.checked.Load() != before {
		t.Error("the start of a crawl checks pages, although none is due")
	}
}

// countedIndex counts the changes of an index.
type countedIndex struct {
	*index.Index
	changes int
}

func (c *countedIndex) Put(docs ...index.Document) error {
	c.changes += len(docs)
	return c.Index.Put(docs...)
}

func (c *countedIndex) Delete(urls ...string) error {
	c.changes += len(urls)
	return c.Index.Delete(urls...)
}

// TestRecoverWhatIsDue checks that a start after a crash changes the index only for the pages whose
// changes were interrupted, and that the next sweep checks only these pages.
func TestRecoverWhatIsDue(t *testing.T) {
	ctx := context.Background()
	s := newDueStore(t, "a.example")
	s.sweep(SweepOptions{})
	for i := range 40 {
		s.get(fmt.Sprint(article, i), fmt.Sprint("http://a.example/", i))
	}
	s.flushed()
	for i := range 3 { // as a crash leaves a page: the archive has it, and the index does not
		d := archive.Deposit{Resource: s.resource(fmt.Sprint("http://a.example/", i)), Fetched: firstUse.Add(time.Hour),
			Body: []byte(article), Index: true}
		if _, err := s.archive.Receive(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Holdings.Close(); err != nil {
		t.Fatal(err)
	}
	counted := &countedIndex{Index: s.index}
	var err error
	s.Holdings, err = Open(ctx, s.archive, counted, terms.Sources{Policies: s.press, Fetcher: s.press},
		Options{Now: s.now.now, Version: s.version, For: "gazer"})
	if err != nil {
		t.Fatal(err)
	}
	if counted.changes != 3 {
		t.Errorf("%d changes of the index", counted.changes)
	}
	if n := s.checks(SweepOptions{}); n != 3 {
		t.Errorf("%d pages checked", n)
	}
}

// TestSweepWaitsForConfirmation checks a page whose take-down must be confirmed: every sweep checks
// it, because the confirmation makes no new version of the policy.
func TestSweepWaitsForConfirmation(t *testing.T) {
	w := newWeb("ACAP-request-take-down: /a")
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(pageOf(article, a))
	s.receive(pageOf(article, b))
	u, confirmed := &url.URL{Scheme: "http", Host: "quay.example", Path: "/"}, false
	s.o.Known = policies(func(*url.URL) (*acap.Policy, error) {
		actions := slices.Clone(w.policy.Actions())
		for i := range actions {
			actions[i].Execute = confirmed
		}
		return w.policy.WithActions(actions), nil
	})
	s.web.sum++ // the new version
	if got := s.sweep(SweepOptions{}); len(got) > 0 {
		t.Errorf("%q", got)
	}
	confirmed = true
	if got := s.sweep(SweepOptions{}); brief(got) != "copy1 entry" || s.version(u).Since.IsZero() {
		t.Errorf("%q", got)
	}
}

// TestSweepFullDisk checks that pages are swept although the disk has no room to list them.
func TestSweepFullDisk(t *testing.T) {
	var writes, fails atomic.Int64
	s := openWith(t, t.TempDir(), newWeb(""), Options{}, archive.Options{Fault: func(step archive.Step) error {
		if step == archive.Commit && writes.Add(1) <= fails.Load() {
			return syscall.ENOSPC
		}
		return nil
	}})
	for i, fail := range []int64{1, 0, 1} { // all pages must be listed, no page, and those of the origin
		s.web.says("")
		s.receive(pageOf(article, a))
		s.flushed()
		s.web.says(fmt.Sprintf("ACAP-disallow-preserve: /\nACAP-disallow-present: /%d", i))
		writes.Store(0)
		fails.Store(fail)
		_, err := s.Sweep(context.Background(), SweepOptions{}, nil)
		if got := s.copies(a); err != nil || len(got) > 0 {
			t.Errorf("%d: %q, %v", i, got, err)
		}
	}
}

// TestUnlisted checks that Verify reports a page that no sweep would check at its limit, and that
// Repair lists it.
func TestUnlisted(t *testing.T) {
	ctx := context.Background()
	s := newDueStore(t, "a.example")
	s.sweep(SweepOptions{})
	s.robots["a.example"] = "ACAP-allow-preserve: / time-limit=3-days"
	for i := range 3 {
		s.get(fmt.Sprint(article, i), fmt.Sprint("http://a.example/", i))
	}
	entry := archive.Due{URL: "http://a.example/1", At: firstUse.AddDate(0, 0, 3)}
	wrong := archive.Decided{Due: entry, For: s.identity(SweepOptions{For: "gazer"})}
	if err := s.archive.SetDecided(ctx, wrong); err != nil {
		t.Fatal(err)
	}
	for range 2 { // before and after the limit
		problems, err := s.Verify(ctx, archive.VerifyOptions{})
		if problems = slices.DeleteFunc(problems, func(p archive.Problem) bool { return !p.Repairable }); err != nil ||
			len(problems) != 1 || problems[0].Where != entry.URL {
			t.Errorf("%v, %v", problems, err)
		}
		s.now.set(firstUse.AddDate(0, 0, 3))
	}
	told := 0
	left, err := s.Repair(ctx, func(archive.Repaired) { told++ })
	if left = slices.DeleteFunc(left, func(p archive.Problem) bool { return p.Remedy == SweepRemedy }); err != nil ||
		told != 1 || len(left) > 0 {
		t.Errorf("%d told, left %v, %v", told, left, err)
	}
	s.sweep(SweepOptions{})
	problems, err := s.Verify(ctx, archive.VerifyOptions{})
	if err != nil || problems != nil || len(s.copies(entry.URL)) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// TestSweepModelDue changes pages, policies, time and crawler at random. A sweep of what is due
// must do the same as a sweep of all pages, and Verify must find that every page is listed in time.
func TestSweepModelDue(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 23))
			m := &dueModel{dueStore: newDueStore(t, "a.example", "b.example", "c.example"), r: r, crawler: "gazer"}
			for range 60 {
				for range 1 + r.IntN(4) {
					m.change()
				}
				m.check()
				if t.Failed() {
					return
				}
			}
		})
	}
}

// dueModel makes random changes.
type dueModel struct {
	*dueStore
	r       *rand.Rand
	crawler string
}

func (m *dueModel) pick(from ...string) string { return from[m.r.IntN(len(from))] }

func (m *dueModel) host() string { return m.pick("a.example", "b.example", "c.example") }

func (m *dueModel) address() string { return fmt.Sprintf("http://%s/%d", m.host(), m.r.IntN(8)) }

// day returns a date within some weeks.
func (m *dueModel) day() string {
	return m.now.now().AddDate(0, 0, m.r.IntN(20)-2).Format(time.DateOnly)
}

// lines returns random lines of a policy.
func (m *dueModel) lines() string {
	var out []string
	for range m.r.IntN(5) {
		l := "ACAP-" + m.pick("allow-", "allow-", "disallow-") +
			m.pick("index", "preserve", "present", "present-snippet") + ": /" + m.pick("", "1", "2", "3")
		if strings.HasPrefix(l, "ACAP-allow-") {
			l += m.pick("", " time-limit=3-days", " time-limit=9-days", " time-limit=until-recrawled",
				" time-limit=until-"+m.day(), " time-limit=until-"+m.day()+" time-limit=12-days")
			if strings.HasPrefix(l, "ACAP-allow-index") {
				l += m.pick("", " must-use-resource=http://b.example/s")
			}
		}
		out = append(out, l)
	}
	out = append(out, m.pick("", "", "", "ACAP-disallow-crawl: /s", "ACAP-request-take-down: /4",
		"ACAP-request-take-down: /s"), "ACAP-composite-usage: hoard "+m.pick("follow", "index", "preserve"))
	return strings.Join(out, "\n")
}

func (m *dueModel) body() string {
	return m.pick("", "", `<meta name="robots" content="unavailable_after: `+m.day()+`T12:00:00Z">`,
		`<meta name="robots" content="ACAP allow-preserve time-limit=until-`+m.day()+`">`) + article +
		m.pick("", fmt.Sprint(m.r.IntN(1000)), ` <b class="the-acap:disallow-(hoard)">gull</b>`)
}

// change makes one random change.
func (m *dueModel) change() {
	m.Helper()
	address := m.address()
	switch m.r.IntN(12) {
	case 0, 1, 2, 3:
		m.get(m.body(), address)
	case 4:
		m.receive(m.now.fetched(pageOf(m.body(), m.address(), address)))
	case 5:
		m.receive(answer(410, address))
	case 6:
		if _, err := m.Erase(context.Background(), address, "asked", ""); err != nil {
			m.Fatal(err)
		}
	case 7, 8:
		m.now.set(m.now.now().Add(time.Duration(m.r.IntN(100)) * time.Hour))
	case 9, 10:
		m.robots[m.host()] = m.lines()
		if m.r.IntN(2) == 0 {
			m.rejudge("http://" + m.host())
		}
	default:
		if m.r.IntN(3) == 0 {
			m.crawler = m.pick("gazer", "heron")
		}
		m.reopen(m.T, m.crawler)
	}
}

// items runs a sweep and returns what it reports, sorted.
func (m *dueModel) items(o SweepOptions) (out []string) {
	m.Helper()
	told := func(x Swept) { out = append(out, fmt.Sprintf("%+v", x)) }
	if _, err := m.Sweep(context.Background(), o, told); err != nil {
		m.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// check compares sweeps of what is due with sweeps of all pages.
func (m *dueModel) check() {
	m.Helper()
	all := m.items(SweepOptions{DryRun: true, All: true})
	if dry := m.items(SweepOptions{DryRun: true}); !slices.Equal(dry, all) {
		m.Errorf("a dry run reports %q, and of all pages %q", dry, all)
	}
	if l, err := m.sweepAllDry(context.Background(), nil); err != nil || l.problems() != nil {
		m.Errorf("before the sweep: %v, %v", l.problems(), err)
	}
	if done := m.items(SweepOptions{}); !slices.Equal(done, all) {
		m.Errorf("the sweep did %q, and of all pages %q; %v", done, all, slices.Sorted(maps.Values(m.robots)))
	}
	later := m.now.now().AddDate(0, 0, m.r.IntN(15))
	for _, o := range []SweepOptions{{}, {AsOf: later}} {
		o.DryRun, o.All = true, true
		all = m.items(o)
		o.All = false
		if due := m.items(o); !slices.Equal(due, all) {
			m.Errorf("at %v: %q, and of all pages %q", o.AsOf, due, all)
		}
	}
	if l, err := m.sweepAllDry(context.Background(), nil); err != nil || l == nil || l.problems() != nil {
		m.Errorf("after the sweep: %v, %v", l.problems(), err)
	}
}
