package holdings

import (
	"fmt"
	"strings"
	"testing"
)

// TestCuts checks that only the first words of a very long page are indexed. The receipt must
// report this, and the archive must record it with the copy, also when the page is imported.
func TestCuts(t *testing.T) {
	var many strings.Builder
	many.WriteString("<title>Words</title><p>")
	for i := range 250_000 {
		fmt.Fprintf(&many, "w%x ", i)
	}
	many.WriteString("lastword")
	s := open(t, t.TempDir(), newWeb(""), Options{})
	r := s.receive(pageOf(many.String(), a))
	if !r.Stored || !r.Indexed || len(r.Cuts) != 1 || !strings.Contains(r.Cuts[0], "of its text are indexed") {
		t.Fatalf("%+v", r)
	}
	if s.found("w1") != "/a" || s.found("lastword") != "" {
		t.Error("it is not the beginning that is found")
	}
	list, err := s.archive.Captures(a)
	if err != nil || len(list) != 1 || fmt.Sprint(list[0].Cuts) != fmt.Sprint(r.Cuts) {
		t.Errorf("%+v, %v", list, err)
	}
	counts, _ := s.take([]byte(foreign{url: b, block: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" +
		many.String()}.String()), ImportOptions{MaxBody: 4 << 20})
	if counts.Imported != 1 || counts.Cut != 1 {
		t.Errorf("%+v", counts)
	}
}

// TestUnreadPage checks that nothing is stored of a page whose statements cannot be read.
func TestUnreadPage(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	r := s.receive(pageOf(strings.Repeat("<p class=the-acap:allow-index>x", 10_001), a))
	if !r.Discarded || r.Stored || r.Indexed || len(s.copies(a)) > 0 {
		t.Errorf("%+v", r)
	}
	if why := r.Refused[0].Why(); !strings.Contains(why, "10000 META tags and class statements") {
		t.Error(why)
	}
}
