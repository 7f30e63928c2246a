package crawler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
)

// Until the journal has what a visit changed, no other address of the host is leased; another host
// is.
func TestNextWaitsForJournal(t *testing.T) {
	c, s, o := newShared(t)
	o.Delay = 0
	a := newMachine(t, s, o, 0)
	a.offer("http://h.0/1", "http://h.0/2")
	a.meet("http://h.0/1", 0)
	l := a.take("http://h.0/1")
	free := a.j.block()
	must(t, a.Done(l, End{State: Fetched, Asked: c.now(), Trouble: true, Rest: c.now().Add(time.Hour)}))
	a.mu.Lock()
	early, _, err := a.pick(c.now().Add(2 * time.Hour))
	a.mu.Unlock()
	if early != nil || err != nil {
		t.Errorf("leased %v, %v", early, err)
	}
	free()
	must(t, a.Flush())
	a.take("")
	c.add(2 * time.Hour)
	a.take("http://h.0/2")
}

// Next records when the host may be requested next before it returns a lease.
func TestNextAnnouncesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedStore(t, 3)
		a := newMachine(t, s, FrontierOptions{Delay: time.Second}, 0)
		a.offer("http://h.0/")
		free := a.j.block()
		leased := make(chan *Lease)
		next := func(ctx context.Context) {
			l, err := a.Next(ctx)
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			leased <- l
		}
		ctx, cancel := context.WithCancel(t.Context())
		go next(ctx)
		synctest.Wait()
		select {
		case <-leased:
			t.Fatal("leased before the journal has the request")
		default:
		}
		cancel() // Next does not wait for the journal after the end of its context
		if l := <-leased; l != nil {
			t.Fatalf("leased %s", l.URL)
		}
		go next(t.Context())
		synctest.Wait()
		free()
		if l := <-leased; l == nil || l.URL != "http://h.0/" {
			t.Fatalf("leased %v", l)
		}
		a.view(func(tx *bbolt.Tx) error {
			h, err := decodeHost(tx.Bucket(bHosts).Get([]byte("h.0")))
			if err != nil || !h.asked || h.met || h.due.Before(time.Now()) {
				t.Errorf("%+v, %v", h, err)
			}
			return nil
		})
		must(t, a.Close())
	})
}

// Next leases nothing after the time until which the machine may make requests, and goes on after
// Wake.
func TestNextUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedStore(t, 3)
		a := newMachine(t, s, FrontierOptions{}, 0)
		a.offer("http://h.0/")
		a.j.setUntil(time.Now())
		leased := make(chan *Lease)
		go func() {
			l, err := a.Next(t.Context())
			if err != nil {
				t.Error(err)
			}
			leased <- l
		}()
		synctest.Wait()
		select {
		case <-leased:
			t.Fatal("leased too late")
		default:
		}
		a.j.setUntil(time.Now().Add(time.Hour))
		a.Wake()
		l := <-leased
		must(t, a.Return(l, nil))
		time.Sleep(time.Second) // the next lease changes when the host is due
		// the right ends while the journal is written
		free := a.j.block()
		go func() {
			l, err := a.Next(t.Context())
			if l != nil || !errors.Is(err, errClosed) {
				t.Errorf("leased %v, %v", l, err)
			}
			leased <- nil
		}()
		synctest.Wait()
		a.j.setUntil(time.Now())
		free()
		synctest.Wait()
		must(t, a.Close())
		<-leased
	})
}

// Next returns ErrIdle only after Finish. Idle is true if nothing is due soon, leased or not
// committed.
func TestFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedStore(t, 3)
		a := newMachine(t, s, FrontierOptions{}, 0, 1)
		if !a.Idle() {
			t.Error("an empty machine is not idle")
		}
		a.offer("http://h.0/")
		if a.Idle() {
			t.Error("idle although a host is due")
		}
		l := a.take("http://h.0/")
		if a.Idle() {
			t.Error("idle although an address is leased")
		}
		ended := make(chan error)
		go func() {
			_, err := a.Next(t.Context())
			ended <- err
		}()
		a.Lose(0)
		if !a.Idle() {
			must(t, a.awaitDrop(0))
			if !a.Idle() {
				t.Error("a machine that has lost its only host is not idle")
			}
		}
		if !l.lost() {
			t.Error("the lease is not lost")
		}
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("Next ends before Finish: %v", err)
		default:
		}
		a.j.setUntil(time.Time{}) // a machine that gave everything up does not renew its right
		a.Finish()
		if err := <-ended; !errors.Is(err, ErrIdle) {
			t.Error(err)
		}
		must(t, a.Close())
	})
}
