package web

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	text, err := os.ReadFile(f.audit)
	if err != nil {
		t.Fatal(err)
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

// TestAuditSize checks that the log never has more than two files, and keeps the newest entries.
func TestAuditSize(t *testing.T) {
	dir := t.TempDir()
	a := NewAudit(filepath.Join(dir, "log.jsonl"))
	a.size = 1000
	for i := range 100 {
		if err := a.Append(Entry{What: Submitted, Request: uint64(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
	all, err := a.Last(5)
	if err != nil || len(all) != 5 || all[0].Request != 100 || all[4].Request != 96 {
		t.Errorf("%v, %v", all, err)
	}
	if err := os.WriteFile(a.path, []byte("{\"what\":\"log"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := a.Last(1000); err != nil || len(all) == 0 {
		t.Errorf("after a crash: %v, %v", all, err)
	}
}
