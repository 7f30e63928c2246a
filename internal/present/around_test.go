package present

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
)

// counting counts how many records of captures are read.
type counting struct {
	*memory
	read int
}

func (c *counting) Capture(ctx context.Context, id uint64) (archive.Capture, error) {
	c.read++
	return c.memory.Capture(ctx, id)
}

// TestAround compares the versions next to a time with those of the whole list, for random pages.
// Some versions may not be shown, and some were fetched in the same second.
func TestAround(t *testing.T) {
	s := open(t)
	s.setRobots("ACAP-allow-present: / prohibited-modification=content")
	rnd := rand.New(rand.NewPCG(1, 1))
	for n := range 300 {
		m := newMemory()
		p := New(m, s)
		address := fmt.Sprint(site, "/", n)
		m.pages[address] = archive.Resource{URL: address, Versions: 20}
		at := noon
		shows := rnd.IntN(4) // how many of four versions may be shown
		for i := range rnd.IntN(20) {
			at = at.Add(time.Duration(rnd.IntN(3)) * 700 * time.Millisecond)
			// a copy without a part is a modification
			m.versions[address] = append(m.versions[address], archive.Capture{ID: uint64(i + 1), URL: address,
				Version: i + 1, Fetched: at, Status: 200, MIME: "text/plain", Cut: rnd.IntN(4) >= shows})
		}
		all, state, err := p.Versions(t.Context(), address, Reader{})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			when := noon.Add(time.Duration(rnd.IntN(24)-2) * time.Second)
			got, found, err := p.Around(t.Context(), address, when, Reader{})
			if err != nil || found.Availability != state.Availability {
				t.Fatalf("%v, availability %d, want %d", err, found.Availability, state.Availability)
			}
			if want := aroundOf(all, when); numbers(got) != numbers(want) {
				t.Fatalf("at %s of %s: %s, want %s", when, numbers(all), numbers(got), numbers(want))
			}
		}
	}
}

// aroundOf returns what Around must return, computed from the whole list of versions.
func aroundOf(all []Version, at time.Time) (out []Version) {
	var list []Version // only the last version of each second
	for i, v := range all {
		if i == len(all)-1 || !second(all[i+1].Fetched).Equal(second(v.Fetched)) {
			list = append(list, v)
		}
	}
	chosen := 0
	for i, v := range list {
		if !second(v.Fetched).After(at) {
			chosen = i
		}
	}
	for i, v := range list {
		if i == 0 || i == len(list)-1 || i >= chosen-1 && i <= chosen+1 {
			out = append(out, v)
		}
	}
	return out
}

func numbers(list []Version) (s string) {
	for _, v := range list {
		s += fmt.Sprint(" ", v.Version)
	}
	return s
}

// TestAroundReadsLittle checks that Around reads only the records of the versions that it returns, if all
// may be shown.
func TestAroundReadsLittle(t *testing.T) {
	s := open(t)
	m := &counting{memory: newMemory()}
	address := site + "/a"
	m.pages[address] = archive.Resource{URL: address, Versions: 5000}
	for i := range 5000 {
		m.versions[address] = append(m.versions[address], archive.Capture{ID: uint64(i + 1), URL: address,
			Version: i + 1, Fetched: noon.Add(time.Duration(i) * time.Minute), Status: 200, MIME: "text/plain"})
	}
	list, _, err := New(m, s).Around(t.Context(), address, noon.Add(time.Hour), Reader{})
	if err != nil || numbers(list) != " 1 60 61 62 5000" || m.read != 5 {
		t.Errorf("%s, %d records read, %v", numbers(list), m.read, err)
	}
}
