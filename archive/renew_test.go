package archive

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

func TestRenew(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	const url, alias = "http://quay.example/a", "http://quay.example/old"
	deposit := func(days int, etag string) Deposit {
		return Deposit{Resource: Resource{URL: url, Status: 200, MIME: "text/html", ETag: etag,
			Own: acap.Own{URL: url}}, Fetched: noon.AddDate(0, 0, days),
			Header:  http.Header{"Etag": {etag}, "Content-Type": {"text/html"}},
			Decided: map[acap.Usage]string{acap.Preserve: etag}}
	}
	receive := func(d Deposit, body string) Capture {
		t.Helper()
		d.Body = []byte(body)
		c, err := a.Receive(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := deposit(0, "1")
	first.Hops = []Via{{URL: "http://quay.example/", Status: 302, Header: http.Header{"Location": {"/a"}}}}
	receive(first, "old")
	second := deposit(1, "2")
	second.Hops = first.Hops
	current := receive(second, "new")
	a.Done(url)

	// The capture remains, with the new header and deciding lines.
	d := deposit(5, "3")
	d.Aliases = []string{alias}
	if err := a.Renew(ctx, current.ID, d, false); err != nil {
		t.Fatal(err)
	}
	want := current
	want.Header, want.Decided = d.Header, d.Decided
	check := func() {
		t.Helper()
		if got, err := a.Capture(current.ID); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v\nwant %+v", got, err, want)
		}
		if body, err := a.Body(current.ID); err != nil || string(body) != "new" {
			t.Errorf("%q, %v", body, err)
		}
	}
	check()
	r, _, err := a.Resource(url)
	if err != nil || !r.FirstCrawled.Equal(noon) || !r.FirstPreserved.Equal(noon) || !r.LastCrawled.Equal(d.Fetched) ||
		r.Versions != 2 || r.ETag != "3" || r.Indexed {
		t.Errorf("%+v, %v", r, err)
	}
	if to, err := a.Resolve(alias); to != url || err != nil {
		t.Errorf("%s leads to %s, %v", alias, to, err)
	}
	if list, err := a.Captures(url); len(list) != 2 || err != nil {
		t.Errorf("%v, %v", list, err)
	}

	// Renew logs an intent if the index must add, change or remove its entry.
	for _, c := range []struct{ indexed, entry, logged bool }{{true, false, true}, {true, false, false},
		{true, true, true}, {false, false, true}, {false, false, false}} {
		d.Index = c.indexed
		if err := a.Renew(ctx, current.ID, d, c.entry); err != nil {
			t.Fatal(err)
		}
		if intents, err := a.Intents(); slices.Contains(intents, url) != c.logged || err != nil {
			t.Errorf("%+v: intents %q, %v", c, intents, err)
		}
		a.Done(url)
		// the next write clears the intents for which Done was called
		if err := a.Update(ctx, url, func(*Resource) {}); err != nil {
			t.Fatal(err)
		}
	}
	if r, _, _ := a.Resource(url); !r.FirstIndexed.Equal(d.Fetched) {
		t.Errorf("%+v", r)
	}

	// Renew changes nothing if the capture is not current or belongs to another URL.
	other := deposit(6, "4")
	other.Resource.URL = alias
	for id, d := range map[uint64]Deposit{0: d, current.ID - 1: d, current.ID + 1: d, current.ID: other} {
		if err := a.Renew(ctx, id, d, true); !errors.Is(err, ErrNotHeld) {
			t.Errorf("capture %d of %s: %v", id, d.Resource.URL, err)
		}
	}
	check()

	d.Replace = true
	if err := a.Renew(ctx, current.ID, d, false); err != nil {
		t.Fatal(err)
	}
	if list, err := a.Captures(url); len(list) != 1 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	check()
	shut(t, a)
	a = open(t, dir, Options{})
	check()
}

// A renewal that cannot be written changes nothing.
func TestRenewFails(t *testing.T) {
	ctx := context.Background()
	fail := false
	a := open(t, t.TempDir(), Options{Fault: func(s Step) error {
		if fail && s == Commit {
			return errors.New("no")
		}
		return nil
	}})
	const url = "http://quay.example/a"
	d := Deposit{Resource: Resource{URL: url, Status: 200, ETag: "1"}, Fetched: noon, Body: []byte("x"),
		Header: http.Header{"Etag": {"1"}}}
	c, err := a.Receive(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	d.Header, d.Fetched = http.Header{"Etag": {"2"}}, noon.Add(time.Hour)
	fail = true
	if err := a.Renew(ctx, c.ID, d, true); err == nil {
		t.Error("written")
	}
	fail = false
	if got, err := a.Capture(c.ID); err != nil || got.Header.Get("Etag") != "1" {
		t.Errorf("%+v, %v", got, err)
	}
	if r, _, err := a.Resource(url); err != nil || !r.LastCrawled.Equal(noon) {
		t.Errorf("%+v, %v", r, err)
	}
}
