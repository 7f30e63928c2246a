package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// countedBodies is a store of bodies that records which bodies are read.
type countedBodies struct {
	*memoryBodies
	mu   sync.Mutex
	read []uint64
	each func(n int) // called after the n-th body was read; may be nil
}

func (c *countedBodies) Get(ctx context.Context, id uint64, out []byte) ([]byte, error) {
	c.mu.Lock()
	c.read = append(c.read, id)
	n := len(c.read)
	c.mu.Unlock()
	if c.each != nil {
		c.each(n)
	}
	return c.memoryBodies.Get(ctx, id, out)
}

// bodiesRead returns the number of different bodies that fn reads.
func (c *countedBodies) bodiesRead(fn func()) int {
	c.read = nil
	fn()
	slices.Sort(c.read)
	return len(slices.Compact(slices.Clone(c.read)))
}

func verifyArchive(t *testing.T, n int) (*Archive, *countedBodies) {
	t.Helper()
	c := &countedBodies{memoryBodies: newMemoryBodies()}
	a := open(t, t.TempDir(), Options{Bodies: c})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if _, err := a.Receive(t.Context(), deposit(fmt.Sprint("http://example.com/", i),
				fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return a, c
}

// With a sample, Verify reads only that part of the bodies, and finds damage in it. Everything else
// is checked whole. Progress reaches the number of all bodies.
func TestVerifySample(t *testing.T) {
	a, c := verifyArchive(t, 1000)
	var done, total int
	verify := func(sample float64) (found []Problem) {
		t.Helper()
		found, err := a.Verify(t.Context(),
			VerifyOptions{Sample: sample, Progress: func(d, n int) { done, total = d, n }})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	// with 1000 bodies and 10 %, fewer than 40 or more than 160 are read in one of 10^9 runs
	if n := c.bodiesRead(func() { verify(0.1) }); n < 40 || n > 160 {
		t.Errorf("%d of 1000 bodies were read", n)
	}
	if done != 1000 || total != 1000 {
		t.Errorf("progress ended with %d of %d", done, total)
	}
	if n := c.bodiesRead(func() { verify(1) }); n != 1000 {
		t.Errorf("%d of 1000 bodies were read", n)
	}
	for id, b := range c.held {
		b = bytes.Clone(b)
		b[0] ^= 1
		c.held[id] = b
	}
	n := 0
	read := c.bodiesRead(func() {
		for _, p := range verify(0.1) {
			if p.What == "has a body that cannot be read" {
				n++
			}
		}
	})
	if n != read {
		t.Errorf("%d damaged bodies were found, and %d were read", n, read)
	}
	for id, b := range c.held { // repair them, because the archive is verified when the test ends
		b[0] ^= 1
		c.held[id] = b
	}
}

// An interrupted check stores how far it has come; the next one reads only the other bodies. A
// complete check removes that record.
func TestVerifyResume(t *testing.T) {
	a, c := verifyArchive(t, 600)
	ctx, cancel := context.WithCancel(t.Context())
	c.each = func(n int) {
		if n == 400 {
			cancel()
		}
	}
	first := c.bodiesRead(func() {
		if _, err := a.Verify(ctx, VerifyOptions{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	c.each = nil
	resume := func() {
		if found, err := a.Verify(t.Context(), VerifyOptions{Resume: true}); err != nil || len(found) > 0 {
			t.Error(found, err)
		}
	}
	if n := c.bodiesRead(resume); first+n < 600 || n > 300 {
		t.Errorf("%d bodies were read, and then %d", first, n)
	}
	if n := c.bodiesRead(resume); n != 600 {
		t.Errorf("%d bodies were read after a complete check", n)
	}
}

// A check that is resumed reads a body again in which the interrupted check has found a problem.
func TestVerifyResumeFindsAgain(t *testing.T) {
	a, c := verifyArchive(t, 600)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var spoiled uint64
	c.each = func(n int) {
		switch n {
		case 100:
			spoiled = c.read[n-1]
			b := bytes.Clone(c.held[spoiled])
			b[0] ^= 1
			c.held[spoiled] = b
		case 400:
			cancel()
		}
	}
	if _, err := a.Verify(ctx, VerifyOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	c.each = nil
	if found, err := a.Verify(t.Context(), VerifyOptions{Resume: true}); err != nil || len(found) == 0 {
		t.Error("the resumed check finds nothing wrong", err)
	}
	c.held[spoiled][0] ^= 1 // the archive is verified when the test ends
}
