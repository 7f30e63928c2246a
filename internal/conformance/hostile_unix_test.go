//go:build unix

package conformance

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// filled returns about n bytes: copies of format, each with another number.
func filled(format string, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// mostWork is many times the processor time that the slowest page in this test needs. A page of one
// megabyte takes minutes if the time grows with the square of its size.
const mostWork = 25 * time.Second

// The processor time for a page and a robots.txt grows with the sum of their sizes, not with the
// product.
func TestWorkOnPagesIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes it slow")
	}
	const half = 1 << 19
	meta := func(s string) string { return `<meta name=robots content="` + strings.TrimSuffix(s, ",") + `">` }
	extract := `ACAP version 1.1"><meta name=robots content="` +
		"ACAP allow-index must-use-resource=the-acap:extract:"
	marks := filled("<i class=the-acap:allow-index>x</i>", half)
	var purposes []string
	for i := range 50 {
		purposes = append(purposes, fmt.Sprintf("p%d", i))
	}
	for _, c := range []struct {
		name, robots, page string
		purposes           []string
	}{
		{name: "many ids", page: meta(extract+"idlist:"+filled("a#,", 2*half)) + filled("<i id=b#>x</i>", 2*half)},
		{name: "many classes", page: meta(extract+"classlist:"+filled("a#,", 2*half)) + "<p class='" + filled("b# ",
			2*half) + "'>x</p>"},
		{name: "many tags", page: meta(extract+"taglist:"+filled("a#,", 2*half)) + filled("<i>x</i>", 2*half)},
		{name: "many marks around many", page: "<div class='" + filled("the-acap:x# ", half) + "'>" + marks},
		{name: "marks and permissions", robots: filled("ACAP-allow-index: /\n", 450_000), page: marks},
		{name: "marks and incomparable patterns", robots: filled("ACAP-allow-index: /*a#$\nACAP-allow-index: /*\n",
			450_000), page: marks},
		{name: "marks and META tags", page: filled(meta("ACAP allow-index"), half) + marks},
		{name: "marks that differ", page: meta("ACAP disallow-index") + filled("<p class='the-acap:allow-index "+
			"the-acap:x#'>x</p>", 2*half)},
		{name: "marks and purposes", page: marks, purposes: purposes},
		{name: "META tags and purposes", page: filled(meta("ACAP q# allow-index"), 2*half), purposes: purposes},
	} {
		robots := "ACAP-version: 1.1\nACAP-crawler: *\n" + c.robots
		question := &Case{URL: "http://example.com/a.html", Want: []string{"decision", "text", "snippet", "links",
			"copy"},
			Web: map[string]Response{"http://example.com/robots.txt": {Body: &robots},
				"http://example.com/a.html": {Body: &c.page}}}
		if c.purposes != nil {
			question.Purposes = &c.purposes
		}
		before := worked(t)
		if _, err := Decide(context.Background(), question); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if took := worked(t) - before; took > mostWork {
			t.Errorf("%s: %v", c.name, took)
		} else {
			t.Logf("%s: %v", c.name, took)
		}
	}
}

// worked returns the processor time of this process so far.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
