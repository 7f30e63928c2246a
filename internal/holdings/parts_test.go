package holdings

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/test/interrupt"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

const lead = site + "/lead"

// kitchen is a web with two pages that are indexed by the words of another resource. The page /a
// may be preserved, the page /bare may not.
type kitchen struct {
	*store
	v        *versioned
	mu       sync.Mutex // guards the following fields, which background goroutines change
	hastened []string
	parts    []string // resources required by pages checked in the background
}

const mustUse = "ACAP-allow-index: /a must-use-resource=" + lead + "\nACAP-allow-index: /bare must-use-resource=" +
	lead +
	"\nACAP-disallow-preserve: /bare\n"

func newKitchen(t *testing.T, dir string) *kitchen {
	t.Helper()
	k := &kitchen{v: &versioned{web: newWeb(mustUse), since: firstUse}}
	k.v.web.parts[lead] = "tables"
	k.open(t, dir)
	return k
}

func (k *kitchen) open(t *testing.T, dir string) {
	t.Helper()
	o := k.v.options()
	o.Hasten = func(_ context.Context, pages []string) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.hastened = append(k.hastened, pages...)
		return nil
	}
	o.Parts = func(_ context.Context, parts, missing []string) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.parts = append(k.parts, parts...)
		k.parts = append(k.parts, missing...)
		return nil
	}
	k.store = open(t, dir, k.v.web, o)
}

func (k *kitchen) stock() {
	k.Helper()
	for _, address := range []string{a, site + "/bare"} {
		if r := k.receive(pageOf(article, address)); !r.Indexed || !slices.Equal(r.Parts, []string{lead}) ||
			r.Missing != nil {
			k.Fatalf("%s: %+v", address, r)
		}
	}
}

// visit requests the resource at address on its own, and waits for the resulting work.
func (s *store) visit(address string) (unchanged bool) {
	s.Helper()
	pg, failure := s.web.Fetch(context.Background(), address)
	unchanged, err := s.ReceivePart(context.Background(), address, pg, failure)
	if err != nil {
		s.Fatal(err)
	}
	s.AwaitRejudged(context.Background())
	return unchanged
}

func (s *store) known(address string) archive.Part {
	s.Helper()
	p, err := s.archive.Part(address)
	if err != nil {
		s.Fatal(err)
	}
	return p
}

// TestPartThatChanges checks that a change of a resource changes the data made from it. Pages with
// a stored copy are checked again without a request for the page. Other pages are crawled again.
func TestPartThatChanges(t *testing.T) {
	k := newKitchen(t, t.TempDir())
	k.stock()
	if !k.visit(lead) || k.hastened != nil || k.found("tables") != "/a /bare" {
		t.Errorf("unchanged: %q, %q", k.hastened, k.found("tables"))
	}
	was := k.resource(a)
	k.web.parts[lead] = "chairs"
	if k.visit(lead) || !slices.Equal(k.hastened, []string{site + "/bare"}) || k.found("chairs") != "/a" ||
		k.found("tables") != "/bare" {
		t.Errorf("changed: %q, %q, %q", k.hastened, k.found("chairs"), k.found("tables"))
	}
	if is := k.resource(a); !is.LastCrawled.Equal(was.LastCrawled) || is.Versions != 1 || len(k.copies(a)) != 1 ||
		!slices.Equal(k.parts, []string{lead}) {
		t.Errorf("%+v, was %+v; requires %q", is, was, k.parts)
	}
	if !k.visit(lead) || len(k.hastened) != 1 {
		t.Errorf("unchanged again: %q", k.hastened)
	}
	k.web.parts[lead] = " " // an empty text is not enough to index a page
	k.v.takeReports()
	if k.visit(lead); k.found("chairs") != "" || k.resource(a).Indexed || k.v.takeReports() != "/a index entry" {
		t.Errorf("empty: %q, %+v", k.found("chairs"), k.resource(a))
	}
	k.web.parts[lead] = "stools" // the page /a waits for the resource
	if k.visit(lead); k.found("stools") != "/a" {
		t.Errorf("found %q", k.found("stools"))
	}
	if p := k.known(lead); p.Pending != archive.Nobody || p.Digest == "" {
		t.Errorf("%+v", p)
	}
}

// TestPartThatGoes checks a resource that may no longer be used. All data made from the resource is
// erased at once and reported (I10, I02, X30). When the resource is available again, the data is
// stored again. A temporary failure erases nothing (H05).
func TestPartThatGoes(t *testing.T) {
	prohibited := func(w *web) { w.says(mustUse + "ACAP-disallow-crawl: /lead") }
	status := func(code int) func(*web) {
		return func(w *web) { w.fails = func(rawurl string) (*page.Page, error) { return answer(code, rawurl), nil } }
	}
	fails := func(err error) func(*web) {
		return func(w *web) { w.fails = func(string) (*page.Page, error) { return nil, err } }
	}
	for name, c := range map[string]struct {
		happens func(*web)
		ends    bool
		why     string
		line    bool
	}{
		"not found":  {status(404), true, "404", false},
		"gone":       {status(410), true, "410", false},
		"prohibited": {prohibited, true, "prohibited by", true},
		"by itself": {func(w *web) { w.parts[lead] = `<meta name="robots" content="ACAP disallow-crawl">tables` },
			true, "", true},
		"taken down": {func(w *web) { w.says(mustUse + "ACAP-request-take-down: /lead") }, true, "taken down",
			false},
		"refused":        {fails(errors.New("not an address for crawlers")), true, "not an address", false},
		"unavailable":    {status(503), false, "", false},
		"too many":       {status(429), false, "", false},
		"too late":       {status(408), false, "", false},
		"no answer":      {fails(fmt.Errorf("%w: reset", terms.ErrNoAnswer)), false, "", false},
		"not modified":   {status(304), false, "", false},
		"the same again": {func(*web) {}, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKitchen(t, t.TempDir())
			k.stock()
			var mu sync.Mutex
			var told []Swept
			k.o.Swept = func(s Swept) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, s)
			}
			c.happens(k.web)
			for range 2 { // the second repetition has nothing to do
				k.visit(lead)
			}
			if found := k.found("tables"); c.ends != (found == "") || !c.ends && (found != "/a /bare" || told != nil) {
				t.Errorf("found %q, told %+v", found, told)
			}
			for _, s := range told {
				if !strings.Contains(s.Why, c.why) || (s.Line != "") != c.line {
					t.Errorf("told %+v", s)
				}
			}
			if left, err := k.archive.MadeOf(lead); err != nil || c.ends && (len(left) > 0 || len(told) != 2) {
				t.Errorf("left %q, told %+v, %v", left, told, err)
			}
			if len(k.copies(a)) != 1 || k.hastened != nil {
				t.Errorf("the page itself: %q, hastened %q", k.copies(a), k.hastened)
			}
			k.web.says(mustUse)
			k.web.fails, k.web.parts[lead] = nil, "tables"
			if k.visit(lead); !strings.Contains(k.found("tables"), "/a") || (k.hastened != nil) != c.ends {
				t.Errorf("well again: %q, hastened %q", k.found("tables"), k.hastened)
			}
		})
	}
}

// TestPartThatIsGoneForOne checks a page that is received after a required resource has
// disappeared. The data made from this resource must be erased from other pages too.
func TestPartThatIsGoneForOne(t *testing.T) {
	k := newKitchen(t, t.TempDir())
	k.stock()
	delete(k.web.parts, lead)
	if r := k.receive(pageOf(article, a)); r.Indexed || k.found("tables") != "" ||
		!slices.Equal(r.Parts, []string{lead}) {
		t.Errorf("%+v, found %q", r, k.found("tables"))
	}
	if k.v.takeReports() != "/bare index entry" {
		t.Error("it is not told")
	}
}

// TestPartThatIsAPageToo checks a required resource that is also crawled as a page. If the crawl
// shows that this page is gone, data made from it must be erased from the pages that require it.
func TestPartThatIsAPageToo(t *testing.T) {
	k := newKitchen(t, t.TempDir())
	k.stock()
	k.receive(pageOf("tables", lead))
	k.receive(answer(404, lead))
	if k.found("tables") != "" || k.v.takeReports() == "" || k.known(lead).Why == "" {
		t.Errorf("found %q, %+v", k.found("tables"), k.known(lead))
	}
	k.receive(answer(404, site+"/another"))
	if k.known(site+"/another") != (archive.Part{}) {
		t.Errorf("%+v", k.known(site+"/another"))
	}
}

// TestPartThatIsWaitedFor checks a page received while a required resource was unavailable. The
// page must be checked again when the resource is available, and not before.
func TestPartThatIsWaitedFor(t *testing.T) {
	k := newKitchen(t, t.TempDir())
	k.stock()
	k.web.fails = func(rawurl string) (*page.Page, error) { return answer(503, rawurl), nil }
	k.web.says(mustUse + "ACAP-allow-index: /b must-use-resource=" + lead)
	if r := k.receive(pageOf(article, b)); r.Indexed || !slices.Equal(r.Missing, []string{lead}) || r.Parts != nil {
		t.Errorf("%+v", r)
	}
	k.visit(lead)
	k.web.fails = nil
	if got := k.PartCondition(lead); got != nil {
		t.Errorf("asked for with %v", got)
	}
	k.v.takeReports()
	if !k.visit(lead) || k.found("tables") != "/a /b /bare" || k.hastened != nil || k.v.takeReports() != "" {
		t.Errorf("found %q, hastened %q", k.found("tables"), k.hastened)
	}
	if answer, change, err := k.archive.Awaiting(lead); err != nil || answer != nil || change != nil {
		t.Errorf("wait %q, %q, %v", answer, change, err)
	}
}

// TestPartThatIsOfNoUse checks a page for which a resource was fetched but not used. The page is
// checked again only when the resource changes.
func TestPartThatIsOfNoUse(t *testing.T) {
	k := newKitchen(t, t.TempDir())
	h := http.Header{"Etag": {`"1"`}, "Content-Type": {"text/plain"}}
	k.web.fails = func(string) (*page.Page, error) { return pageWith(h, 200, "", lead), nil }
	if r := k.receive(pageOf(article, site+"/bare")); r.Indexed {
		t.Fatalf("%+v", r)
	}
	for range 2 {
		if !k.visit(lead) || k.hastened != nil || k.PartCondition(lead).Get("If-None-Match") != `"1"` {
			t.Errorf("hastened %q, asked for with %v", k.hastened, k.PartCondition(lead))
		}
	}
	k.web.fails = nil
	if k.visit(lead) || !slices.Equal(k.hastened, []string{site + "/bare"}) {
		t.Errorf("hastened %q", k.hastened)
	}
}

// TestPartOfTwoAnswers checks pages made from two different responses of a resource. If the
// resource then returns the first response again, the pages made from the second response are
// checked again.
func TestPartOfTwoAnswers(t *testing.T) {
	k := newKitchen(t, t.TempDir())
	h := http.Header{"Etag": {`"1"`}, "Content-Type": {"text/plain"}}
	first := func(string) (*page.Page, error) { return pageWith(h, 200, "tables", lead), nil }
	k.web.fails = first
	k.receive(pageOf(article, a))
	k.web.fails, k.web.parts[lead] = nil, "chairs"
	k.web.says(mustUse + "ACAP-allow-index: /b must-use-resource=" + lead)
	if k.receive(pageOf(article, b)); k.found("chairs") != "/b" || k.PartCondition(lead) != nil {
		t.Errorf("found %q, asked for with %v", k.found("chairs"), k.PartCondition(lead))
	}
	k.web.fails = first
	if k.visit(lead) || k.found("chairs") != "" || k.found("tables") != "/a /b" || k.PartCondition(lead) == nil {
		t.Errorf("found %q and %q, asked for with %v", k.found("chairs"), k.found("tables"), k.PartCondition(lead))
	}
}

// TestPartInGuestRun checks a run whose options exclude copies or index entries. The pages must be
// left to the next run without these options.
func TestPartInGuestRun(t *testing.T) {
	for name, guest := range map[string]func(*Options){
		"without an index": func(o *Options) { o.NoIndex = true },
		"without copies":   func(o *Options) { o.NoPreserve = true },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			k := newKitchen(t, dir)
			k.stock()
			o := k.o
			guest(&k.o)
			k.web.parts[lead] = "chairs"
			for range 2 {
				k.visit(lead)
				k.rejudge("")
			}
			if k.found("tables") != "/a /bare" || k.hastened != nil || k.known(lead).Pending != archive.Waiting {
				t.Errorf("found %q, hastened %q, %+v", k.found("tables"), k.hastened, k.known(lead))
			}
			k.o = o
			k.rejudge("")
			if k.found("chairs") != "/a" || !slices.Equal(k.hastened, []string{site + "/bare"}) ||
				k.known(lead).Pending != archive.Nobody {
				t.Errorf("found %q, hastened %q, %+v", k.found("chairs"), k.hastened, k.known(lead))
			}
		})
	}
}

// TestPartThatChangesMeanwhile checks a resource that changes while a page is being checked with
// the old content of the resource.
func TestPartThatChangesMeanwhile(t *testing.T) {
	k := newKitchen(t, t.TempDir())
	k.stock()
	old := pageOf("tables", lead)
	k.web.fails = func(string) (*page.Page, error) {
		k.web.fails, k.web.parts[lead] = nil, "chairs"
		k.visit(lead)
		return old, nil
	}
	k.web.says(mustUse + "ACAP-allow-index: /b must-use-resource=" + lead)
	if r := k.receive(pageOf(article, b)); !slices.Equal(r.Missing, []string{lead}) || k.found("chairs") != "/a" {
		t.Errorf("%+v, found %q", r, k.found("chairs"))
	}
	if !k.visit(lead) || k.found("chairs") != "/a /b" {
		t.Errorf("found %q", k.found("chairs"))
	}
}

// TestPartCondition checks that a conditional request for a resource uses the validators of the
// stored response, unless the address of the resource redirected.
func TestPartCondition(t *testing.T) {
	k := newKitchen(t, t.TempDir())
	h := http.Header{"Etag": {`"1"`}, "Last-Modified": {time.Unix(0, 0).UTC().Format(http.TimeFormat)},
		"Content-Type": {"text/plain"}}
	direct, led := pageWith(h, 200, "tables", lead), pageWith(h, 200, "tables", lead, site+"/elsewhere")
	k.web.fails = func(string) (*page.Page, error) { return direct, nil }
	if got := k.PartCondition(lead); got != nil {
		t.Errorf("asked for with %v", got)
	}
	k.stock()
	got := k.PartCondition(lead)
	if got.Get("If-None-Match") != `"1"` || got.Get("If-Modified-Since") == "" {
		t.Errorf("asked for with %v", got)
	}
	k.web.fails = func(string) (*page.Page, error) { return led, nil }
	if k.visit(lead); k.PartCondition(lead) != nil {
		t.Errorf("asked for with %v", k.PartCondition(lead))
	}
}

// TestPartThatIsNotNeeded checks that the record of a resource is deleted when no page needs the
// resource, and when the resource is taken down.
func TestPartThatIsNotNeeded(t *testing.T) {
	k := newKitchen(t, t.TempDir())
	k.stock()
	needed := func(want bool) {
		t.Helper()
		if got, err := k.Needed(context.Background(), lead); err != nil || got != want ||
			(k.known(lead) != archive.Part{}) != want {
			t.Errorf("needed: %v, %v; %+v", got, err, k.known(lead))
		}
	}
	needed(true)
	k.web.says("")
	k.receive(pageOf(article+"<p>again", a))
	needed(true)
	k.receive(pageOf(article, site+"/bare"))
	needed(false)
	k.web.says(mustUse)
	k.stock()
	if _, err := k.Erase(context.Background(), lead, "asked", ""); err != nil || k.known(lead) != (archive.Part{}) {
		t.Errorf("%+v, %v", k.known(lead), err)
	}
}

// TestPartThatIsLifted checks a take-down request or prohibition that is lifted: data made from the
// resource is then stored for the pages again (P05).
func TestPartThatIsLifted(t *testing.T) {
	erased := func(address string) func(*kitchen) {
		return func(k *kitchen) {
			if _, err := k.Erase(context.Background(), address, takenDown, ""); err != nil {
				k.Fatal(err)
			}
		}
	}
	swept := func(robots string) func(*kitchen) {
		return func(k *kitchen) {
			k.v.changes(mustUse + robots)
			if _, err := k.Sweep(context.Background(), SweepOptions{}, nil); err != nil {
				k.Fatal(err)
			}
		}
	}
	const hop = site + "/elsewhere"
	for name, ends := range map[string]func(*kitchen){
		"erased":           erased(lead),
		"a hop to it":      erased(hop),
		"swept":            swept("ACAP-request-take-down: /lead"),
		"swept for a hop":  swept("ACAP-request-take-down: /elsewhere"),
		"swept prohibited": swept("ACAP-disallow-crawl: /lead"),
	} {
		t.Run(name, func(t *testing.T) {
			k := newKitchen(t, t.TempDir())
			k.web.fails = func(string) (*page.Page, error) { return pageOf("tables", lead, hop), nil }
			k.stock()
			if ends(k); k.found("tables") != "" {
				t.Fatalf("found %q", k.found("tables"))
			}
			k.web.says(mustUse)
			if needed, err := k.Needed(context.Background(), lead); err != nil || !needed {
				t.Errorf("needed %v, %v", needed, err)
			}
			if k.visit(lead); k.found("tables") != "/a" || !slices.Equal(k.hastened, []string{site + "/bare"}) {
				t.Errorf("found %q, hastened %q", k.found("tables"), k.hastened)
			}
		})
	}
}

// TestPartThatNobodyWaitsFor checks that a page stops waiting for a resource when the page is gone,
// or when it no longer requires the resource.
func TestPartThatNobodyWaitsFor(t *testing.T) {
	for name, ends := range map[string]func(*kitchen){
		"it is required no more": func(k *kitchen) {
			k.web.says("")
			k.receive(pageOf(article, b))
		},
		"gone":    func(k *kitchen) { k.receive(answer(410, b)) },
		"led off": func(k *kitchen) { k.receive(pageOf(article, b, site+"/c")) },
		"erased":  func(k *kitchen) { _, _ = k.Erase(context.Background(), b, "asked", "") },
		"swept": func(k *kitchen) {
			k.v.changes(mustUse + "ACAP-request-take-down: /b")
			_, _ = k.Sweep(context.Background(), SweepOptions{}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKitchen(t, t.TempDir())
			k.web.says("ACAP-allow-index: /b must-use-resource=" + lead)
			k.web.fails = func(rawurl string) (*page.Page, error) { return answer(503, rawurl), nil }
			if r := k.receive(pageOf(article, b)); !slices.Equal(r.Missing, []string{lead}) {
				t.Fatalf("%+v", r)
			}
			ends(k)
			if needed, err := k.Needed(context.Background(), lead); err != nil || needed {
				t.Errorf("needed %v, %v", needed, err)
			}
		})
	}
}

// TestPartThatEndedBefore checks data made from a resource that is no longer available. Opening the
// store after a crash erases this data. Verify reports data that cannot be erased.
func TestPartThatEndedBefore(t *testing.T) {
	dir := t.TempDir()
	k := newKitchen(t, dir)
	k.stock()
	ended := archive.Part{Fetched: time.Now(), Why: "it answers with status 404", Pending: archive.Everybody}
	if err := k.archive.SetPart(context.Background(), lead, ended); err != nil {
		t.Fatal(err)
	}
	found, err := k.Verify(context.Background(), archive.VerifyOptions{})
	if err != nil || len(found) != 1 || found[0].Where != lead || found[0].Remedy != SweepRemedy {
		t.Errorf("found %v, %v", found, err)
	}
	k.shut()
	k.open(t, dir)
	if k.found("tables") != "" || k.known(lead).Pending != archive.Nobody || k.known(lead).Why == "" {
		t.Errorf("found %q, %+v", k.found("tables"), k.known(lead))
	}
	if found, err := k.Verify(context.Background(), archive.VerifyOptions{}); err != nil || found != nil {
		t.Errorf("found %v, %v", found, err)
	}
	if k.visit(lead); k.found("tables") != "/a" || !slices.Equal(k.hastened, []string{site + "/bare"}) {
		t.Errorf("found %q, hastened %q", k.found("tables"), k.hastened)
	}
}

// TestPartThatEndsMeanwhile checks a resource that becomes unavailable while a page is being
// checked with the old content of the resource.
func TestPartThatEndsMeanwhile(t *testing.T) {
	k := newKitchen(t, t.TempDir())
	k.stock()
	old := pageOf("tables", lead)
	k.web.fails = func(rawurl string) (*page.Page, error) {
		k.web.fails = func(rawurl string) (*page.Page, error) { return answer(410, rawurl), nil }
		k.visit(lead)
		return old, nil
	}
	k.web.says(mustUse + "ACAP-allow-index: /b must-use-resource=" + lead)
	if r := k.receive(pageOf(article, b)); !slices.Equal(r.Missing, []string{lead}) || k.found("tables") != "" {
		t.Errorf("%+v, found %q", r, k.found("tables"))
	}
}

// TestPartIsPending checks that the next run completes the work that Close interrupted.
func TestPartIsPending(t *testing.T) {
	dir := t.TempDir()
	k := newKitchen(t, dir)
	k.stock()
	k.web.parts[lead] = "chairs"
	k.background.stop()
	k.visit(lead)
	if k.found("chairs") != "" || !slices.Equal(k.hastened, []string{site + "/bare"}) ||
		k.known(lead).Pending != archive.Waiting || k.PartCondition(lead) != nil {
		t.Errorf("found %q, %+v", k.found("chairs"), k.known(lead))
	}
	k.shut()
	k.hastened = nil
	k.open(t, dir)
	k.rejudge("")
	if k.found("chairs") != "/a" || k.hastened != nil || k.known(lead).Pending != archive.Nobody {
		t.Errorf("found %q, hastened %q, %+v", k.found("chairs"), k.hastened, k.known(lead))
	}
}

// TestPartOfMany checks that a resource is requested only once, however many pages require it.
func TestPartOfMany(t *testing.T) {
	n := 400
	if testing.Short() {
		n = 40
	}
	w := newWeb("ACAP-allow-index: / must-use-resource=" + lead)
	var asked atomic.Int64
	text := "tables"
	w.fails = func(rawurl string) (*page.Page, error) {
		asked.Add(1)
		return pageOf(text, rawurl), nil
	}
	s := open(t, t.TempDir(), w, Options{})
	for i := range n {
		s.receive(pageOf(fmt.Sprintf("<p>%d", i), fmt.Sprintf("%s/%d", site, i)))
	}
	asked.Store(0)
	text = "chairs"
	s.visit(lead)
	// visit makes one request, and checking all pages makes another, because in this test the two
	// do not share responses
	if got := asked.Load(); got != 2 {
		t.Errorf("asked %d times", got)
	}
	if s.flushed(); s.found("tables") != "" ||
		s.resource(site+"/0").Kept.String() != s.resource(site+fmt.Sprint("/", n-1)).Kept.String() {
		t.Error("not all are made anew")
	}
}

// TestPartOfManyInterrupted checks that pages checked before an interruption are not checked again
// after it.
func TestPartOfManyInterrupted(t *testing.T) {
	const n = 200
	w := newWeb("ACAP-allow-index: / must-use-resource=" + lead)
	w.parts[lead] = "tables"
	var made atomic.Int64
	var s *store
	o := Options{Parts: func(context.Context, []string, []string) error {
		if made.Add(1) == 5 {
			s.background.stop()
		}
		return nil
	}}
	dir := t.TempDir()
	s = open(t, dir, w, o)
	for i := range n {
		s.receive(pageOf(fmt.Sprintf("<p>%d", i), fmt.Sprintf("%s/%d", site, i)))
	}
	w.parts[lead] = "chairs"
	s.visit(lead)
	left, _, err := s.archive.Awaiting(lead)
	if err != nil || len(left) == 0 || len(left) > n-5 || s.known(lead).Pending != archive.Waiting {
		t.Fatalf("%d are left, %+v, %v", len(left), s.known(lead), err)
	}
	s.shut()
	made.Store(5)
	s = open(t, dir, w, o)
	s.rejudge("")
	if again := int(made.Load()) - 5; again != len(left) || len(strings.Fields(s.found("chairs"))) != n ||
		s.known(lead).Pending != archive.Nobody {
		t.Errorf("%d of %d were judged again, %+v", again, len(left), s.known(lead))
	}
}

const partPages = 30

// partChild receives pages that are found by the words of another resource. It then visits the
// changed or deleted resource, and waits to be killed before the n-th write of the archive. step is
// "PART changed n" or "PART gone n".
func partChild(dir, step string) int {
	fail := func(err error) int {
		fmt.Println("error", err)
		return 1
	}
	var how string
	var nth int64
	if _, err := fmt.Sscanf(step, "PART %s %d", &how, &nth); err != nil {
		return fail(err)
	}
	var visiting atomic.Bool
	var writes atomic.Int64
	h, w, err := openChild(dir, func(archive.Step) error {
		if visiting.Load() && writes.Add(1) == nth {
			fmt.Println("ready")
			select {}
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	for i := range partPages {
		path := fmt.Sprintf("/part/%d", i)
		if _, err := h.Receive(context.Background(), pageOf("<p>pilot", site+path)); err != nil {
			return fail(err)
		}
		fmt.Println("kept", path)
	}
	becomes(w, how)
	visiting.Store(true)
	pg, failure := w.Fetch(context.Background(), site+"/s")
	if _, err := h.ReceivePart(context.Background(), site+"/s", pg, failure); err != nil {
		return fail(err)
	}
	fmt.Println("erased visit") // the erased data is not made again
	h.AwaitRejudged(context.Background())
	fmt.Println("ready") // the work had fewer writes than the number in step
	select {}
}

func becomes(w *web, how string) {
	w.parts[site+"/s"] = "renewed"
	if how == "gone" {
		delete(w.parts, site+"/s")
	}
}

// TestKillPart checks that nothing is lost if a process is killed after a resource has changed and
// before its pages are updated. The next run must complete the updates. Without -every, the test
// uses a sample of the writes.
func TestKillPart(t *testing.T) {
	for _, at := range interrupt.Points(append(slices.Repeat([]string{"changed"}, 16),
		slices.Repeat([]string{"gone"}, 16)...)) {
		how := at.Kind
		t.Run(fmt.Sprint(how, at.Nth), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			kept, done := runChild(t, dir, fmt.Sprintf("PART %s %d", how, at.Nth))
			if len(kept) != partPages {
				t.Fatalf("%d pages", len(kept))
			}
			w := crashWeb()
			becomes(w, how)
			s := open(t, dir, w, Options{})
			s.rejudge("")
			if !done["visit"] {
				s.visit(site + "/s")
			}
			renewed := len(strings.Fields(s.found("renewed")))
			if s.found("substitute") != "" || how == "changed" && renewed != partPages || how == "gone" && renewed > 0 {
				t.Errorf("found %q, renewed %d", s.found("substitute"), renewed)
			}
			if p := s.known(site + "/s"); p.Pending != archive.Nobody {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestPartOfDrawn checks a page that is checked again from its copy: it must keep its drawing, and
// must not be drawn again.
func TestPartOfDrawn(t *testing.T) {
	artist := &artist{asks: wanted}
	w := gallery("ACAP-allow-index: /a must-use-resource=" + lead)
	images := w.fails
	w.parts[lead] = "tables"
	w.fails = func(rawurl string) (*page.Page, error) {
		if text, is := w.parts[rawurl]; is {
			return pageOf(text, rawurl), nil
		}
		return images(rawurl)
	}
	s := open(t, t.TempDir(), w, Options{Drawer: artist})
	s.receive(pageOf(shown, a))
	drawn, sources := s.pictures(a), s.resource(a).Kept.Sources()
	artist.given = nil
	s.web.parts[lead] = "chairs"
	s.visit(lead)
	if s.found("chairs") != "/a" || artist.given != nil || drawn == "" || s.pictures(a) != drawn ||
		!slices.Equal(s.resource(a).Kept.Sources(), sources) {
		t.Errorf("found %q, given %q, held %q, was %q, of %q", s.found("chairs"), artist.given, s.pictures(a), drawn,
			s.resource(a).Kept.Sources())
	}
	s.web.says("ACAP-disallow-present-thumbnail: /a\nACAP-allow-index: /a must-use-resource=" + lead)
	s.web.parts[lead] = "tables"
	if s.visit(lead); s.pictures(a) != "" {
		t.Errorf("held %q", s.pictures(a))
	}
}
