package crawler

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// underWay is a visit in progress in the simulation of TestManyHosts.
type underWay struct {
	lease      *Lease
	begun, end time.Time
}

// ends is a heap of visits, ordered by the time when they end.
type ends []underWay

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].end.Before(e[j].end) }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(underWay)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// TestManyHosts simulates one minute with 64 workers and a thousand hosts, each with a delay of one
// second. Every host is visited as often as its delay permits. One host takes 30 s to answer; it
// occupies one worker and slows no other host.
func TestManyHosts(t *testing.T) {
	const hosts, workers, minute = 1000, 64, time.Minute
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now, Delay: time.Second, PerHost: 1})
	f.db.NoSync = true // this test measures the schedule, not the speed of the disk
	name := func(i int) string { return fmt.Sprintf("http://h%04d/", i) }
	for i := range hosts + 1 { // the last host is the slow one
		var urls []string
		for j := range 64 {
			urls = append(urls, fmt.Sprintf("%s%d", name(i), j))
		}
		_, err := f.AddLinks(1, urls...)
		must(t, err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	start, work := c.now(), cpu()
	var now ends
	visits, slow, leases := map[string]int{}, 0, 0
	for c.now().Sub(start) < minute {
		for len(now) < workers {
			l := next(t, f)
			if l == nil {
				break
			}
			leases++
			took := time.Duration(5+r.IntN(50)) * time.Millisecond
			if l.Host == "h1000" {
				if slow++; slow > 1 {
					t.Fatal("the slow host holds two workers")
				}
				took = 30 * time.Second
			}
			heap.Push(&now, underWay{l, c.now(), c.now().Add(took)})
		}
		until := start.Add(minute)
		if len(now) > 0 && now[0].end.Before(until) {
			until = now[0].end
		}
		if due := f.Counts().NextDue; len(now) < workers && !due.IsZero() && due.After(c.now()) && due.Before(until) {
			until = due
		}
		c.add(until.Sub(c.now()))
		for len(now) > 0 && !now[0].end.After(c.now()) {
			v := heap.Pop(&now).(underWay)
			host := v.lease.Host
			if host == "h1000" {
				slow--
			}
			if !v.lease.Met { // the first lease of a host is for robots.txt
				must(t, f.Return(v.lease, &Pace{v.begun, 0}))
				continue
			}
			visits[host]++
			must(t, f.Done(v.lease, End{State: Fetched, Status: 200, Asked: v.begun, Took: v.end.Sub(v.begun)}))
		}
	}
	t.Logf("%d leases, %.1f µs CPU each", leases, float64((cpu()-work).Microseconds())/float64(leases))
	for i := range hosts {
		if host := fmt.Sprintf("h%04d", i); float64(visits[host]) < 0.95*minute.Seconds() {
			t.Errorf("%s was visited %d times in a minute", host, visits[host])
		}
	}
	for _, v := range now {
		_ = f.Return(v.lease, nil)
	}
}
