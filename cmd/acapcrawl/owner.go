package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/site"
)

// owner describes the process that has a data directory open. Other processes read it from the file
// owner.json in that directory.
type owner struct {
	PID     int    `json:"pid"`
	Socket  string `json:"socket"`  // name of the socket file, relative to the data directory unless it is absolute
	Version string `json:"version"` // version of the owner's program
	// Protocol is the version of the messages between this process and the processes whose verbs it
	// runs. It is needed because two builds without a known commit have the same Version.
	Protocol int       `json:"protocol"`
	Verb     string    `json:"verb"`
	Since    time.Time `json:"since"`
	User     int       `json:"user"`
	// a process that sends this token has read this file, so it belongs to the same user
	Token string `json:"token"`
}

const (
	ownerFile  = "owner.json"
	socketFile = "owner.sock"
	private    = "acapcrawl-" // prefix of the name of a temporary directory that is made for a socket
)

// hosting lists the verbs whose process also runs the verbs of other processes. All other verbs end
// soon, so other processes wait for their end.
var hosting = []string{"crawl", "demo", "sweep", "archive ls", "archive verify", "archive compact", "archive export",
	"archive import", "archive backup", actionsRunName, serveName}

// protocol is the version of the JSON messages (types request, message and input) between the owner
// of a data directory and its guests, the processes whose verbs it runs.
const protocol = 2

// The limits of a host, which is a process that runs the verbs of other processes, its guests.
const (
	maxGuests  = 32               // maximum number of guests at the same time; further guests wait
	maxRequest = 1 << 20          // maximum size of a request in bytes
	introduce  = 10 * time.Second // maximum time for a guest to send its request
	grace      = 5 * time.Second  // after the host begins to end, time in which guests can still get a result
	linger     = time.Minute      // after grace, time to send guests the rest of their result
	lastWords  = time.Second      // maximum time for a guest to read its last output
	patient    = 30 * time.Second // time after which the host no longer waits for interrupted guests
	chunk      = 64 << 10         // maximum number of output bytes in one message
)

// host runs the verbs of other processes, called guests, in this process, on the data directory
// that this process has open. Guests that connect before serve is called must wait.
type host struct {
	dir      string
	listener *net.UnixListener
	socket   string // name of the socket file
	token    string
	stderr   io.Writer

	grace, linger, patient time.Duration

	ctx    context.Context // context of the verbs of all guests
	cancel context.CancelFunc
	ending context.Context // context of guests to which no output was sent yet
	end    context.CancelFunc
	guests sync.WaitGroup // counts the guests and the goroutine that accepts them

	readers *readersHost  // answers readers for the verb serve of another process
	cluster net.Listener  // accepts guests from other machines of a cluster; nil: there is no cluster
	own     ownSettings   // the settings of verbs for these guests
	asked   chan struct{} // closed when another process asks for the data directory
	ask     func()        // closes asked
}

// listen makes a socket on which other processes can connect to this process, which runs verb and
// has the data directory dir open. listen first removes a socket that a killed process left. If the
// path is too long for a socket, or the file system supports no sockets, listen makes the socket in
// a temporary directory.
func listen(dir, verb string, stderr io.Writer) (*host, error) {
	clearOwner(dir)
	where, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	h := &host{dir: dir, socket: filepath.Join(where, socketFile), token: rand.Text(), stderr: stderr, grace: grace,
		linger: linger, patient: patient, asked: make(chan struct{})}
	h.ask = sync.OnceFunc(func() { close(h.asked) })
	told := socketFile
	if err := h.makeSocket(); err != nil {
		if where, err = os.MkdirTemp("", private); err != nil {
			return nil, err
		}
		h.socket = filepath.Join(where, socketFile)
		told = h.socket
		if err := h.makeSocket(); err != nil {
			return nil, errors.Join(err, os.Remove(where))
		}
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.ending, h.end = context.WithCancel(h.ctx)
	o := owner{PID: os.Getpid(), Socket: told, Version: thisBuild().String(), Protocol: protocol, Verb: verb,
		Since: time.Now().UTC().Truncate(time.Second), User: os.Getuid(), Token: h.token}
	if err := o.write(dir); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// makeSocket makes the socket. Only this user can connect; because some systems ignore the mode of
// a socket, guests must also send the token.
func (h *host) makeSocket() (err error) {
	unshared(func() { h.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: h.socket, Net: "unix"}) })
	if err != nil {
		return err
	}
	if err := os.Chmod(h.socket, 0o600); err != nil {
		return errors.Join(err, h.listener.Close())
	}
	return nil
}

func (o owner) write(dir string) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(dir, ownerFile), append(text, '\n'), 0o600)
}

// readOwner reads owner.json in dir. ok is false if the file cannot be read, or if another user may
// have written it. Otherwise another user who can write to dir could make this process connect to a
// socket of that user.
func readOwner(dir string) (o owner, ok bool) {
	name := filepath.Join(dir, ownerFile)
	text, err := os.ReadFile(name)
	if err != nil || !onlyOurs(name) || json.Unmarshal(text, &o) != nil || o.Socket == "" {
		return o, false
	}
	if !filepath.IsAbs(o.Socket) {
		o.Socket = filepath.Join(dir, o.Socket)
	}
	return o, onlyOurs(o.Socket)
}

// clearOwner removes the socket and owner.json that a killed process left in dir.
func clearOwner(dir string) {
	if o, ok := readOwner(dir); ok {
		removeSocket(o.Socket)
	}
	os.Remove(filepath.Join(dir, ownerFile))
	removeSocket(filepath.Join(dir, socketFile))
}

// removeSocket removes a socket, and the temporary directory if one was made for the socket.
func removeSocket(name string) {
	if filepath.Base(name) != socketFile {
		return
	}
	os.Remove(name)
	if where := filepath.Dir(name); strings.HasPrefix(filepath.Base(where), private) {
		os.Remove(where) // Remove fails if the directory is not empty, which is no problem
	}
}

// serve runs the verbs of guests with s until close is called. The fields of s must not change
// until then. Further calls do nothing.
func (h *host) serve(s *site.Site) {
	if h.readers != nil {
		return
	}
	slots := make(chan struct{}, maxGuests)
	h.readers = newReadersHost(&lazyView{make: func() (http.Handler, error) { return newView(s, h.failed) }})
	h.guests.Go(h.readers.serve)
	h.guests.Go(func() { h.accept(h.listener, slots, func(conn net.Conn) { h.runGuest(conn, s, h.local) }) })
}

// accept calls run for each connection to l, each in a goroutine, until l or h is closed.
func (h *host) accept(l net.Listener, slots chan struct{}, run func(net.Conn)) {
	for {
		select {
		case slots <- struct{}{}:
		case <-h.ending.Done():
			return
		}
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // for example, too many files are open; try again after one is closed
			<-slots
			select {
			case <-time.After(100 * time.Millisecond):
			case <-h.ending.Done():
			}
			continue
		}
		h.guests.Go(func() {
			defer func() { <-slots }()
			run(conn)
		})
	}
}

// local checks the request of a guest on this machine, and returns the function that runs its verb. It returns nil for
// a guest that must get no answer.
func (h *host) local(req request) verbRunner {
	if subtle.ConstantTimeCompare([]byte(req.Token), []byte(h.token)) != 1 {
		return nil
	}
	return req.run
}

// verbRunner runs a verb of a guest and returns its exit status.
type verbRunner func(ctx context.Context, s *site.Site, w *wire, in io.Reader) (status int)

// failed prints an error of an answer to a reader.
func (h *host) failed(err error) { fmt.Fprintln(h.stderr, "An answer to a reader failed:", err) }

// errGuests means that the verb of a guest did not end, and may still use the data directory.
var errGuests = errors.New("a verb of another process does not end")

// close accepts no more guests, and returns when the verbs of all guests have ended. After the time
// h.grace, guests that have no output yet run their verb again in their own process. After the
// further time h.linger, close interrupts the other guests. If a verb does not end within
// h.patient, close returns errGuests.
func (h *host) close() error {
	os.Remove(filepath.Join(h.dir, ownerFile))
	h.listener.Close()
	if h.cluster != nil {
		h.cluster.Close()
	}
	if h.readers != nil {
		h.readers.close(finishWithin)
	}
	gone := make(chan struct{})
	go func() {
		h.guests.Wait()
		close(gone)
	}()
	for _, step := range []struct {
		after time.Duration
		do    func()
	}{
		{h.grace, h.end},
		{lastWords, func() {
			fmt.Fprintln(h.stderr, "Waiting for verbs of other processes; this takes at most two minutes.")
		}},
		{h.linger, h.cancel},
	} {
		select {
		case <-gone:
		case <-time.After(step.after):
			step.do()
		}
	}
	h.cancel()
	removeSocket(h.socket)
	select {
	case <-gone:
		return nil
	case <-time.After(h.patient):
		return errGuests
	}
}

// runGuest runs the verb of a guest that has connected. check returns how, or nil to refuse the guest. The verb is
// interrupted if the guest is interrupted or disconnects.
func (h *host) runGuest(conn net.Conn, s *site.Site, check func(request) verbRunner) {
	passed := false
	defer func() {
		if !passed {
			conn.Close()
		}
	}()
	conn.SetReadDeadline(time.Now().Add(introduce))
	in := context.AfterFunc(h.ending, func() { conn.Close() })
	var req request
	bounded := &io.LimitedReader{R: conn, N: maxRequest}
	hears := json.NewDecoder(bounded)
	err := hears.Decode(&req)
	if !in() || err != nil {
		return
	}
	run := check(req)
	if run == nil {
		return
	}
	conn.SetReadDeadline(time.Time{})
	switch {
	case req.Release:
		h.ask()
		_ = json.NewEncoder(conn).Encode(message{}) // the other process tries again if it gets no answer
		return
	case req.Readers:
		passed = json.NewEncoder(conn).Encode(message{}) == nil && h.readers.take(conn)
		return
	}
	bounded.N = math.MaxInt64
	h.converse(conn, hears, s, run)
}

// converse runs a verb. Its output, and what it reads from standard input, are passed through conn.
func (h *host) converse(conn net.Conn, hears *json.Decoder, s *site.Site, run verbRunner) {
	ctx, cancel := context.WithCancel(h.ctx)
	heard := make(chan input)
	var hearing sync.WaitGroup
	hearing.Go(func() {
		defer cancel() // the guest was interrupted or has disconnected
		for {
			var in input
			if hears.Decode(&in) != nil {
				return
			}
			select {
			case heard <- in:
			case <-ctx.Done():
				return
			}
		}
	})
	defer func() {
		cancel()
		conn.Close()
		hearing.Wait()
	}()
	defer context.AfterFunc(h.ctx, func() { conn.SetWriteDeadline(time.Now().Add(lastWords)) })()

	w := &wire{to: json.NewEncoder(conn), over: h.ending}
	defer context.AfterFunc(h.ending, func() {
		if !w.begun() {
			cancel()
		}
	})()
	w.send(message{}) // an empty message accepts the guest
	status := run(ctx, s, w, &distant{ctx: ctx, wire: w, heard: heard})
	if h.ctx.Err() != nil && status != statusDone {
		fmt.Fprintln(w.stderr(), "Try: the same command again; the process that used the data directory ended")
	}
	w.send(message{Status: &status})
}

// run runs the verb that req names on the open data directory s, and returns the exit status of the
// verb. A panic in the verb does not end this process.
func (req request) run(ctx context.Context, s *site.Site, w *wire, in io.Reader) (status int) {
	screen := &progress{w: w.stderr()}
	if req.Columns != nil {
		screen.columns = func() int { return *req.Columns }
	}
	guest := Command{Stdin: in, Stdout: w.stdout(), Stderr: screen, Bold: req.Bold, Env: req.Env, dir: req.Dir,
		configText: req.Config, owner: s}
	return guest.Main(ctx, req.Args)
}
