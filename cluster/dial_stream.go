package cluster

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// stream is one end of a byte stream over NATS messages. Each end receives at an inbox of its own. Frames of each
// direction are numbered, heartbeats included, so that any lost message is noticed, also the last one.
type stream struct {
	nc      *nats.Conn
	sub     *nats.Subscription
	subject string
	inbox   string
	chunk   int           // bytes in a data frame
	silence time.Duration // how long this end waits for a sign of life
	opened  chan struct{} // closed when the stream is open or has failed
	release func()        // called by Close, may be nil

	writing sync.Mutex // held by Write, so that concurrent writes do not mix

	// sending is held while a frame is sent. Lock it before mu, never after.
	sending sync.Mutex
	sent    uint64 // frames
	mute    bool   // the last frame is sent
	buf     []byte
	active  atomic.Bool // a frame was sent since the last tick

	mu       sync.Mutex
	changed  sync.Cond // any change of the fields below
	peer     string    // the inbox of the other end, "" before the stream is open
	received uint64    // frames
	queue    [][]byte  // received data
	used     int       // bytes of queue[0] that are read
	granted  int       // credit of the other end
	owed     int       // credit of consumed frames that is not granted yet
	credit   int       // credit of this end
	finRead  bool
	finSent  bool
	closed   bool  // Close was called
	ended    bool  // no more frames in either direction
	err      error // why the stream ended, io.EOF if the other end closed it
	ticker   *time.Timer
	period   time.Duration // of ticker
	quiet    int           // ticks since a frame arrived
	readBy   deadline
	writeBy  deadline
}

// newStream returns a stream that can receive. It can send after open.
func (o Streams) newStream(nc *nats.Conn, subject string, release func()) (*stream, error) {
	s := &stream{nc: nc, subject: subject, inbox: nc.NewInbox(), silence: o.silence(), release: release,
		granted: window, credit: window, opened: make(chan struct{})}
	s.changed.L = &s.mu
	if !inboxPattern.MatchString(s.inbox) {
		return nil, fmt.Errorf("inbox %s does not begin with _INBOX", s.inbox)
	}
	s.chunk = int(min(maxData, nc.MaxPayload()/2-frameHeader))
	if s.chunk < 128 {
		return nil, fmt.Errorf("the NATS server allows only messages of %d bytes", nc.MaxPayload())
	}
	sub, err := nc.Subscribe(s.inbox, s.receive)
	if err != nil {
		return nil, err
	}
	s.sub = sub
	// Above everything the other end can send with its credit. nats.go drops messages over the limit.
	_ = sub.SetPendingLimits(2*window/frameCost+1024, 4*window)
	sub.SetClosedHandler(func(string) { s.fail(ErrGone) }) // Unless the stream has ended, nc was closed.
	return s, nil
}

// open says to which inbox this end sends, and how long the other end waits for a sign of life.
func (s *stream) open(peer string, silence time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.peer, s.received = peer, 1 // The first frame is hello or accept.
		s.period = min(s.silence, silence) / 5
		close(s.opened)
	}
}

// watch begins to send and expect heartbeats.
func (s *stream) watch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ticker = time.AfterFunc(s.period, s.tick)
	}
}

// tick runs five times in the shorter silence of both ends. It counts ticks, not time: after a pause of the whole
// process, the frames that arrived meanwhile are received first.
func (s *stream) tick() {
	s.mu.Lock()
	s.quiet++
	gone := s.quiet >= int(s.silence/s.period)-1
	s.mu.Unlock()
	if gone {
		s.fail(ErrGone)
		return
	}
	if !s.active.Swap(false) {
		if err := s.send(frame{kind: frameBeat}); err != nil {
			s.fail(err)
		}
	}
	s.mu.Lock()
	if !s.ended {
		s.ticker.Reset(s.period)
	}
	s.mu.Unlock()
}

// send sends a frame with the next sequence number. Each message names this end's inbox as the reply subject, to which
// the server reports at once if the other end receives no more.
func (s *stream) send(f frame) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.mu.Lock()
	peer := s.peer
	s.mu.Unlock()
	if s.mute || peer == "" {
		return net.ErrClosed
	}
	f.seq = s.sent
	s.buf = f.append(s.buf[:0])
	if err := s.nc.PublishRequest(peer, s.inbox, s.buf); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	s.sent++
	s.mute = f.kind == frameEnd
	s.active.Store(true)
	return nil
}

// receive handles a message for this end.
func (s *stream) receive(m *nats.Msg) {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		s.mu.Lock()
		err := ErrGone
		if s.peer == "" {
			err = ErrNobody
		}
		s.mu.Unlock()
		s.fail(err)
		return
	}
	f, err := decodeFrame(m.Data)
	if err == nil {
		err = s.handle(f, m.Reply)
	}
	if err != nil {
		s.fail(err)
	}
}

// handle changes the state of the stream according to a frame.
func (s *stream) handle(f frame, reply string) error {
	s.mu.Lock()
	opening := s.peer == ""
	if !opening && !s.ended && f.seq != s.received {
		s.mu.Unlock()
		return fmt.Errorf("%w: message %d instead of %d", ErrLost, f.seq, s.received)
	}
	s.mu.Unlock()
	if f.kind == frameEnd {
		s.finish(endings[f.number], false)
		return nil
	}
	if !opening {
		return s.handleOpen(f)
	}
	if f.kind != frameAccept || f.seq != 0 || !inboxPattern.MatchString(reply) {
		return fmt.Errorf("%w: no answer of a listener", ErrProtocol)
	}
	s.sending.Lock()
	s.sent = 1 // hello
	s.sending.Unlock()
	s.open(reply, f.silence)
	s.watch()
	return nil
}

// handleOpen handles a frame of an open stream, in sequence.
func (s *stream) handleOpen(f frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	s.received++
	s.quiet = 0
	switch f.kind {
	case frameData:
		if s.granted -= cost(len(f.data)); s.granted < 0 || s.finRead {
			return fmt.Errorf("%w: data without credit or after the end", ErrProtocol)
		}
		s.queue = append(s.queue, f.data)
	case frameCredit:
		if int(f.number) > window-s.credit {
			return fmt.Errorf("%w: too much credit", ErrProtocol)
		}
		s.credit += int(f.number)
	case frameFin:
		s.finRead = true
	case frameBeat:
		return nil
	default:
		return fmt.Errorf("%w: kind %d", ErrProtocol, f.kind)
	}
	s.changed.Broadcast()
	return nil
}

// fail ends the stream because of err, and informs the other end.
func (s *stream) fail(err error) { s.finish(err, true) }

// finish ends the stream because of err. The first reason counts. Received data can still be read.
func (s *stream) finish(err error, inform bool) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended, s.err = true, err
	if s.ticker != nil {
		s.ticker.Stop()
	}
	if s.peer == "" {
		close(s.opened)
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	if inform {
		_ = s.send(frame{kind: frameEnd, number: ending(err)}) // Otherwise the other end notices the silence.
	}
	s.sending.Lock()
	s.mute = true
	s.sending.Unlock()
	_ = s.sub.Unsubscribe() // It fails only if the connection is closed.
}
