package acap

import "testing"

// P1 2.3 (C13): the crawler executes a take-down in a sub-record if the operator allows it, and no
// other request in a sub-record.
func TestSubTakeDowns(t *testing.T) {
	file := Parse("http://quay.example/robots.txt", []byte("ACAP-crawler: *\nACAP-usage-purpose: "+
		"n\nACAP-disallow-index: /q\nACAP-request-take-down: /x\nACAP-request-take-down: /y*\nACAP-request-re-crawl: "+
		"/z\n"))
	for _, set := range []bool{false, true} {
		executed := ""
		for _, a := range file.Policy(Crawler{Names: []string{"gazer"}, SubTakeDowns: set}).Actions() {
			if a.Execute {
				executed += a.Action + " " + a.URL + "\n"
			} else if a.Why == "" {
				t.Errorf("%s is refused without a reason", a.URL)
			}
		}
		want := ""
		if set {
			want = "take-down http://quay.example/x\n"
		}
		if executed != want {
			t.Errorf("set to %v: %q is executed", set, executed)
		}
	}
}

// NewAction refuses a request for the same reasons as a line of robots.txt, and for things that a
// line cannot express.
func TestNewAction(t *testing.T) {
	by := &Field{Source: Request, URL: "http://quay.example", Line: 7, Text: "take-down"}
	a, err := NewAction(TakeDown, "HTTP://Quay.Example:80/a/../%7eb?c=1", by)
	if err != nil || a.URL != "http://quay.example/~b?c=1" ||
		a.Field.String() != "request 7 of http://quay.example: take-down" || !a.Execute {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = NewAction(ReCrawl, "https://quay.example//x", by); err != nil || a.URL != "https://quay.example//x" {
		t.Errorf("%+v, %v", a, err)
	}
	for _, c := range []struct{ action, url string }{
		{"purge", "http://quay.example/x"}, {TakeDown, ""}, {TakeDown, "/x"}, {TakeDown, "//quay.example/x"}, {TakeDown,
			"ftp://quay.example/x"}, {TakeDown, "http:///x"},
		{TakeDown, "http://me@quay.example/x"}, {TakeDown, "http://quay.example/x#y"}, {TakeDown,
			"http://quay.example/*"}, {TakeDown, "http://quay.example/x$"},
		{TakeDown, "http://quay.example/a b"}, {TakeDown, "http://quay.example/%zz"}, {TakeDown,
			"http://quay.example/robots.txt"},
		{TakeDown, "http://quay.example/./robots.txt"}, {TakeDown, "http://quay.example?*"},
	} {
		if a, err := NewAction(c.action, c.url, by); err == nil {
			t.Errorf("%s of %q is taken as %s", c.action, c.url, a.URL)
		}
	}
}
