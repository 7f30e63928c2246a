package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
)

// request is the first JSON value that a guest sends. A guest is a process that lets another
// process, the owner of the data directory, run its verb. The guest interrupts the verb by closing
// its half of the connection.
type request struct {
	Token   string   `json:"token"`
	Args    []string `json:"args"`
	Env     []string `json:"env"` // the environment variables that set configuration keys
	Dir     string   `json:"dir"`
	Columns *int     `json:"columns,omitempty"` // width of the terminal of standard error, in columns; 0: not known
	Bold    bool     `json:"bold,omitempty"`    // the value of Command.Bold
	Config  []byte   `json:"config,omitempty"`  // content of the configuration file; empty: the owner reads the file

	// Readers asks for HTTP on this connection, from the message that accepts the guest on. The owner then
	// answers readers. Release asks the verb serve to close the data directory. Both need only Token.
	Readers bool `json:"readers,omitempty"`
	Release bool `json:"release,omitempty"`
}

// message is a JSON value that the owner of the data directory sends to a guest. The first message
// is empty and accepts the guest, the next ones contain output, and the last one contains the exit
// status.
type message struct {
	Out    []byte `json:"out,omitempty"`
	Err    []byte `json:"err,omitempty"`
	Ask    bool   `json:"ask,omitempty"` // the guest must send the next part of its standard input
	Status *int   `json:"status,omitempty"`
}

// input is a part of the standard input of a guest. The guest sends a part each time the owner
// sends a message with Ask.
type input struct {
	In  []byte `json:"in,omitempty"`
	End bool   `json:"end,omitempty"`
	Err string `json:"err,omitempty"`
}

// wire sends the output of a verb to the guest that requested the verb. If the context over ends
// before any output was sent, wire sends nothing, and the guest starts the verb again in its own
// process. wire is safe for concurrent use.
type wire struct {
	over context.Context

	mu   sync.Mutex
	to   *json.Encoder
	said bool // output was sent, or standard input was read, so the guest cannot start the verb again
}

func (w *wire) send(m message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.said && w.over.Err() != nil {
		return errAgain
	}
	w.said = w.said || m.preventsRestart()
	return w.to.Encode(m)
}

// preventsRestart reports whether a guest that has received m can no longer start its verb again in
// its own process.
func (m message) preventsRestart() bool { return len(m.Out) > 0 || m.Ask }

// begun reports whether the guest can no longer start its verb again in its own process.
func (w *wire) begun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said
}

func (w *wire) stdout() io.Writer {
	return stream(func(p []byte) error { return w.send(message{Out: p}) })
}

func (w *wire) stderr() io.Writer {
	return stream(func(p []byte) error { return w.send(message{Err: p}) })
}

// stream is an io.Writer. It passes the written bytes in parts to its function, which sends them as
// messages.
type stream func([]byte) error

func (send stream) Write(p []byte) (n int, err error) {
	for part := range slices.Chunk(p, chunk) {
		if err := send(part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// distant is the standard input of a verb that this process executes for another process. Read
// requests one part after another from the other process.
type distant struct {
	ctx   context.Context
	wire  *wire
	heard <-chan input
	rest  []byte
	err   error
}

func (d *distant) Read(p []byte) (int, error) {
	for len(d.rest) == 0 && d.err == nil {
		if err := d.wire.send(message{Ask: true}); err != nil {
			return 0, err
		}
		select {
		case in := <-d.heard:
			d.rest = in.In
			switch {
			case in.Err != "":
				d.err = errors.New(in.Err)
			case in.End:
				d.err = io.EOF
			}
		case <-d.ctx.Done():
			return 0, d.ctx.Err()
		}
	}
	if len(d.rest) == 0 {
		return 0, d.err
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// stdin reads standard input and stores whether Read was called, because after that the verb cannot
// be started again.
type stdin struct {
	r    io.Reader
	read bool
}

func (s *stdin) Read(p []byte) (int, error) {
	s.read = true
	return s.r.Read(p)
}

// some reads the next part of standard input, to send it to the process that runs the verb.
func (s *stdin) some() input {
	buf := make([]byte, chunk)
	n, err := s.Read(buf)
	in := input{In: buf[:n], End: errors.Is(err, io.EOF)}
	if err != nil && !in.End {
		in.Err = err.Error()
	}
	return in
}
