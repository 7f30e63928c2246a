package actions

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clock is a time that the test sets.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time       { return c.now }
func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }
func newClock() *clock                { return &clock{time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)} }

// openAt opens a ledger. When the test ends, it checks that the ledger is valid.
func openAt(t *testing.T, path string, o Options) *Ledger {
	t.Helper()
	l, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		l, err := Open(path, o)
		if err != nil {
			t.Error(err)
			return
		}
		defer l.Close()
		if v, err := l.Verify(context.Background()); err != nil || len(v.Breaks) > 0 {
			t.Errorf("%v, %v", v.Breaks, err)
		}
	})
	return l
}

// code returns the code of a rejection, or "" for nil.
func code(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	r, is := errors.AsType[*Rejection](err)
	if !is {
		t.Fatal(err)
	}
	return r.Code
}

func TestCredential(t *testing.T) {
	now, path := newClock(), filepath.Join(t.TempDir(), "actions.db")
	l := openAt(t, path, Options{Now: now.Now})
	first, c, err := l.AddCredential("newsdesk", []string{"https://quay.example", "http://quay.example:81"},
		now.now.Add(48*time.Hour))
	if err != nil || c.Name != "newsdesk" || len(c.Origins) != 2 {
		t.Fatal(c, err)
	}
	other, _, err := l.AddCredential("other", []string{"https://other.example"}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	good := func(token string, want bool) {
		t.Helper()
		c, err := l.Authenticate(token)
		if (err == nil) != want || !want &&
			(code(t, err) != BadCredential || err.Error() != "the credential is not valid" || c.Name != "") {
			t.Errorf("%+v, %v", c, err)
		}
	}
	id := first[len(tokenMark) : len(tokenMark)+idLength]
	for _, wrong := range []string{"", "acap_", first[:len(first)-1], first + "A", strings.ToUpper(first), tokenMark +
		id + "_", tokenMark + id + other[len(tokenMark)+idLength:],
		strings.Replace(first, id, "AAAAAAAA", 1), " " + first, tokenMark, tokenMark + id, "acap_" +
			strings.Repeat("A", 1<<20)} {
		good(wrong, false)
	}
	good(first, true)
	second, _, err := l.RotateCredential("newsdesk", time.Hour, time.Time{})
	if err != nil || second == first {
		t.Fatal(err)
	}
	good(first, true)
	good(second, true)
	now.pass(time.Hour)
	good(first, false)
	good(second, true)
	now.pass(47 * time.Hour)
	good(second, false) // the old token has expired
	if _, _, err := l.RotateCredential("newsdesk", time.Hour, time.Time{}); err == nil {
		t.Error("an expired credential has a new token and no new date")
	}
	third, _, err := l.RotateCredential("newsdesk", 0, now.now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	good(second, false)
	good(third, true)
	good(other, true)
	if _, err := l.RevokeCredential("newsdesk"); err != nil {
		t.Fatal(err)
	}
	good(third, false)
	if _, _, err := l.RotateCredential("newsdesk", 0, now.now.Add(time.Hour)); err == nil {
		t.Error("a revoked credential has a new token")
	}
	_, err = l.RevokeCredential("nobody")
	if r, is := errors.AsType[*Rejection](err); !is || r.Code != NotFound {
		t.Error(err)
	}
	list, err := l.Credentials()
	if err != nil || len(list) != 2 || list[0].Name != "newsdesk" || list[0].Revoked.IsZero() ||
		!list[1].Revoked.IsZero() {
		t.Error(list, err)
	}
	l.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{first, second, third, other} {
		if bytes.Contains(data, []byte(token[len(tokenMark)+idLength+1:])) {
			t.Error("the file holds a token")
		}
	}
}

func TestCredentialRefused(t *testing.T) {
	now := newClock()
	l := openAt(t, filepath.Join(t.TempDir(), "actions.db"), Options{Now: now.Now})
	origins := []string{"https://quay.example"}
	if _, _, err := l.AddCredential("desk", origins, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.RevokeCredential("desk"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		origins []string
		expires time.Time
	}{
		{"", origins, time.Time{}},
		{"a b", origins, time.Time{}},
		{"a\x00", origins, time.Time{}},
		{strings.Repeat("a", 41), origins, time.Time{}},
		{"desk", origins, time.Time{}}, // a credential with this name existed
		{"new", nil, time.Time{}},
		{"new", []string{"https://Quay.example"}, time.Time{}},
		{"new", []string{"https://quay.example/"}, time.Time{}},
		{"new", []string{"https://quay.example:443"}, time.Time{}},
		{"new", []string{"https://u@quay.example"}, time.Time{}},
		{"new", []string{"quay.example"}, time.Time{}},
		{"new", origins, now.now},
	} {
		if _, _, err := l.AddCredential(c.name, c.origins, c.expires); err == nil {
			t.Errorf("%+v is a credential", c)
		}
	}
}
