package archive

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// Readers that began before Close can read bodies to the end while the archive is being closed.
func TestCloseUnderReader(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	d := deposit("http://example.com/", "")
	d.Body = append(make([]byte, 4*small), noise("end", 100)...)
	c := put(t, a, d)
	reading, read := make(chan struct{}), make(chan error)
	go func() {
		read <- a.snapshot(func(tx *bolt.Tx) error {
			close(reading)
			<-a.stopped
			sum, err := digestBytes(c.Payload)
			for range 2000 {
				b, e := unpackBody(sum, tx.Bucket(bDigests).Get(sum))
				if err = errors.Join(err, e); err == nil {
					_, err = a.readBody(tx, sum, b)
				}
			}
			return err
		})
	}()
	<-reading
	closed := make(chan error)
	go func() { closed <- a.Close() }()
	if err := <-read; err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// If the file outgrows its mapping, neither the writer nor the compaction waits for the other.
func TestCompactMakesRoom(t *testing.T) {
	var a *Archive
	var writing sync.WaitGroup
	n := 0
	a = open(t, t.TempDir(), Options{Ahead: 1 << 20, Fault: func(s Step) error {
		if s != Rewrite {
			return nil
		}
		writing.Wait()
		n++
		d := deposit(fmt.Sprint("http://example.com/", n), "")
		d.Body = noise(d.Resource.URL, 3<<20)
		writing.Go(func() {
			if _, err := a.Receive(context.Background(), d); err != nil {
				t.Error(err)
			}
		})
		for a.callers.Load() == 0 {
			runtime.Gosched()
		}
		return nil
	}})
	put(t, a, deposit("http://example.com/", ""))
	ended := 0
	for try := 0; try < 40 && ended < 2; try++ {
		switch _, err := a.Compact(context.Background(), nil, nil); {
		case errors.Is(err, errRoom):
			ended++
		case err != nil:
			t.Fatal(err)
		}
	}
	writing.Wait()
	if ended == 0 {
		t.Error("no compaction was ended for the writer")
	}
	if s := stats(t, a); s.Captures != n+1 {
		t.Errorf("%d of %d were received", s.Captures-1, n)
	}
}

func TestMapped(t *testing.T) {
	for size, want := range map[int64]int64{1: 1 << 15, 1 << 20: 1 << 20, 1<<20 + 1: 2 << 20, mapStep: mapStep,
		mapStep + 1: 2 * mapStep} {
		if got := leastMapped(size); got != want {
			t.Errorf("%d: %d", size, got)
		}
	}
	a := &Archive{ahead: 1 << 30}
	for size, want := range map[int64]int64{0: 1 << 30, 1 << 20: 1<<20 + 1<<30, math.MaxInt - 1<<30: math.MaxInt,
		math.MaxInt - 1<<30 + 1: 0} {
		if got := a.mapAhead(size); got != want {
			t.Errorf("%d: %d", size, got)
		}
	}
}

// A round copies only changed records, and the number of records in the last round is limited.
func TestFollowCopiesChanges(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	url := func(i int) string { return fmt.Sprint("http://example.com/", i) }
	for i := range 200 {
		put(t, a, deposit(url(i), ""))
	}
	c, err := a.startCopy(t.Context())
	if err == nil {
		err = c.all(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Update(t.Context(), url(7), func(r *Resource) { r.Status = 404 }); err != nil {
		t.Fatal(err)
	}
	if err := c.follow(); err != nil || c.changes != 1 { // only the record with the counts has changed
		t.Errorf("%d changes, %v", c.changes, err)
	}
	for i := range 3 {
		if err := a.Update(t.Context(), url(i), func(r *Resource) { r.Status = 404 }); err != nil {
			t.Fatal(err)
		}
	}
	is, err := a.begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.advance(is, 2); !errors.Is(err, errBusy) {
		t.Error(err)
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// Close aborts the work of the function also that Compact calls.
func TestCloseEndsCompaction(t *testing.T) {
	a := open(t, t.TempDir(), Options{})
	begun, ended := make(chan struct{}), make(chan error)
	go func() {
		_, err := a.Compact(context.Background(), nil, func(ctx context.Context) error {
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		})
		ended <- err
	}()
	<-begun
	closed := make(chan error)
	go func() { closed <- a.Close() }()
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
