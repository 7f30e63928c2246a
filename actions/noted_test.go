package actions

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestNoted(t *testing.T) {
	l, c := open(t, filepath.Join(t.TempDir(), "actions.db")), &crew{}
	noted := func(after Head) string {
		t.Helper()
		all, err := l.Noted(after.Seq)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range all {
			out = append(out, strings.TrimPrefix(r.URL, site)+" "+string(r.State))
		}
		return strings.Join(out, ", ")
	}
	head := func() Head {
		t.Helper()
		h, err := l.Head()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	before := head()
	run(t, l, c, asks(down+"/x"))
	if got := noted(before); got != "/x done" {
		t.Errorf("noted: %s", got)
	}
	before = head()
	if got := noted(before); got != "" {
		t.Errorf("noted: %s", got)
	}
	run(t, l, c, asks(down+"/n*", down+"/y"))
	if got := noted(before); !strings.HasSuffix(got, "/n%2A refused, /y done") {
		t.Errorf("noted: %s", got)
	}
}
