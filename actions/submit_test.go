package actions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// desk is a ledger with credentials for site and for another origin.
type desk struct {
	*Ledger
	clock       *clock
	path        string
	ours, other *Credential
	token       string
}

func newDesk(t *testing.T, o Options) *desk {
	t.Helper()
	d := &desk{clock: newClock(), path: filepath.Join(t.TempDir(), "actions.db")}
	o.Now = d.clock.Now
	d.Ledger = openAt(t, d.path, o)
	credential := func(name, origin string) (string, *Credential) {
		token, _, err := d.AddCredential(name, []string{origin}, d.clock.now.Add(1000*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Authenticate(token)
		if err != nil {
			t.Fatal(err)
		}
		return token, &c
	}
	d.token, d.ours = credential("quay", site)
	_, d.other = credential("elsewhere", "http://elsewhere.example")
	return d
}

func (d *desk) submit(t *testing.T, by *Credential, action, url, key string) Request {
	t.Helper()
	r, _, err := d.Submit(Submission{By: by, Action: action, URL: url, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bars returns the paths of site that Bind blocks under a policy with the given lines.
func (d *desk) bars(t *testing.T, lines ...string) string {
	t.Helper()
	p, err := d.Bind(site, policyOf(lines...))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range p.Actions() {
		if a.Action == acap.TakeDown && a.Execute {
			out = append(out, strings.TrimPrefix(a.URL, site))
		}
	}
	return strings.Join(out, " ")
}

func policyOf(lines ...string) *acap.Policy {
	text := "ACAP-version: 1.1\nACAP-crawler: *\n" + strings.Join(lines, "\n") + "\n"
	return acap.Parse(site+"/robots.txt", []byte(text)).Policy(acap.Crawler{Names: []string{"gazer"}})
}

// events returns the event and the request of each entry in the chain.
func (d *desk) events(t *testing.T) (out []string) {
	t.Helper()
	err := d.view(func(x *txn) error {
		return x.tx.Bucket(bChain).ForEach(func(_, v []byte) error {
			var e Entry
			if err := json.Unmarshal(v[32:], &e); err != nil {
				return err
			}
			s := e.Event
			if e.Request != nil {
				var r Request
				if err := json.Unmarshal(e.Request, &r); err != nil {
					return err
				}
				s = fmt.Sprintf("%s %d", s, r.ID)
			}
			if e.Event == "rejected" {
				var what rejected
				if err := json.Unmarshal(e.Data, &what); err != nil {
					return err
				}
				s += " " + what.Code
				if what.Number > 0 {
					s += fmt.Sprintf(" %d", what.Number)
				}
			}
			out = append(out, s)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (d *desk) get(t *testing.T, id uint64) (r Request) {
	t.Helper()
	if err := d.view(func(x *txn) (err error) {
		r, _, err = x.request(id)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return r
}

// work executes the open requests, and then the requests in the given lines.
func (d *desk) work(t *testing.T, lines ...string) string {
	t.Helper()
	c := &hands{}
	x := NewExecutor(d.Ledger, c, c, Limits{Again: time.Hour, Pending: 10, PendingAll: 10, Day: 10, Listed: 10})
	if err := x.ExecuteReading(context.Background(),
		Reading{Origin: site, Since: d.clock.now, Actions: policyOf(lines...).Actions()}); err != nil {
		t.Fatal(err)
	}
	if err := x.Resume(context.Background()); err != nil {
		t.Fatal(err)
	}
	return strings.Join(c.did, ", ")
}

// hands is an Eraser and a Recrawler that records its calls.
type hands struct {
	did   []string
	found Evidence
}

func (h *hands) Erase(_ context.Context, url, _, line string) (int, error) {
	if line == "" {
		return 0, errors.New("no line")
	}
	h.did = append(h.did, "erase "+strings.TrimPrefix(url, site))
	return 1, nil
}

func (h *hands) Holds(string) (bool, error) { return true, nil }

func (h *hands) Verify(string, time.Time) (Evidence, error) { return h.found, nil }

func (h *hands) Promote(url string) error {
	h.did = append(h.did, "promote "+strings.TrimPrefix(url, site))
	return nil
}

func (h *hands) Visited(string, time.Time) (Visit, bool, error) { return Visit{}, false, nil }

func TestSubmit(t *testing.T) {
	d := newDesk(t, Options{})
	r := d.submit(t, d.ours, acap.TakeDown, "HTTP://Quay.example:080/a/../x", "k1")
	if r.ID != 1 || r.URL != site+"/x" || r.Origin != site || r.State != Due || !r.Standing || r.From.Kind != Channel ||
		r.From.Credential != "quay" || !strings.HasPrefix(r.Source, "request 1 of "+site) {
		t.Errorf("%+v", r)
	}
	if got := d.bars(t); got != "/x" {
		t.Errorf("barred before it is executed: %q", got)
	}
	if got := d.work(t); got != "erase /x" {
		t.Error(got)
	}
	if r := d.get(t, 1); r.State != Done || !r.Standing {
		t.Errorf("a reading without the line changed it: %+v", r)
	}
	again, replayed, err := d.Submit(Submission{By: d.ours, Action: acap.TakeDown, URL: site + "/x", Key: "k1"})
	if err != nil || !replayed || again.ID != 1 || again.State != Done {
		t.Errorf("%+v, %v, %v", again, replayed, err)
	}
	// P1 2.6 (P04): a take-down can be repeated without harm
	if r := d.submit(t, d.ours, acap.TakeDown, site+"/x", "k2"); r.ID != 1 || r.State != Due {
		t.Errorf("%+v", r)
	}
	if got := d.bars(t, down+"/y"); got != "/x /y" {
		t.Errorf("barred: %q", got)
	}
	if r, err := d.Withdraw(1, d.ours); err != nil || r.Standing || r.State != Refused {
		t.Errorf("%+v, %v", r, err)
	}
	if got := d.bars(t, down+"/y"); got != "/y" {
		t.Errorf("barred: %q", got)
	}
	if _, replayed, err := d.Submit(Submission{By: d.ours, Action: acap.TakeDown, URL: site + "/x",
		Key: "k1"}); err != nil || !replayed || d.bars(t) != "" {
		t.Error("a replay of what was withdrawn bars", replayed, err)
	}
	if r := d.submit(t, d.ours, acap.TakeDown, site+"/x", "k3"); r.ID != 2 {
		t.Errorf("%+v", r)
	}
}

// A re-crawl that is submitted through the channel is in force until it is done.
func TestSubmitRecrawl(t *testing.T) {
	d := newDesk(t, Options{Pending: 2})
	first := d.submit(t, d.ours, acap.ReCrawl, site+"/n", "k1")
	if r := d.submit(t, d.ours, acap.ReCrawl, site+"/n", "k2"); r.ID != first.ID {
		t.Errorf("%+v", r)
	}
	d.submit(t, d.ours, acap.ReCrawl, site+"/m", "k3")
	_, _, err := d.Submit(Submission{By: d.ours, Action: acap.ReCrawl, URL: site + "/o", Key: "k4"})
	if code(t, err) != TooMany {
		t.Error(err)
	}
	if got := d.bars(t); got != "" {
		t.Error(got)
	}
}

// P1 2.6 (P09): credentials and lines together cause only a limited number of re-crawls within a
// day.
func TestSubmitDay(t *testing.T) {
	d := newDesk(t, Options{Day: 3})
	n := 0
	ask := func(by *Credential, url string) string {
		n++
		r, _, err := d.Submit(Submission{By: by, Action: acap.ReCrawl, URL: url, Key: fmt.Sprint(n)})
		if err == nil && by != nil {
			_, err = d.Withdraw(r.ID, by)
		}
		return code(t, err)
	}
	d.work(t, recrawl+"/a")
	for i, want := range []string{"", "", TooMany, TooMany} {
		if got := ask(d.ours, site+"/n"); got != want {
			t.Errorf("%d: %q", i, got)
		}
	}
	if got := ask(d.other, "http://elsewhere.example/n") + ask(nil, site+"/o"); got != "" {
		t.Error(got)
	}
	d.clock.pass(24 * time.Hour)
	if got := ask(d.ours, site+"/n"); got != "" {
		t.Error(got)
	}
}

func TestSubmitRefused(t *testing.T) {
	d := newDesk(t, Options{})
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "used")
	secret := "Sesame9"
	for _, c := range []struct {
		by               *Credential
		action, url, key string
		want             string
	}{
		{d.ours, acap.TakeDown, site + "/x", "", Malformed},
		{d.ours, acap.TakeDown, site + "/x", "a\x01", Malformed},
		{d.ours, acap.TakeDown, site + "/x", "clé", Malformed},
		{d.ours, acap.TakeDown, site + "/x", strings.Repeat("k", 201), Malformed},
		{d.ours, "purge", site + "/x", "k", Malformed},
		{d.ours, "", site + "/x", "k", Malformed},
		{d.other, acap.TakeDown, site + "/x", "k", WrongOrigin},
		{d.ours, acap.TakeDown, "https://quay.example/x", "k", WrongOrigin},
		{d.ours, acap.TakeDown, "http://quay.example:8080/x", "k", WrongOrigin},
		{d.ours, acap.TakeDown, "http://quay.example./x", "k", WrongOrigin},
		{d.ours, acap.TakeDown, "http://www.quay.example/x", "k", WrongOrigin},
		{d.ours, acap.TakeDown, "http://quay.example.evil.example/x", "k", WrongOrigin},
		{d.ours, acap.TakeDown, "http://evil.example/" + site + "/x", "k", WrongOrigin},
		{d.ours, acap.TakeDown, "http://quay.example@evil.example/x", "k", BadURL},
		{d.ours, acap.TakeDown, "http://u:" + secret + "@quay.example/x", "k", BadURL},
		{d.ours, acap.TakeDown, "http://u:" + secret + "@quay.example:x/x", "k", BadURL},
		{d.ours, acap.TakeDown, site + "/n/*", "k", BadURL},
		{d.ours, acap.TakeDown, site + "/n$", "k", BadURL},
		{d.ours, acap.TakeDown, site + "/x#y", "k", BadURL},
		{d.ours, acap.TakeDown, site + "/a b", "k", BadURL},
		{d.ours, acap.TakeDown, site + "/%zz", "k", BadURL},
		{d.ours, acap.TakeDown, site + "/robots.txt", "k", BadURL},
		{d.ours, acap.TakeDown, site + "/a/../robots.txt", "k", BadURL},
		{d.ours, acap.TakeDown, "/x", "k", BadURL},
		{d.ours, acap.TakeDown, "//quay.example/x", "k", BadURL},
		{d.ours, acap.TakeDown, "ftp://quay.example/x", "k", BadURL},
		{d.ours, acap.TakeDown, "http:///x", "k", BadURL},
		{d.ours, acap.TakeDown, "http://[fe80::1%25eth0]/x", "k", BadURL},
		{d.ours, acap.TakeDown, "http://quay.example:99999/x", "k", BadURL},
		{d.ours, acap.TakeDown, "", "k", BadURL},
		{d.ours, acap.TakeDown, site + "/" + strings.Repeat("a", 8000), "k", BadURL},
		{d.ours, acap.TakeDown, site + "/y", "used", KeyReused},
		{d.ours, acap.ReCrawl, site + "/x", "used", KeyReused},
	} {
		r, _, err := d.Submit(Submission{By: c.by, Action: c.action, URL: c.url, Key: c.key})
		if got := code(t, err); got != c.want || r != (Request{}) {
			t.Errorf("%s %.100s: %s, want %s; %+v", c.action, c.url, got, c.want, r)
		}
	}
	if got := d.bars(t); got != "/x" {
		t.Errorf("barred: %q", got)
	}
	if _, err := d.RevokeCredential("quay"); err != nil {
		t.Fatal(err)
	}
	_, _, err := d.Submit(Submission{By: d.ours, Action: acap.TakeDown, URL: site + "/z", Key: "k"})
	if code(t, err) != BadCredential {
		t.Errorf("a credential that was revoked meanwhile: %v", err)
	}
	d.Close()
	data, err := os.ReadFile(d.path)
	if err != nil || bytes.Contains(data, []byte(secret)) {
		t.Error("the file holds a password", err)
	}
}

func TestWithdrawRefused(t *testing.T) {
	d := newDesk(t, Options{})
	d.work(t, down+"/x")
	d.submit(t, d.ours, acap.TakeDown, site+"/y", "k")
	if _, err := d.Withdraw(1, d.ours); code(t, err) != LineStands {
		t.Error(err)
	}
	_, foreign := d.Withdraw(2, d.other)
	_, none := d.Withdraw(99, d.other)
	if code(t, foreign) != NotFound || strings.ReplaceAll(foreign.Error(), "2", "99") != none.Error() {
		t.Errorf("%v; %v", foreign, none)
	}
	if got := d.bars(t); got != "/y" {
		t.Error(got)
	}
	for range 2 {
		if r, err := d.Withdraw(2, nil); err != nil || r.Standing {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// A request of the operator needs no line, even if a publisher has submitted the same request and
// it waits for a line. A publisher cannot withdraw the operator's request.
func TestSubmitOperator(t *testing.T) {
	d := newDesk(t, Options{ConfirmWithin: week})
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "k")
	r := d.submit(t, nil, acap.TakeDown, site+"/x", "")
	if r.ID != 1 || r.State != Due || r.Why != "" || r.From.Kind != Operator ||
		!strings.Contains(r.Source, "operator") {
		t.Errorf("%+v", r)
	}
	d.submit(t, nil, acap.TakeDown, site+"/y", "")
	if got := d.work(t, down+"/x"); got != "erase /x, erase /y" {
		t.Error(got)
	}
	for range 2 {
		for id := uint64(1); id <= 2; id++ {
			if _, err := d.Withdraw(id, d.ours); code(t, err) != OperatorStands {
				t.Error(err)
			}
		}
		if got := d.bars(t); got != "/x /y" {
			t.Errorf("barred: %q", got)
		}
		// a publisher that submits the same request still cannot withdraw it
		d.submit(t, d.ours, acap.TakeDown, site+"/y", "k2")
	}
	if r, err := d.Withdraw(1, nil); err != nil || r.Standing || d.bars(t) != "/y" {
		t.Errorf("%+v, %v; barred: %q", r, err, d.bars(t))
	}
}

// If there are many rejections, only a few get an entry in the chain. The others are counted.
func TestRejectedFlood(t *testing.T) {
	d := newDesk(t, Options{})
	flood := func(n int) {
		for range n {
			d.Submit(Submission{By: d.ours, Action: acap.TakeDown, URL: "http://elsewhere.example/x", Key: "k"})
		}
	}
	before := len(d.events(t))
	flood(50)
	if n := len(d.events(t)) - before; n != maxRejected {
		t.Errorf("%d entries", n)
	}
	d.clock.pass(rejectedIn)
	flood(1)
	events := d.events(t)
	if got := strings.Join(events[len(events)-2:], ", "); got != "rejected origin 40, rejected origin" {
		t.Error(got)
	}
}

// An erasure that follows from a submitted take-down is noted with that take-down.
func TestToldOfTheChannel(t *testing.T) {
	d := newDesk(t, Options{})
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "k")
	d.work(t)
	c := &hands{found: Evidence{Erased: Erasure{Captures: 1}}}
	if err := NewExecutor(d.Ledger, c, c, Limits{}).NoteErased(site, site+"/x", "a line"); err != nil {
		t.Fatal(err)
	}
	if all, err := d.these([]uint64{1, 2}); err != nil || len(all) != 1 || all[0].Erased != 1 ||
		all[0].From.Kind != Channel {
		t.Errorf("%+v, %v", all, err)
	}
}
