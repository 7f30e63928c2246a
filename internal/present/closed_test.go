package present

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
)

// Versions counts the records that it returns.
func (c *counting) Versions(ctx context.Context, address string) ([]archive.Capture, error) {
	list, err := c.memory.Versions(ctx, address)
	c.read += len(list)
	return list, err
}

// TestHiddenReadsNothing checks that no record of a version is read if the policy of the site refuses all of
// them: the time of the answer would tell that there are many.
func TestHiddenReadsNothing(t *testing.T) {
	s := open(t)
	m := &counting{memory: newMemory()}
	address := site + "/a"
	m.pages[address] = archive.Resource{URL: address, Versions: 3, Current: 3}
	for i := range 3 {
		m.versions[address] = append(m.versions[address], archive.Capture{ID: uint64(i + 1), URL: address,
			Version: i + 1, Fetched: noon.Add(time.Duration(i) * time.Minute), Status: 200, MIME: "text/plain",
			Current: i == 2})
	}
	p := New(m, s)
	for robots, reads := range map[string]bool{
		"ACAP-disallow-present: /":                                       false,
		"ACAP-allow-present: / target-condition=permittedcountrylist:de": false,
		"ACAP-request-take-down: /a":                                     false,
		"ACAP-allow-present: / time-limit=until-2012-12-31":              false,
		"ACAP-disallow-present-currentcopy: /":                           true,
	} {
		s.setRobots(robots)
		m.read = 0
		for _, ask := range []func() ([]Version, State, error){
			func() ([]Version, State, error) { return p.Versions(t.Context(), address, Reader{}) },
			func() ([]Version, State, error) { return p.Around(t.Context(), address, noon, Reader{}) },
		} {
			if _, _, err := ask(); err != nil {
				t.Fatal(err)
			}
		}
		if (m.read > 0) != reads {
			t.Errorf("%s: %d records were read", robots, m.read)
		}
	}
}

// TestClosed checks, for random policies and statements, that closed refuses no page of which a version may
// be shown.
func TestClosed(t *testing.T) {
	s := open(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	lines := []string{"ACAP-disallow-present: /", "ACAP-allow-present: /a", "ACAP-disallow-present-oldcopy: /",
		"ACAP-allow-present-oldcopy: /", "ACAP-disallow-present-currentcopy: /", "ACAP-disallow-other: /",
		"ACAP-allow-present: / time-limit=10-days", "ACAP-allow-present: / time-limit=until-recrawled",
		"ACAP-allow-present: /a target-condition=permittedcountrylist:de",
		"ACAP-allow-present: / must-include-resource=the-acap:credit:text:x"}
	marks := []string{"allow-present", "disallow-present", "allow-present-oldcopy", "disallow-present-oldcopy"}
	own := func() (out acap.Own) {
		for range rnd.IntN(3) {
			out.Marks = append(out.Marks, acap.Mark{Token: "ACAP " + marks[rnd.IntN(len(marks))], Place: acap.OnHead})
		}
		return out
	}
	closed := 0
	for n := range 5000 {
		var robots []string
		for range 1 + rnd.IntN(3) {
			robots = append(robots, lines[rnd.IntN(len(lines))])
		}
		s.setRobots(strings.Join(robots, "\n"))
		address := fmt.Sprint(site, "/a", n)
		r := archive.Resource{URL: address, Current: uint64(rnd.IntN(2) * 3), Own: own(), LastCrawled: noon}
		_, all, err := s.closed(t.Context(), []string{address}, r, Reader{}, copies)
		if err != nil {
			t.Fatal(err)
		}
		if !all {
			continue
		}
		closed++
		for i := range 3 {
			c := archive.Capture{ID: uint64(i + 1), URL: address, Version: i + 1, Status: 200, MIME: "text/plain",
				Fetched: noon.AddDate(0, 0, 5*(i-2)), Own: own(), Current: r.Current == uint64(i+1)}
			_, d, err := s.mayShow(t.Context(), []string{address}, r, c, Reader{})
			if err != nil && !errors.Is(err, archive.ErrNotHeld) {
				t.Fatal(err)
			}
			if d.Allowed {
				t.Errorf("%q, %v: version %d of %v may be shown", robots, r.Own, i+1, c.Own)
			}
		}
	}
	if closed < 100 {
		t.Errorf("only %d pages were closed", closed)
	}
}
