package actions

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

const week = 168 * time.Hour

func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps func(d *desk)
	}{
		{"the line first", func(d *desk) {
			if got := d.work(t, down+"/x"); got != "" {
				t.Errorf("an unmatched line did %q", got)
			}
			if r := d.get(t, 1); r.State != Seen || r.Why == "" || d.bars(t, down+"/x") != "" {
				t.Errorf("%+v, %q", r, d.bars(t, down+"/x"))
			}
			if r := d.submit(t, d.ours, acap.TakeDown, site+"/x", "k"); r.ID != 1 || r.State != Due ||
				r.Confirmed.IsZero() {
				t.Errorf("%+v", r)
			}
		}},
		{"the channel first", func(d *desk) {
			if r := d.submit(t, d.ours, acap.TakeDown, site+"/x", "k"); r.State != Seen || r.Why == "" {
				t.Errorf("%+v", r)
			}
			if got := d.work(t, down+"/y"); got != "" || d.bars(t, down+"/y") != "" {
				t.Errorf("did %q, bars %q", got, d.bars(t, down+"/y"))
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, Options{ConfirmWithin: week})
			c.steps(d)
			if got := d.work(t, down+"/x"); !strings.HasPrefix(got, "erase /x") {
				t.Errorf("did %q", got)
			}
			r := d.get(t, 1)
			if r.State != Done || r.Confirmed.IsZero() || r.From.Credential != "quay" || r.From.File != site+
				"/robots.txt" || !strings.Contains(r.Source, "robots.txt:") {
				t.Errorf("%+v", r)
			}
			if i, j := slices.Index(d.events(t), "confirmed 1"), slices.Index(d.events(t), "done 1"); i < 0 || j < i {
				t.Error(d.events(t))
			}
			if got := d.bars(t, down+"/x"); got != "/x" {
				t.Errorf("bars %q", got)
			}
			if got := d.bars(t); got != "" {
				t.Errorf("bars %q without its line", got)
			}
			d.work(t) // the line is removed
			if r := d.get(t, 1); r.Standing {
				t.Errorf("%+v", r)
			}
			// the restored line is a new request that no credential announced
			if got := d.work(t, down+"/x"); got != "" || d.bars(t, down+"/x") != "" {
				t.Errorf("did %q, bars %q", got, d.bars(t, down+"/x"))
			}
		})
	}
}

// A request in robots.txt is not executed if the announced request has another action, path or
// origin, or if no announcement confirms it in time.
func TestUnconfirmed(t *testing.T) {
	d := newDesk(t, Options{ConfirmWithin: week})
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "k")
	d.submit(t, d.other, acap.TakeDown, "http://elsewhere.example/y", "k")
	if got := d.work(t, recrawl+"/x", down+"/y", down+"/X"); got != "" {
		t.Errorf("did %q", got)
	}
	d.clock.pass(week - 1)
	if err := d.Expire(); err != nil || d.get(t, 1).State != Seen {
		t.Errorf("%+v, %v", d.get(t, 1), err)
	}
	d.clock.pass(1)
	if err := d.Expire(); err != nil {
		t.Fatal(err)
	}
	if r := d.get(t, 1); r.State != Refused || r.Standing || r.Why == "" {
		t.Errorf("%+v", r)
	}
	if got := d.work(t, down+"/x"); got != "" {
		t.Errorf("did %q", got)
	}
}

// P1 2.6 (P07): a line that was refused because of other lines, or that was executed and removed,
// must be announced like any other line when it comes back.
func TestConfirmComesBack(t *testing.T) {
	d := newDesk(t, Options{ConfirmWithin: week})
	for _, refused := range [][]string{{"ACAP-usage-purpose: attic", "ACAP-disallow-index: /q", down + "/x"},
		{"ACAP-disallow-crawl: /n", recrawl + "/n"}} {
		if got := d.work(t, refused...); got != "" {
			t.Errorf("%q did %q", refused, got)
		}
		line := refused[len(refused)-1]
		if got := d.bars(t, line); got != "" {
			t.Errorf("%q bars %q before it is looked at", line, got)
		}
		if got := d.work(t, line); got != "" || d.bars(t, line) != "" {
			t.Errorf("%q did %q, bars %q", line, got, d.bars(t, line))
		}
		r, err := d.List()
		if last := r[len(r)-1]; err != nil || last.State != Seen || last.Why != unannounced {
			t.Errorf("%+v, %v", last, err)
		}
	}
	d.submit(t, d.ours, acap.TakeDown, site+"/y", "k")
	if got := d.work(t, down+"/y"); got != "erase /y" {
		t.Error(got)
	}
	d.work(t) // the line is removed
	if got := d.bars(t, down+"/y"); got != "" {
		t.Errorf("bars %q", got)
	}
}

// A publisher withdraws a confirmed request through the channel. Afterwards the line is no longer
// enough.
func TestConfirmWithdrawn(t *testing.T) {
	d := newDesk(t, Options{ConfirmWithin: week})
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "k")
	if got := d.work(t, down+"/x"); got != "erase /x" || d.bars(t, down+"/x") != "/x" {
		t.Errorf("did %q", got)
	}
	if r, err := d.Withdraw(1, d.ours); err != nil || r.Standing {
		t.Errorf("%+v, %v", r, err)
	}
	for range 2 {
		if got := d.bars(t, down+"/x"); got != "" {
			t.Errorf("bars %q", got)
		}
		if got := d.work(t, down+"/x"); got != "" {
			t.Errorf("did %q", got)
		}
	}
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "k2")
	if got := d.work(t, down+"/x"); got != "erase /x" || d.bars(t, down+"/x") != "/x" {
		t.Errorf("asked again: did %q", got)
	}
}

// A publisher withdraws a confirmed request and submits it again before the line is read again.
// Then it is executed.
func TestConfirmWithdrawnAtOnce(t *testing.T) {
	d := newDesk(t, Options{ConfirmWithin: week})
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "k")
	d.work(t, down+"/x")
	if _, err := d.Withdraw(1, d.ours); err != nil {
		t.Fatal(err)
	}
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "k2")
	if got := d.work(t, down+"/x"); got != "erase /x" || d.get(t, 2).State != Done {
		t.Errorf("did %q, %+v", got, d.get(t, 2))
	}
}

// A line was refused, and a credential requested the same. When the line becomes valid, only the
// request of the credential is in force.
func TestConfirmOfTwo(t *testing.T) {
	d := newDesk(t, Options{ConfirmWithin: week})
	d.work(t, "ACAP-usage-purpose: attic", "ACAP-disallow-index: /q", down+"/x")
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "k")
	if got := d.work(t, down+"/x"); got != "erase /x" {
		t.Error(got)
	}
	if one, two := d.get(t, 1), d.get(t, 2); one.Standing || one.State != Refused || two.State != Done ||
		!two.Standing {
		t.Errorf("%+v, %+v", one, two)
	}
}

// Requests are executed without confirmation if they come from the operator, or from an origin
// whose publisher has no valid credential.
func TestConfirmDirect(t *testing.T) {
	d := newDesk(t, Options{ConfirmWithin: week})
	if r := d.submit(t, nil, acap.TakeDown, site+"/o", ""); r.State != Due || r.From.Kind != Operator {
		t.Errorf("%+v", r)
	}
	if got := d.bars(t, down+"/x"); got != "/o" {
		t.Errorf("bars %q", got)
	}
	d.clock.pass(1000 * time.Hour) // the credential expires, although Bind has cached its result
	p := policyOf(down + "/x")
	if got, err := d.Bind(site, p); err != nil || len(got.Actions()) != 2 {
		t.Error(got, err)
	}
	if got := d.bars(t, down+"/x"); got != "/o /x" {
		t.Errorf("bars %q", got)
	}
}

// A confirmed re-crawl is executed once. If its line remains, the next one must be submitted
// through the channel.
func TestConfirmRecrawl(t *testing.T) {
	d := newDesk(t, Options{ConfirmWithin: week})
	d.submit(t, d.ours, acap.ReCrawl, site+"/n", "k1")
	if got := d.work(t, recrawl+"/n"); !strings.HasPrefix(got, "promote /n") {
		t.Error(got)
	}
}

func TestBindRemembers(t *testing.T) {
	d := newDesk(t, Options{})
	p := policyOf(down + "/x")
	if got, err := d.Bind(site, p); got != p || err != nil {
		t.Error("not the policy itself where nothing is to be said", err)
	}
	if got, err := d.Bind(site, nil); got != nil || err != nil {
		t.Error(got, err)
	}
	d.submit(t, d.ours, acap.TakeDown, site+"/y", "k")
	a, _ := d.Bind(site, p)
	b, _ := d.Bind(site, p)
	if a != b || a == p || len(a.Actions()) != 2 {
		t.Error("made anew, or old")
	}
	if c, _ := d.Bind(site, policyOf()); c == a {
		t.Error("of another policy")
	}
}
