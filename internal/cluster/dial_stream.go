package cluster

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// stream is one end of a byte stream over NATS messages. Each end receives at an inbox of its own. Frames of each
// direction are numbered, heartbeats included, so that any lost message is noticed, also the last one.
//
// While nats.go reconnects, its methods block, for seconds if a server does not answer. Therefore only the goroutine
// run calls them, and all others wait for it no longer than they want.
type stream struct {
	nc      *nats.Conn
	sub     *nats.Subscription
	subject string
	inbox   string
	silence time.Duration // how long this end waits for a sign of life
	opened  chan struct{} // closed when the stream is open or has failed
	done    chan struct{} // closed when run returns
	release func()        // called by Close, may be nil
	sent    uint64        // frames; used by run only

	writing sync.Mutex // held by Write, so that concurrent writes do not mix

	mu       sync.Mutex
	changed  sync.Cond // any change of the fields below
	peer     string    // the inbox of the other end, "" before the stream is open
	chunk    int       // bytes in a data frame
	out      [][]byte  // encoded data frames to send, without sequence numbers
	spare    []byte    // memory for the next of them
	credit   int       // credit of this end
	fin      bool      // CloseWrite was called
	finSent  bool
	received uint64   // frames
	queue    [][]byte // received data
	used     int      // bytes of queue[0] that are read
	granted  int      // credit of the other end
	owed     int      // credit of consumed frames that is not granted yet
	finRead  bool
	closed   bool  // Close was called
	ended    bool  // nothing is received, and nothing more is put into out
	inform   bool  // send the reason for the end to the other end
	err      error // why the stream ended, io.EOF if an end closed it
	ticker   *time.Timer
	period   time.Duration // of ticker
	quiet    int           // ticks since a frame arrived
	active   bool          // a frame was sent since the last tick
	beat     bool          // a heartbeat is due
	readBy   deadline
	writeBy  deadline
}

func (o Streams) newStream(nc *nats.Conn, subject string) *stream {
	s := &stream{nc: nc, subject: subject, silence: o.silence(), granted: window, credit: window, chunk: maxData,
		opened: make(chan struct{}), done: make(chan struct{})}
	s.changed.L = &s.mu
	return s
}

// run sends the first frame, calls ready, and sends frames until the stream has ended.
func (s *stream) run(subject string, first frame, ready func()) {
	defer close(s.done)
	err := s.subscribe()
	if err == nil {
		err = s.nc.PublishRequest(subject, s.inbox, first.append(nil))
		s.sent = 1
	}
	if err != nil {
		s.finish(fmt.Errorf("%w: %w", ErrGone, err), false)
	}
	ready()
	for s.sendNext() {
	}
	_ = s.sub.Unsubscribe() // It fails only if there is nothing to do.
}

// subscribe begins to receive.
func (s *stream) subscribe() error {
	inbox, size := s.nc.NewInbox(), s.nc.MaxPayload()
	if !inboxPattern().MatchString(inbox) {
		return fmt.Errorf("inbox %s does not begin with _INBOX", inbox)
	}
	if size < 512 && !s.nc.IsClosed() {
		return fmt.Errorf("the NATS server allows only messages of %d bytes", size)
	}
	s.mu.Lock()
	s.inbox, s.chunk = inbox, int(min(maxData, size/2-frameHeader))
	s.mu.Unlock()
	sub, err := s.nc.Subscribe(inbox, s.receive)
	if err != nil {
		return err
	}
	s.sub = sub
	sub.SetClosedHandler(func(string) { s.fail(ErrGone) }) // Unless the stream has ended, nc was closed.
	// Above everything the other end can send with its credit. nats.go drops messages over the limit.
	return sub.SetPendingLimits(2*window/frameCost+1024, 4*window)
}

// open says to which inbox this end sends, and how long the other end waits for a sign of life. The caller holds mu,
// unless it is the only one that knows the stream.
func (s *stream) open(peer string, silence time.Duration) {
	s.peer, s.received = peer, 1 // The first frame is hello or accept.
	s.period = min(s.silence, silence) / 5
	s.ticker = time.AfterFunc(s.period, s.tick)
	close(s.opened)
}

// tick runs five times in the shorter silence of both ends. It counts ticks, not time: after a pause of the whole
// process, the frames that arrived meanwhile are received first.
func (s *stream) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if s.quiet++; s.quiet >= int(s.silence/s.period)-1 {
		s.end(ErrGone, true)
		return
	}
	s.beat, s.active = !s.active, false
	s.changed.Broadcast()
	s.ticker.Reset(s.period)
}

// sendNext waits for the next frame and sends it. It returns false after the last one. Each message names this end's
// inbox as the reply subject, to which the server reports at once if the other end receives no more.
func (s *stream) sendNext() bool {
	s.mu.Lock()
	b, last := s.next()
	for b == nil && !last {
		s.changed.Wait()
		b, last = s.next()
	}
	peer := s.peer
	s.mu.Unlock()
	if b == nil || peer == "" {
		return false
	}
	binary.BigEndian.PutUint64(b[1:], s.sent)
	s.sent++
	if err := s.nc.PublishRequest(peer, s.inbox, b); err != nil {
		s.finish(fmt.Errorf("%w: %w", ErrGone, err), false)
		return false
	}
	s.mu.Lock()
	s.active, s.spare = true, b[:0]
	s.mu.Unlock()
	return !last
}

// next returns the next frame, nil if there is none, and whether it is the last. The caller holds mu.
func (s *stream) next() (b []byte, last bool) {
	f := frame{}
	switch {
	case s.owed >= window/4 && !s.finRead && !s.ended:
		f = frame{kind: frameCredit, number: uint32(s.owed)}
		s.granted, s.owed = s.granted+s.owed, 0
	case len(s.out) > 0:
		b = s.out[0]
		s.out[0] = nil
		s.out = s.out[1:]
		return b, false
	case s.ended && s.inform:
		f, last = frame{kind: frameEnd, number: ending(s.err)}, true
	case s.ended:
		return nil, true
	case s.fin && !s.finSent:
		f.kind, s.finSent = frameFin, true
	case s.beat:
		f.kind = frameBeat
	default:
		return nil, false
	}
	s.beat = false
	return f.append(nil), last
}

// receive handles a message for this end.
func (s *stream) receive(m *nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	var f frame
	var err error
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		if err = ErrGone; s.peer == "" {
			err = ErrNobody
		}
	} else if f, err = decodeFrame(m.Data); err == nil {
		switch {
		case f.kind == frameEnd:
			if s.peer == "" || f.seq == s.received {
				s.end(endings[f.number], false)
				return
			}
			err = fmt.Errorf("%w: the end is message %d instead of %d", ErrLost, f.seq, s.received)
		case s.peer != "":
			err = s.handle(f)
		case f.kind == frameAccept && f.seq == 0 && inboxPattern().MatchString(m.Reply):
			s.open(m.Reply, f.silence)
		default:
			err = fmt.Errorf("%w: no answer of a listener", ErrProtocol)
		}
	}
	if err != nil {
		s.end(err, true)
	}
}

// handle handles a frame of an open stream, except frameEnd. The caller holds mu.
func (s *stream) handle(f frame) error {
	if f.seq != s.received {
		return fmt.Errorf("%w: message %d instead of %d", ErrLost, f.seq, s.received)
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
	default:
		return fmt.Errorf("%w: kind %d", ErrProtocol, f.kind)
	}
	s.changed.Broadcast()
	return nil
}

// fail ends the stream because of err, and informs the other end.
func (s *stream) fail(err error) { s.finish(err, true) }

func (s *stream) finish(err error, inform bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(err, inform)
}

// end ends the stream because of err; the first reason counts. Received data can still be read. Data that is not
// sent yet is dropped, unless this end closes the stream. The caller holds mu.
func (s *stream) end(err error, inform bool) {
	if s.ended {
		return
	}
	s.ended, s.err, s.inform = true, err, inform
	if !s.closed {
		s.out = nil
	}
	if s.ticker != nil {
		s.ticker.Stop()
	}
	if s.peer == "" {
		close(s.opened)
	}
	s.changed.Broadcast()
}
