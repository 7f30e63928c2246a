package web

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAudit checks the file of the audit log: its mode, what is in it, and that its size is
// bounded.
func TestAudit(t *testing.T) {
	f := newOffice(t, Options{})
	b := f.browser(t, "http://localhost")
	b.login("operator", "wrong, but typed by somebody")
	b.login("mistyped secret", "x")
	b.login("operator", password)
	token, cookie := b.formToken(), b.jar[plainCookie]
	b.do("POST", "/requests", submission7(token))
	b.do("POST", "/requests/7/withdraw", submission7(token))
	page := b.do("GET", "/audit", nil).Body.String()
	b.do("POST", "/logout", submission7(token))
	var text []byte
	for _, path := range []string{strings.Replace(f.audit, ".jsonl", "-failures.jsonl", 1), f.audit} {
		part, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	var what []string
	for line := range strings.Lines(string(text)) {
		var e Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Client != "192.0.2.1" ||
			!e.Time.Equal(f.clock.now()) {
			t.Errorf("%s, %v", line, err)
		}
		what = append(what, e.What+" "+string(e.Role)+" "+e.Name)
		if (e.Request == 7) != (e.What == Submitted || e.What == Withdrew) {
			t.Errorf("%+v", e)
		}
	}
	want := "failed login operator ,failed login publisher ,login operator operator,submitted operator operator," +
		"withdrew operator operator,logout operator operator"
	if got := strings.Join(what, ","); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, secret := range []string{"typed by", "mistyped", password, token, cookie} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
	if !strings.Contains(page, "failed login") || !strings.Contains(page, `<a href="/requests/7">7</a>`) {
		t.Error(page)
	}
	if is, err := os.Stat(f.audit); err != nil || is.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", is.Mode(), err)
	}
}

// TestAuditSize checks that the log never has more than two files for failures and two for the rest, and keeps the
// newest entries. Failures remove no other entries.
func TestAuditSize(t *testing.T) {
	dir := t.TempDir()
	a := NewAudit(filepath.Join(dir, "log.jsonl"))
	a.changes.size, a.failures.size = 1000, 1000
	now := time.Now()
	add := func(e Entry) {
		now = now.Add(time.Second)
		if e.Time = now; a.Append(e) != nil {
			t.Fatal(e)
		}
	}
	for i := range 100 {
		add(Entry{What: Submitted, Request: uint64(i + 1)})
	}
	for range 100 {
		add(Entry{What: FailedLogin})
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 4 {
		t.Errorf("%v, %v", files, err)
	}
	all, err := a.Last(5)
	if err != nil || len(all) != 10 || all[0].What != FailedLogin || all[5].Request != 100 || all[9].Request != 96 {
		t.Errorf("%v, %v", all, err)
	}
	if err := os.WriteFile(a.changes.path, []byte("{\"what\":\"log"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := a.Last(1000); err != nil || len(all) == 0 {
		t.Errorf("after a crash: %v, %v", all, err)
	}
}
