package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

var (
	// ErrNobody means that nobody listens at the subject.
	ErrNobody = errors.New("nobody listens at this subject")
	// ErrBusy means that the listener has as many open streams as it allows.
	ErrBusy = errors.New("the listener has too many open streams")
	// ErrGone means that the other end, or the connection to the NATS servers, is lost.
	ErrGone = errors.New("the other end of the stream is gone")
	// ErrLost means that messages of the stream were lost, for example because a NATS server stopped.
	ErrLost = errors.New("messages of the stream are lost")
	// ErrProtocol means that a message does not follow the protocol of streams.
	ErrProtocol = errors.New("wrong message in the stream")
)

// Streams says how streams are dialed and accepted. The zero value has the defaults.
type Streams struct {
	// Silence is how long an end waits for a sign of life of the other end; 0 means 10 s. Nothing is sent for
	// this purpose while other messages flow. It also limits how long Dial waits for the answer of the listener.
	Silence time.Duration
	// Max is how many streams of a listener may be open, waiting ones included; 0 means 256. A stream counts
	// until the listener's side calls Close. Further dialers get ErrBusy.
	Max int
}

// Dial opens a stream with the default settings; see Streams.Dial.
func Dial(ctx context.Context, nc *nats.Conn, subject string) (net.Conn, error) {
	return Streams{}.Dial(ctx, nc, subject)
}

// Listen accepts streams with the default settings; see Streams.Listen.
func Listen(nc *nats.Conn, subject string) (net.Listener, error) {
	return Streams{}.Listen(nc, subject)
}

// Dial opens a stream to the listener at the subject, of which there may be only one. The context limits only the
// dialing. The stream has the method CloseWrite, like *net.TCPConn. Errors of the stream are of type *net.OpError.
func (o Streams) Dial(ctx context.Context, nc *nats.Conn, subject string) (net.Conn, error) {
	s, err := o.dial(ctx, nc, subject)
	if err != nil {
		return nil, opError("dial", subject, err)
	}
	return s, nil
}

func (o Streams) dial(ctx context.Context, nc *nats.Conn, subject string) (*stream, error) {
	s := o.newStream(nc, subject)
	go s.run(subject, frame{kind: frameHello, silence: s.silence}, func() {})
	ctx, cancel := context.WithTimeoutCause(ctx, o.silence(), fmt.Errorf("%w: no answer from the listener", ErrGone))
	defer cancel()
	select {
	case <-s.opened:
	case <-ctx.Done():
		s.fail(ErrGone)
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peer == "" {
		return nil, s.err
	}
	return s, nil
}

// listener is a net.Listener for streams.
type listener struct {
	options Streams
	nc      *nats.Conn
	sub     *nats.Subscription
	subject string
	backlog chan *stream  // has room for all streams that may be open
	done    chan struct{} // closed by Close

	mu     sync.Mutex
	open   int
	closed bool
}

// Listen accepts streams that are dialed to the subject. When it returns, the NATS server knows the listener.
// Close ends streams that were not accepted yet, and no others.
func (o Streams) Listen(nc *nats.Conn, subject string) (net.Listener, error) {
	if o.Max == 0 {
		o.Max = 256
	}
	l := &listener{options: o, nc: nc, subject: subject, backlog: make(chan *stream, o.Max),
		done: make(chan struct{})}
	sub, err := nc.Subscribe(subject, l.receive)
	if err != nil {
		return nil, opError("listen", subject, err)
	}
	l.sub = sub
	sub.SetClosedHandler(func(string) { l.shut() })
	if err := nc.FlushTimeout(o.silence()); err != nil {
		l.Close()
		return nil, opError("listen", subject, err)
	}
	return l, nil
}

// receive answers the first message of a dialer.
func (l *listener) receive(m *nats.Msg) {
	if !inboxPattern().MatchString(m.Reply) {
		return // A reply to another subject could do harm there, with the rights of this node.
	}
	f, err := decodeFrame(m.Data)
	if err == nil && (f.kind != frameHello || f.seq != 0) {
		err = ErrProtocol
	}
	if err == nil {
		err = l.accept(m.Reply, f)
	}
	if err != nil {
		end := frame{kind: frameEnd, number: ending(err)}
		_ = l.nc.Publish(m.Reply, end.append(nil)) // Without an answer, the dialer gives up in time.
	}
}

// accept opens a stream to peer.
func (l *listener) accept(peer string, hello frame) error {
	l.mu.Lock()
	closed, busy := l.closed, l.open == l.options.Max
	if !closed && !busy {
		l.open++
	}
	l.mu.Unlock()
	switch {
	case closed:
		return ErrNobody
	case busy:
		return ErrBusy
	}
	s := l.options.newStream(l.nc, l.subject)
	s.release = l.release
	s.open(peer, hello.silence)
	go s.run(peer, frame{kind: frameAccept, silence: s.silence}, func() { l.put(s) })
	return nil
}

// put puts a stream into the backlog.
func (l *listener) put(s *stream) {
	l.mu.Lock()
	l.backlog <- s // It has room: l.open is at most its capacity.
	closed := l.closed
	l.mu.Unlock()
	if closed {
		l.shut()
	}
}

func (l *listener) release() {
	l.mu.Lock()
	l.open--
	l.mu.Unlock()
}

// Accept returns the next stream.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case s := <-l.backlog:
		return s, nil
	case <-l.done:
		return nil, opError("accept", l.subject, net.ErrClosed)
	}
}

// Close makes Accept return and the subject free.
func (l *listener) Close() error {
	if !l.shut() {
		return opError("close", l.subject, net.ErrClosed)
	}
	_ = l.sub.Unsubscribe() // It fails if the connection is closed, which is as good.
	return nil
}

// shut ends the waiting streams and returns whether the listener was open.
func (l *listener) shut() bool {
	l.mu.Lock()
	was := l.closed
	if !was {
		l.closed = true
		close(l.done)
	}
	l.mu.Unlock()
	for {
		select {
		case s := <-l.backlog:
			s.fail(ErrNobody)
		default:
			return !was
		}
	}
}

// Addr returns the subject.
func (l *listener) Addr() net.Addr { return natsAddr(l.subject) }

func (o Streams) silence() time.Duration {
	if o.Silence == 0 {
		return 10 * time.Second
	}
	return min(max(o.Silence, minSilence), maxSilence)
}

// natsAddr is a subject as an address.
type natsAddr string

// Network returns "nats".
func (natsAddr) Network() string { return "nats" }

// String returns the subject.
func (a natsAddr) String() string { return string(a) }

func opError(op, subject string, err error) error {
	return &net.OpError{Op: op, Net: "nats", Addr: natsAddr(subject), Err: err}
}

// inboxPattern matches the subjects at which the ends of a stream receive. A prefix that is set with
// nats.CustomInboxPrefix must begin with _INBOX, too.
var inboxPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^_INBOX[A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+){1,16}$`)
})

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// ValidName returns an error if name cannot be the name of a node. A valid name is one token of a NATS subject, a
// key of a NATS bucket and a file name.
func ValidName(name string) error {
	if len(name) > 64 || !namePattern.MatchString(name) {
		return fmt.Errorf("node name %q: use 1 to 64 letters, digits, - or _", name)
	}
	return nil
}
