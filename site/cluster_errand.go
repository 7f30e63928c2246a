package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// errandTime limits how long a node waits for the answer to an errand, in addition to the time limit for a request. The
// owner may have to wait for the pause of the host, and another node may have to take the host over before.
const errandTime = 2 * gate.MaxCrawlDelay

// errandPause is how long a node waits before it asks again after the owner failed.
const errandPause = time.Second

// maxErrand is the largest errand that a node reads, in bytes of JSON.
const maxErrand = 1 << 20

// passErrand is gate.Options.Errand: it lets the owner of a host make a request. If the owner fails, passErrand asks
// again or asks the next owner, because a visit that waits for a credit is not repeated.
func (s *Site) passErrand(ctx context.Context, host string, e gate.Errand) (a gate.ErrandAnswer, err error) {
	n := s.node.Load()
	if n == nil {
		return a, errNotJoined
	}
	ctx, cancel := context.WithTimeout(ctx, errandTime+s.cfg.Timeout)
	defer cancel()
	for {
		a, err = askOwner(ctx, n, host, e)
		if err == nil && !a.Failure.OfOwner() {
			return a, nil
		}
		sleep(ctx, errandPause)
		if ctx.Err() != nil {
			return a, err
		}
		if owned, _ := n.Holds(host); owned {
			return gate.ErrandAnswer{}, gate.ErrForeign // the gate looks again
		}
	}
}

// askOwner lets the node that owns a host now make a request.
func askOwner(ctx context.Context, n *cluster.Node, host string, e gate.Errand) (a gate.ErrandAnswer, err error) {
	conn, err := n.CallOwner(ctx, host, cluster.ErrandService)
	if errors.Is(err, cluster.ErrNobody) {
		return a, fmt.Errorf("%w, and it does not run at the moment (%w)", gate.ErrForeign, err)
	} else if err != nil {
		return a, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	if err := json.NewEncoder(conn).Encode(e); err != nil {
		return a, err
	}
	// the bodies are base64 in JSON, and so are the heads, which are shorter than maxErrand
	answer := io.LimitReader(conn, 2*e.MaxRaw+2*maxErrand)
	if err := json.NewDecoder(answer).Decode(&a); err != nil {
		return a, fmt.Errorf("its answer cannot be read: %w", errors.Join(err, context.Cause(ctx)))
	}
	return a, nil
}

// serveErrands makes requests for the other nodes until the caller calls end.
func (s *Site) serveErrands(n *cluster.Node) (end func(), err error) {
	l, err := n.Listen(cluster.ErrandService)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil { // the listener is closed
				return
			}
			all.Go(func() { s.serveErrand(ctx, conn) })
		}
	})
	return func() {
		stop()
		_ = l.Close() // it only accepts nothing more
		all.Wait()
	}, nil
}

// serveErrand makes one request for another node. It gives up when the other node closes the connection.
func (s *Site) serveErrand(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithTimeout(ctx, errandTime+s.cfg.Timeout)
	defer cancel()
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	var e gate.Errand
	in := json.NewDecoder(io.LimitReader(conn, maxErrand))
	if in.Decode(&e) != nil {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, conn) // ends when the other node gives up, or when conn is closed
		cancel()
	}()
	ctx, lease := s.o.Budget.Lease(ctx)
	defer lease.Release()
	answer := s.gate.Execute(ctx, e)
	_ = json.NewEncoder(conn).Encode(answer) // the other node notices a missing answer
}
