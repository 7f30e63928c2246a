package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/site"
)

const (
	// how long to wait for a process that has the data directory open and cannot run this verb
	lockWait = 10 * time.Second
	runWait  = time.Minute // how long to wait for the end of a process that runs the verb actions run
	pause    = 50 * time.Millisecond
	notice   = 3 * time.Second // time after which a waiting verb prints which process it waits for
	maxTries = 3
)

// alone lists the verbs that never run in another process: they always open a data directory
// themselves.
var alone = []string{"crawl", "demo"}

// actionsRunName is a verb that runs in another process only if the other process runs a verb in
// alone, because only these verbs can visit pages.
const actionsRunName = "actions run"

// waitsFor reports whether this verb waits until the process o has ended.
func (c *Command) waitsFor(o owner) bool {
	return !slices.Contains(alone, o.Verb) && (slices.Contains(alone, c.verb) || c.verb == actionsRunName)
}

// busy is the error if another process has the data directory open and can run this verb on behalf
// of this process.
type busy struct {
	dir   string
	owner owner
}

func (b *busy) Error() string {
	return fmt.Sprintf("the data directory %s is in use: %s uses it since %s", b.dir, b.owner,
		b.owner.Since.Format(time.RFC3339))
}

func (o owner) String() string { return fmt.Sprintf("acapcrawl %s (process %d)", o.Verb, o.PID) }

// unlocked calls open, which opens a file of the data directory dir. If another process has the
// file open, unlocked calls open again and again until a time limit passes. If the other process
// can run this verb, unlocked returns a *busy, and Main lets the other process run the verb.
func (c *Command) unlocked(dir string, open func() error) error {
	released := ""
	for began := time.Now(); ; {
		o, reached := reachable(dir)
		if reached && o.Token != released && c.waitsFor(o) && o.Verb == serveName && o.Protocol == protocol {
			released = o.Token
			o.askRelease()
		}
		err := inUse(dir)
		if reached {
			err = c.through(dir, o)
		} else if failed := open(); !isLocked(failed) {
			return failed
		}
		patience := lockWait
		if reached && o.Verb == actionsRunName {
			patience = runWait
		}
		if reached && !c.waitsFor(o) || time.Since(began) > patience {
			return err
		}
		select {
		case <-time.After(pause):
		case <-c.over:
			return context.Canceled
		}
	}
}

// askRelease asks the verb serve of another process to close the data directory. Without an answer the
// caller waits as for any other process.
func (o owner) askRelease() {
	conn, err := net.DialTimeout("unix", o.Socket, notice)
	if err != nil {
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(notice))
	if json.NewEncoder(conn).Encode(request{Token: o.Token, Release: true}) == nil {
		_ = skipLine(conn) // an error says only that the process ends, which is what was asked for
	}
}

func isLocked(err error) bool { return errors.Is(err, site.ErrInUse) }

// endOrElsewhere is what the user can do if a data directory is in use.
const endOrElsewhere = "wait for it to end, or name another directory with --data"

func inUse(dir string) error {
	return failure(endOrElsewhere, fmt.Errorf("the data directory %s is in use by another process", dir))
}

// through returns a *busy, which makes Main hand the verb over to the process o, or an error that
// says why o cannot run the verb.
func (c *Command) through(dir string, o owner) error {
	b := &busy{dir, o}
	switch ours := thisBuild().String(); {
	case slices.Contains(alone, c.verb) || c.waitsFor(o):
		return failure(endOrElsewhere, errors.New(b.Error()))
	case o.User != os.Getuid():
		return failure("run it as that user", fmt.Errorf("%s, for user %d, and serves only verbs of the same user", b,
			o.User))
	case o.Protocol != protocol:
		return failure("run that program, or wait for it to end", fmt.Errorf("%s; it is another build, version %s, "+
			"and this one cannot pass the verb on to it", b, o.Version))
	case o.Version != ours:
		return failure("run that program, or wait for it to end", fmt.Errorf("%s; it is version %s, and this, "+
			"version %s, cannot pass the verb on to it", b, o.Version, ours))
	}
	return b
}

// reachable returns the process that has the data directory dir open. The result is false if that
// process does not listen on its socket.
func reachable(dir string) (owner, bool) {
	o, ok := readOwner(dir)
	if !ok {
		return o, false
	}
	conn, err := net.Dial("unix", o.Socket)
	if err != nil {
		return o, false
	}
	conn.Close()
	return o, true
}

// errAgain means that the process that ran this verb ended before it sent any result. The verb is
// then started again.
var errAgain = errors.New("the owner has ended")

// handOver lets the process b.owner run this verb, and returns the exit status of the verb. When
// ctx ends, handOver interrupts the verb.
func (c *Command) handOver(ctx context.Context, b *busy) (status int, err error) {
	if c.in.read {
		return statusFailed, failure("name a file", fmt.Errorf("standard input was read before the data directory %s "+
			"was found to be in use", b.dir))
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: b.owner.Socket, Net: "unix"})
	if err != nil {
		return statusFailed, errAgain
	}
	defer conn.Close()
	leave := context.AfterFunc(ctx, func() { conn.Close() })
	defer leave()
	in := bufio.NewReader(conn)
	out := json.NewEncoder(conn)
	if err := c.introduce(conn, out, in, b); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return statusFailed, err
	}
	if !leave() {
		return statusFailed, ctx.Err()
	}
	defer context.AfterFunc(ctx, func() { conn.CloseWrite() })()
	said := false
	for d := json.NewDecoder(in); ; {
		var m message
		if err := d.Decode(&m); err != nil {
			if !said && ctx.Err() == nil {
				return statusFailed, errAgain
			}
			return statusFailed,
				failure("the same command again", fmt.Errorf("%s, which used the data directory %s, ended "+
					"before this was done", b.owner, b.dir))
		}
		said = said || m.preventsRestart()
		if m.Ask {
			// sends one part of standard input; a blocked read from a terminal ends with the
			// process
			go func() { out.Encode(c.in.some()) }()
		}
		if len(m.Out) > 0 {
			if _, err := c.raw().Write(m.Out); err != nil {
				return statusFailed, err
			}
		}
		if len(m.Err) > 0 {
			c.Stderr.Write(m.Err)
		}
		if m.Status != nil {
			return *m.Status, nil
		}
	}
}

// introduce sends the request to run this verb, and waits until the other process accepts the
// request.
func (c *Command) introduce(conn *net.UnixConn, out *json.Encoder, in *bufio.Reader, b *busy) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("the working directory cannot be named: %w", err)
	}
	req := request{Token: b.owner.Token, Args: c.args, Env: settingsOf(c.Env), Dir: dir, Bold: c.Bold}
	if len(c.configText) < maxRequest/2 {
		req.Config = c.configText
	}
	if p, ok := c.Stderr.(*progress); ok && p.columns != nil {
		n := p.columns()
		req.Columns = &n
	}
	if out.Encode(req) != nil {
		return errAgain
	}
	conn.SetReadDeadline(time.Now().Add(notice))
	_, err = in.Peek(1)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		fmt.Fprintf(c.Stderr, "Waiting for %s, which uses the data directory %s.\n", b.owner, b.dir)
		conn.SetReadDeadline(time.Time{})
		_, err = in.Peek(1)
	}
	if err != nil {
		return errAgain
	}
	return conn.SetReadDeadline(time.Time{})
}

// settingsOf returns the variables of env that set configuration keys. The others are not sent to
// the owner.
func settingsOf(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		return !strings.HasPrefix(pair, "ACAPCRAWL_") && !strings.HasPrefix(pair, "XDG_") &&
			!strings.HasPrefix(pair, "HOME=")
	})
}
