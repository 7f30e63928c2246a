package arrivals

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Tolerance is how much too short a gap may be. An arrival is exact, apart from what bothClocks permits.
const Tolerance = time.Millisecond

// stampArrivals makes the kernel note when data arrives at a socket, and at those that it accepts.
// The time at which this process reads the data is no substitute: on a busy machine it can be tens
// of milliseconds later, which makes the gap to the next request look too short.
func stampArrivals(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	}); e != nil {
		return e
	}
	return err
}

// stampedConn is a connection that knows when the data arrived that was read last.
type stampedConn struct {
	*net.TCPConn
	raw syscall.RawConn

	mu   sync.Mutex
	last time.Time
}

func newStamped(c *net.TCPConn) (*stampedConn, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		c.Close()
		return nil, err
	}
	return &stampedConn{TCPConn: c, raw: raw, last: time.Now()}, nil
}

// Read implements net.Conn.
func (c *stampedConn) Read(p []byte) (int, error) {
	var n, control int
	var err error
	oob := make([]byte, unix.CmsgSpace(binary.Size(unix.Timespec{})))
	if e := c.raw.Read(func(fd uintptr) bool {
		for {
			n, control, _, _, err = unix.Recvmsg(int(fd), p, oob, 0)
			if !errors.Is(err, unix.EINTR) {
				return !errors.Is(err, unix.EAGAIN)
			}
		}
	}); e != nil {
		return 0, e
	}
	switch {
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = arrived(oob[:control])
	return n, nil
}

// arrived returns the time in a control message of the kernel, now if there is none.
func arrived(oob []byte) time.Time {
	now := bothClocks()
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return now
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS {
			var stamp unix.Timespec
			if binary.Read(bytes.NewReader(m.Data), binary.NativeEndian, &stamp) != nil {
				return now
			}
			// The kernel's time is that of the wall clock. Its distance from now is kept, and the
			// monotonic clock of now, so that a change of the wall clock changes no gap.
			if age := now.Sub(time.Unix(stamp.Unix())); age > 0 && age < time.Minute {
				return now.Add(-age)
			}
		}
	}
	return now
}

// bothClocks is time.Now, but what it returns of the two clocks belongs together. If the kernel interrupts time.Now
// between them, they are milliseconds apart, and an arrival that is computed from both is as much too late.
func bothClocks() time.Time {
	for {
		a, b := time.Now(), time.Now()
		if apart := b.Sub(a) - b.Round(0).Sub(a.Round(0)); apart.Abs() < 100*time.Microsecond {
			return b
		}
	}
}

// arrival returns when the data arrived that was read last.
func (c *stampedConn) arrival() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}
