package actions

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

func TestEach(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := openWith(t, filepath.Join(t.TempDir(), "actions.db"), Options{Now: func() time.Time { return now }})
	const n = 3*scanned + 10
	note(t, l, func(x *txn) error {
		for i := range n {
			r := Request{Action: acap.TakeDown, Origin: []string{"http://a.example", "http://b.example",
				"http://b.example:81"}[i%3], State: Done, Asked: now.Add(time.Duration(i) * time.Second),
				Standing: i%2 == 0}
			r.URL = fmt.Sprintf("%s/%d", r.Origin, i/6)
			if i%5 == 0 {
				r.Action = acap.ReCrawl
			}
			if i%7 == 0 {
				r.State = Failed
			}
			if err := x.note(string(r.State), &r); err != nil {
				return err
			}
		}
		return nil
	})
	for name, f := range map[string]Filter{
		"all":        {},
		"origin":     {Origins: []string{"http://b.example"}},
		"origins":    {Origins: []string{"http://b.example:81", "http://a.example", "http://a.example"}},
		"nobody":     {Origins: []string{"http://c.example"}},
		"action":     {Action: acap.ReCrawl},
		"state":      {State: Failed, Origins: []string{"http://a.example"}},
		"url":        {URL: "http://a.example/7"},
		"since":      {Since: now.Add(time.Minute)},
		"standing":   {Standing: true},
		"after":      {After: 700},
		"page":       {After: 700, Limit: 10},
		"of origins": {After: 100, Limit: 600, Origins: []string{"http://b.example", "http://a.example"}},
		"end":        {After: n},
		"far":        {After: ^uint64(0)},
	} {
		var want []uint64
		for id := uint64(1); id <= n; id++ {
			r, _, err := l.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			of := len(f.Origins) == 0
			for _, o := range f.Origins {
				of = of || o == r.Origin
			}
			if of && id > f.After && (f.Action == "" || f.Action == r.Action) &&
				(f.State == "" || f.State == r.State) && (f.URL == "" || f.URL == r.URL) &&
				!r.Asked.Before(f.Since) && (r.Standing || !f.Standing) && (f.Limit == 0 || len(want) < f.Limit) {
				want = append(want, id)
			}
		}
		var got []uint64
		if err := l.Each(f, func(r Request) error {
			got = append(got, r.ID)
			return nil
		}); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	enough := errors.New("enough")
	if err := l.Each(Filter{}, func(Request) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
	if err := l.Each(Filter{Limit: 1},
		func(r Request) error { return l.update(func(x *txn) error { return x.note("seen", &r) }) }); err != nil {
		t.Error(err)
	}
	if got := breaks(t, l); got != "" {
		t.Error(got)
	}
}

func TestHistory(t *testing.T) {
	l := lived(t, filepath.Join(t.TempDir(), "actions.db"), Options{})
	h, err := l.Head()
	if err != nil {
		t.Fatal(err)
	}
	entries := 0
	for id := uint64(1); ; id++ {
		r, known, err := l.Get(id)
		all, err2 := l.History(id)
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if !known {
			if len(all) > 0 || id < 4 {
				t.Errorf("request %d: %v", id, all)
			}
			break
		}
		last := uint64(0)
		for _, e := range all {
			if e.About != r.ID || e.Seq <= last || e.Seq > h.Seq || e.Time.IsZero() {
				t.Errorf("%+v", e)
			}
			last = e.Seq
			entries++
		}
	}
	if entries == 0 || uint64(entries) > h.Seq {
		t.Error(entries)
	}
}

func TestAsking(t *testing.T) {
	l := openWith(t, filepath.Join(t.TempDir(), "actions.db"), Options{})
	var want []string
	note(t, l, func(x *txn) error {
		for i := range scanned + 10 {
			origin := fmt.Sprintf("http://%03d.example", i)
			for n := range 4 {
				r := Request{Action: acap.TakeDown, Origin: origin, URL: fmt.Sprint(origin, "/", n), State: Done,
					Standing: i%5 == n || i%7 == 0}
				if err := x.note(string(r.State), &r); err != nil {
					return err
				}
			}
			if i%5 < 4 || i%7 == 0 {
				want = append(want, origin)
			}
		}
		return nil
	})
	var got []string
	if err := l.Asking(func(origin string) { got = append(got, origin) }); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d, want %d; %v", len(got), len(want), err)
	}
}

func TestPassed(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := openWith(t, filepath.Join(t.TempDir(), "actions.db"), Options{Now: func() time.Time { return now }})
	passed := func(by string, want time.Time) {
		t.Helper()
		if got, err := l.Passed(by); err != nil || !got.Equal(want) {
			t.Errorf("%v, want %v; %v", got, want, err)
		}
	}
	passed("a", time.Time{})
	if err := l.Pass("a", now); err != nil {
		t.Fatal(err)
	}
	passed("a", now)
	passed("b", time.Time{})
	now = now.Add(-time.Second)
	passed("a", time.Time{})
}
