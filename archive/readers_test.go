package archive

import (
	"context"
	"errors"
	"math"
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

func TestMapped(t *testing.T) {
	a := &Archive{ahead: 1 << 30}
	for size, want := range map[int64]int64{0: 1 << 30, 1 << 20: 1<<20 + 1<<30, math.MaxInt - 1<<30: math.MaxInt,
		math.MaxInt - 1<<30 + 1: 0} {
		if got := a.mapAhead(size); got != want {
			t.Errorf("%d: %d", size, got)
		}
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
