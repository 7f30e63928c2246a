package holdings

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
)

// brief returns the kinds of the swept items, without the policy lines.
func brief(swept []string) string {
	var out []string
	for _, s := range swept {
		fields := strings.Fields(strings.Replace(s, "index entry", "entry", 1))
		what := fields[1]
		if fields[3] == "true" {
			what += "!"
		}
		if fields[2] != "0" {
			what += fields[2]
		}
		out = append(out, what)
	}
	return strings.Join(out, " ")
}

// TestSweepByPolicy checks that a sweep applies today's policy, together with the statements of
// each page at its last lawful fetch (H11, X02).
func TestSweepByPolicy(t *testing.T) {
	hoard := func(usages string) string { return "ACAP-composite-usage: hoard " + usages }
	marked := article + ` <b class="the-acap:disallow-(hoard)">gull</b>`
	for _, c := range []struct {
		name          string
		robots, later string // robots is the policy until the page was received; later is the policy after that
		bodies        []string
		header        http.Header
		o             Options
		swept         string
		copies        int
		found         string // those of the words pilot, gull and tables that a search must find
		phrase        bool   // whether a search for the phrase "pilot waits" finds the page
	}{
		{name: "nothing has changed", copies: 1, found: "pilot", phrase: true},
		{name: "no preserve: the words lose their order", later: "ACAP-disallow-preserve: /", swept: "copy1 entry!",
			found: "pilot"},
		{name: "no preserve, no snippet", later: "ACAP-disallow-preserve: /\nACAP-disallow-present-snippet: /",
			swept: "copy1 entry!", found: "pilot"},
		{name: "no index", later: "ACAP-disallow-index: /", swept: "entry", copies: 1},
		{name: "no index, and no excerpt of another resource",
			robots: "ACAP-allow-present-snippet: / must-use-resource=/s", later: "ACAP-disallow-index: /",
			swept: "entry excerpt", copies: 1},
		{name: "neither", later: "ACAP-disallow-index: /\nACAP-disallow-preserve: /", swept: "copy1 entry"},
		{name: "neither, two versions", later: "ACAP-disallow-index: /\nACAP-disallow-preserve: /",
			bodies: []string{"<p>gull", article}, swept: "copy1 copy2 entry"},
		{name: "neither, and the page was cut", robots: hoard("preserve"),
			later: "ACAP-disallow-index: /\nACAP-disallow-preserve: /", bodies: []string{marked}, swept: "copy1 entry"},
		{name: "a field that cannot be interpreted prohibits", later: "ACAP-allow-preserve: / quality=low",
			swept: "copy1 entry!", found: "pilot"},
		{name: "no crawl: what is held goes by its own fields (F22)", later: "ACAP-disallow-crawl: /", copies: 1,
			found: "pilot", phrase: true},
		{name: "no crawl and no index", later: "ACAP-disallow-crawl: /\nACAP-disallow-index: /", swept: "entry",
			copies: 1},
		{name: "other is prohibited (F19)", later: "ACAP-disallow-other: /", swept: "copy1 entry"},
		{name: "taken down", later: "ACAP-request-take-down: /a", bodies: []string{"<p>gull", article},
			swept: "copy1 copy2 entry"},
		{name: "another is taken down", later: "ACAP-request-take-down: /b", copies: 1, found: "pilot", phrase: true},
		{name: "index made of a text", later: "ACAP-allow-index: / must-use-resource=the-acap:text:tables",
			swept: "entry!", copies: 1, found: "tables"},
		{name: "index made of a text until now", robots: "ACAP-allow-index: / must-use-resource=the-acap:text:tables",
			swept: "entry!", copies: 1, found: "pilot", phrase: true},
		{name: "index made of a part", later: "ACAP-allow-index: / must-use-resource=the-acap:extract:id:lead",
			bodies: []string{article + `<p id="lead">gull`}, swept: "entry!", copies: 1, found: "gull"},
		{name: "index made of a part that is not there",
			later: "ACAP-allow-index: / must-use-resource=the-acap:extract:id:lead", swept: "entry", copies: 1},
		{name: "index made of another resource: it is not at hand", later: "ACAP-allow-index: / must-use-resource=/s",
			swept: "entry", copies: 1},
		{name: "index made of another resource then and now", robots: "ACAP-allow-index: / must-use-resource=/s",
			later: "ACAP-allow-index: / must-use-resource=/s", copies: 1, found: "tables"},
		{name: "the other resource may not be crawled any more (I02)",
			robots: "ACAP-allow-index: / must-use-resource=/s",
			later:  "ACAP-allow-index: / must-use-resource=/s\nACAP-disallow-crawl: /s", swept: "entry", copies: 1},
		{name: "the other resource need not be used any more", robots: "ACAP-allow-index: / must-use-resource=/s",
			swept: "entry!", copies: 1, found: "pilot", phrase: true},
		{name: "no preserve, an entry of another resource", robots: "ACAP-allow-index: / must-use-resource=/s",
			later: "ACAP-allow-index: / must-use-resource=/s\nACAP-disallow-preserve: /", swept: "copy1",
			found: "tables"},
		{name: "without a copy: index made of a part", robots: "ACAP-disallow-preserve: /",
			later: "ACAP-disallow-preserve: /\nACAP-allow-index: / must-use-resource=the-acap:extract:id:lead",
			swept: "entry"},
		{name: "without a copy: index made of a text until now",
			robots: "ACAP-disallow-preserve: /\nACAP-allow-index: / must-use-resource=the-acap:text:tables",
			later:  "ACAP-disallow-preserve: /", found: "tables"},
		{name: "an element may not be indexed", robots: hoard("follow"), later: hoard("index"),
			bodies: []string{marked}, swept: "entry!", copies: 1, found: "pilot", phrase: true},
		{name: "an element may be indexed", robots: hoard("index"), later: hoard("follow"), bodies: []string{marked},
			swept: "entry!", copies: 1, found: "pilot gull", phrase: true},
		{name: "an element may not be indexed, without a copy", robots: hoard("follow") + "\nACAP-disallow-preserve: /",
			later:  hoard("index") + "\nACAP-disallow-preserve: /",
			bodies: []string{marked}, swept: "entry"},
		{name: "an element may be indexed, without a copy", robots: hoard("index") + "\nACAP-disallow-preserve: /",
			later:  hoard("follow") + "\nACAP-disallow-preserve: /",
			bodies: []string{marked}, found: "pilot"},
		{name: "elements alone may be indexed", robots: hoard("index"), later: hoard("index") +
			"\nACAP-disallow-index: /",
			bodies: []string{article + ` <b class="the-acap:allow-(hoard)">gull</b>`}, swept: "entry!", copies: 1,
			found: "gull"},
		{name: "an element may not be kept (N28)", robots: hoard("follow"), later: hoard("preserve"),
			bodies: []string{marked}, swept: "copy1 entry!", found: "pilot gull"},
		{name: "an element that was cut out", robots: hoard("preserve"), later: hoard("preserve"),
			bodies: []string{marked}, copies: 1, found: "pilot gull"},
		{name: "an element that only an earlier version has", robots: hoard("follow"), later: hoard("preserve"),
			bodies: []string{marked, article}, swept: "copy1", copies: 1, found: "pilot", phrase: true},
		{name: "until it is crawled again, of two versions", later: "ACAP-allow-preserve: / time-limit=until-recrawled",
			bodies: []string{"<p>gull", article}, swept: "copy1",
			copies: 1, found: "pilot", phrase: true},
		{name: "META permits what robots.txt prohibits", later: "ACAP-disallow-index: /\nACAP-disallow-preserve: /",
			bodies: []string{`<meta name="robots" content="ACAP allow-preserve">` + article}, swept: "entry",
			copies: 1},
		{name: "META prohibits it already", bodies: []string{`<meta name="robots" content="ACAP disallow-preserve">` +
			article}, found: "pilot"},
		{name: "noarchive leaves preserve alone (N24)", header: fields("X-Robots-Tag", "noarchive"), copies: 1,
			found: "pilot", phrase: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWeb(c.robots)
			w.parts[site+"/s"] = "tables"
			s := open(t, t.TempDir(), w, c.o)
			if c.bodies == nil {
				c.bodies = []string{article}
			}
			if c.header == nil {
				c.header = fields()
			}
			for _, body := range c.bodies {
				s.receive(pageWith(c.header, 200, body, a))
			}
			s.receive(pageOf("<p>A sloop.", b))
			before := s.resource(a)
			s.web.says(c.later)
			if got := s.sweep(SweepOptions{}); brief(slices.DeleteFunc(got,
				func(x string) bool { return !strings.HasPrefix(x, "/a ") })) != c.swept {
				t.Errorf("swept %q", got)
			}
			var found []string
			for _, word := range []string{"pilot", "gull", "tables"} {
				if strings.HasPrefix(s.found(word), "/a") {
					found = append(found, word)
				}
			}
			if got := s.copies(a); len(got) != c.copies || strings.Join(found, " ") != c.found ||
				(s.found(`"pilot waits"`) == "/a") != c.phrase {
				t.Errorf("copies %q, found %q, phrase %v", got, found, !c.phrase)
			}
			s.check(c.later)
			r := s.resource(a)
			if c.copies == 0 && c.found == "" && described(r) || c.found == "" && r.Kept.Texts != nil {
				t.Errorf("of what is no longer held is known %+v", r)
			}
			if !r.FirstCrawled.Equal(before.FirstCrawled) || !r.FirstIndexed.Equal(before.FirstIndexed) ||
				!r.FirstPreserved.Equal(before.FirstPreserved) || r.Versions != before.Versions {
				t.Errorf("dates moved: %+v", r)
			}
			if got := s.sweep(SweepOptions{}); len(got) > 0 { // a second sweep must erase nothing
				t.Errorf("swept again: %q", got)
			}
		})
	}
}

// check verifies that what is left of the page a may be used under the policy robots. It checks
// each usage of a presenter.
func (s *store) check(robots string) {
	s.Helper()
	r := s.resource(a)
	if !r.Indexed {
		return
	}
	u, _ := url.Parse(a)
	origin, err := s.web.Policy(context.Background(), u)
	if err != nil {
		s.Fatal(err)
	}
	t := terms.Held(context.Background(), origin, u, r.Own, nil, terms.Sources{Policies: s.web},
		acap.Facts{Now: time.Now()}).Keeping(r.Kept)
	if !t.Findable() {
		s.Errorf("under %q the entry may not be found: %+v", robots, r)
	}
	if _, shown := t.Snippet(acap.PresentSnippet, snippet.Wanted{}); r.Current == 0 && !shown &&
		t.Decide(acap.PresentSnippet).Allowed {
		s.Errorf("the copy is gone and no excerpt is kept: %+v", r)
	}
}

// TestSweepUnread checks that a policy that could not be read erases nothing (X63).
func TestSweepUnread(t *testing.T) {
	for name, policy := range map[string]*acap.Policy{
		"never asked for": nil,
		"never read":      acap.Unreachable(site+"/robots.txt", "HTTP status 503"),
		"a reference cannot be read (D07)": acap.Parse(site+"/robots.txt",
			[]byte("ACAP-version: 1.1\nACAP-crawler: *\nACAP-permissions-reference: /more.txt\n")).
			Policy(acap.Crawler{Names: []string{"gazer"}}),
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(""), Options{})
			s.receive(pageOf("<p>gull", a))
			s.receive(pageOf(article, a))
			s.web.policy, s.web.sum = policy, 1
			if policy != nil && policy.Decide(acap.Index, acap.Resource{}).Reason != acap.Unavailable {
				t.Fatal("the policy can be read")
			}
			counts, err := s.Sweep(context.Background(), SweepOptions{}, func(x Swept) { t.Errorf("%+v", x) })
			if err != nil || counts != (SweepCounts{Pages: 1, Unjudged: 1}) || len(s.copies(a)) != 2 ||
				s.found("pilot") != "/a" {
				t.Errorf("%+v, %v", counts, err)
			}
			// The page is known to be gone, but not whether its copies may stay.
			if err := s.endPages(context.Background(), answer(404, a).Hops()); policy != nil &&
				(err != nil || len(s.copies(a)) != 2) {
				t.Errorf("%q, %v", s.copies(a), err)
			}
			s.web.says("")
		})
	}
}

func TestSweepDry(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(pageOf(article, b, a))
	s.receive(pageOf("<p>gull", c))
	before := []archive.Resource{s.resource(a), s.resource(c)}
	s.web.says("ACAP-disallow-preserve: /a\nACAP-request-take-down: /c")
	want := []string{"/a copy 1 false " + site + "/robots.txt:3: ACAP-disallow-preserve: /a", "/a index entry 0 true",
		"/c copy 1 false " + site + "/robots.txt:4: ACAP-request-take-down: /c", "/c index entry 0 false " + site +
			"/robots.txt:4: ACAP-request-take-down: /c"}
	for _, o := range []SweepOptions{{DryRun: true}, {DryRun: true, AsOf: time.Now().AddDate(1, 0, 0)},
		{DryRun: true, Origin: site}} {
		if got := s.sweep(o); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	}
	if got := s.sweep(SweepOptions{Origin: "http://quay.example:8080"}); len(got) > 0 {
		t.Errorf("of another origin: %q", got)
	}
	if after := []archive.Resource{s.resource(a), s.resource(c)}; fmt.Sprint(before) != fmt.Sprint(after) ||
		len(s.copies(a)) != 1 || s.found("gull") != "/c" || s.found(`"pilot waits"`) != "/a" {
		t.Errorf("a dry run changed %+v to %+v", before, after)
	}
	other := newWeb("ACAP-disallow-index: /c") // this could be the policy for another crawler
	if got := s.sweep(SweepOptions{DryRun: true, Policies: other}); brief(got) != "entry" {
		t.Errorf("%q", got)
	}
	if got := s.sweep(SweepOptions{Origin: site}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if to, err := s.archive.Resolve(b); to != a || err != nil {
		t.Errorf("b leads to %s, %v", to, err)
	}
}

// TestSweepAliases checks that no address redirects to a page that is erased completely, and that
// an address that redirects elsewhere continues to do so (X66).
func TestSweepAliases(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(pageOf("<p>An old pier.", a))
	s.receive(pageOf(article, a, b))
	s.receive(pageOf("<p>gull", site+"/d", c))
	s.web.says("ACAP-disallow-preserve: /a\nACAP-disallow-preserve: /c\nACAP-disallow-index: /c")
	if got := s.sweep(SweepOptions{}); brief(got) != "copy1 copy1 entry" {
		t.Errorf("%q", got)
	}
	for from, want := range map[string]string{a: b, site + "/d": site + "/d"} {
		if to, err := s.archive.Resolve(from); to != want || err != nil {
			t.Errorf("%s leads to %s, %v", from, to, err)
		}
	}
	if described(s.resource(a)) || described(s.resource(c)) {
		t.Errorf("%+v %+v", s.resource(a), s.resource(c))
	}
	s.web.says("ACAP-request-take-down: /b")
	if got := s.sweep(SweepOptions{}); brief(got) != "copy1 entry" {
		t.Errorf("%q", got)
	}
	if to, err := s.archive.Resolve(a); to != a || err != nil {
		t.Errorf("a leads to %s, %v", to, err)
	}
}

// TestSweepTombstones checks that a tombstone names the reason and the policy line, and repeats no
// text of the page.
func TestSweepTombstones(t *testing.T) {
	s := open(t, t.TempDir(), newWeb("ACAP-composite-usage: hoard follow"), Options{})
	s.receive(pageOf("<p>gull", a))
	s.receive(pageOf(article+` <b class="the-acap:disallow-(hoard) secret">x</b>`, a))
	s.receive(pageOf(`<meta name="robots" content="ACAP allow-preserve time-limit=30-days">`+article, b))
	s.web.says("ACAP-composite-usage: hoard preserve\nACAP-allow-preserve: / time-limit=until-recrawled")
	if _, err := s.Sweep(context.Background(), SweepOptions{AsOf: time.Now().AddDate(0, 2, 0)}, nil); err != nil {
		t.Fatal(err)
	}
	stones, err := s.archive.Tombstones(a)
	if err != nil || len(stones) != 2 || stones[0].Version != 1 || stones[1].Version != 2 || stones[0].Line == "" ||
		stones[1].Line == "" {
		t.Errorf("%+v, %v", stones, err)
	}
	more, err := s.archive.Tombstones(b)
	if err != nil || len(more) != 1 {
		t.Errorf("%+v, %v", more, err)
	}
	for _, x := range append(stones, more...) {
		if strings.Contains(x.Why+x.Line, "secret") || strings.Contains(x.Why+x.Line, "30-days") ||
			strings.Contains(x.Why+x.Line, "hoard)") {
			t.Errorf("%+v", x)
		}
	}
}

// TestSweepConcurrently receives pages and changes policies while sweeps run. At the end,
// everything stored may be stored.
func TestSweepConcurrently(t *testing.T) {
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{})
	robots := []string{"", "ACAP-disallow-preserve: /", "ACAP-disallow-index: /",
		"ACAP-disallow-index: /\nACAP-disallow-preserve: /",
		"ACAP-allow-index: / must-use-resource=the-acap:text:tables"}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 20 {
				if _, err := s.Receive(context.Background(), pageOf(fmt.Sprintf("<p>pilot word%dx%d", worker, i),
					fmt.Sprintf("%s/%d", site, (i+worker)%7))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 15 {
			w.says(robots[i%len(robots)])
			if _, err := s.Sweep(context.Background(), SweepOptions{}, nil); err != nil {
				t.Error(err)
			}
		}
		w.says(robots[3])
	})
	wg.Wait()
	s.sweep(SweepOptions{})
	err := s.archive.Each(func(r archive.Resource) error {
		if r.Indexed || r.Current != 0 || described(r) && r.Versions > 0 || len(s.copies(r.URL)) > 0 {
			t.Errorf("%+v", r)
		}
		return nil
	})
	if err != nil || s.found("pilot") != "" {
		t.Errorf("found %q, %v", s.found("pilot"), err)
	}
}

// TestPolicyChangesMeanwhile checks a policy that changes while a page is received under the old
// policy: the new policy must be applied to the page.
func TestPolicyChangesMeanwhile(t *testing.T) {
	w := newWeb("")
	s := open(t, t.TempDir(), w, Options{})
	var once sync.Once
	asked := 0
	w.asked = func() {
		if asked++; asked > 1 {
			once.Do(func() { w.says("ACAP-disallow-index: /\nACAP-disallow-preserve: /") })
		}
	}
	if r := s.receive(pageOf(article, a)); r.Stored || r.Indexed {
		t.Errorf("%+v", r)
	}
	if len(s.copies(a)) != 0 || s.found("pilot") != "" || described(s.resource(a)) {
		t.Errorf("it is held: %+v", s.resource(a))
	}
}

// TestSweepFails interrupts a sweep at each step of each write. The next sweep must complete the
// work.
func TestSweepFails(t *testing.T) {
	failing := errors.New("no space left on device")
	for left := 0; ; left++ {
		dir := t.TempDir()
		s := open(t, dir, newWeb(""), Options{})
		s.receive(pageOf(article, a))
		s.receive(pageOf(article+"!", a))
		s.receive(pageOf(article, b))
		s.receive(pageOf(article, c))
		s.shut()
		w := newWeb("ACAP-disallow-preserve: /a\nACAP-disallow-index: /b\nACAP-disallow-preserve: " +
			"/c\nACAP-disallow-index: /c")
		writes := 0
		s = openWith(t, dir, w, Options{}, archive.Options{Fault: func(archive.Step) error {
			if writes++; writes > left {
				return failing
			}
			return nil
		}})
		_, err := s.Sweep(context.Background(), SweepOptions{}, nil)
		if err != nil && !errors.Is(err, failing) {
			t.Fatal(err)
		}
		closed := s.Holdings.Close()
		s.Holdings = nil
		s.index.Close()
		s.archive.Close()
		if err == nil && closed != nil {
			t.Error(closed)
		}
		s = open(t, dir, w, Options{})
		s.sweep(SweepOptions{})
		if s.found("pilot") != "/a" || s.found(`"pilot waits"`) != "" || len(s.copies(a)) != 0 ||
			len(s.copies(b)) != 1 || described(s.resource(c)) {
			t.Errorf("cut at write %d: pilot found at %q, as a phrase at %q; copies %q %q; of c is known %+v", left,
				s.found("pilot"), s.found(`"pilot waits"`),
				s.copies(a), s.copies(b), s.resource(c))
		}
		s.shut()
		if err == nil && closed == nil {
			break
		}
		if left > 100 {
			t.Fatal("it never ends")
		}
	}
}

// damageFirstKey overwrites the encryption key of the first body in the data directory dir.
func damageFirstKey(t *testing.T, dir string) {
	t.Helper()
	keys, err := os.OpenFile(filepath.Join(dir, "keys.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = keys.WriteAt(make([]byte, 32), 32)
	if err = errors.Join(err, keys.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestSweepDamaged checks that a page with a damaged record is named in the error and skipped. The
// page must stay due.
func TestSweepDamaged(t *testing.T) {
	dir := t.TempDir()
	v := &versioned{web: newWeb("ACAP-composite-usage: hoard follow"), since: firstUse}
	s := open(t, dir, v.web, v.options())
	s.receive(pageOf(article+` <b class="the-acap:disallow-(hoard)">gull</b>`, a))
	s.receive(pageOf(article, b))
	s.shut()
	damageFirstKey(t, dir)
	s = open(t, dir, v.web, v.options())
	if _, err := s.archive.Body(s.resource(a).Current); !errors.Is(err, archive.ErrCorrupt) {
		t.Fatal("the body is not damaged:", err)
	}
	v.changes("ACAP-composite-usage: hoard preserve\nACAP-disallow-index: /b")
	s.rejudge(site)
	_, due, err := s.archive.DueSince(a)
	if got := v.takeReports(); got != "/b index entry" || !due || err != nil {
		t.Errorf("%q, still due: %v, %v", got, due, err)
	}
	if err := s.Holdings.Close(); !errors.Is(err, archive.ErrCorrupt) || !strings.Contains(err.Error(), a) {
		t.Errorf("closed with %v", err)
	}
	s.Holdings = nil
}

// brittle is a policy source that panics for one page.
type brittle struct {
	terms.Policies
	on string
}

func (b brittle) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	if u.String() == b.on {
		panic("sixteen bits")
	}
	return b.Policies.Policy(ctx, u)
}

// TestSweepDefect checks that a page that causes a panic is named and left unchanged, and that the
// other pages are swept.
func TestSweepDefect(t *testing.T) {
	var told []*defect.Error
	s := open(t, t.TempDir(), newWeb(""), Options{Defect: func(e *defect.Error) { told = append(told, e) }})
	s.receive(pageOf(article, a))
	s.receive(pageOf(article, b))
	s.web.says("ACAP-disallow-preserve: /")
	counts, err := s.Sweep(context.Background(), SweepOptions{Policies: brittle{s.web, a}}, nil)
	if !isPanic(err) || !strings.Contains(err.Error(), a) || counts.Pages != 1 || len(told) != 1 {
		t.Errorf("%+v, %v, %v", counts, err, told)
	}
	if s.resource(a).Current == 0 || s.resource(b).Current != 0 {
		t.Error("the page that could not be checked was erased, or the other one stayed")
	}
}
