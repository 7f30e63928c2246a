package actions

import (
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// State is where a request stands.
type State string

// The states of a request.
const (
	Seen      State = "seen"      // noted; it waits to be confirmed (P07)
	Confirmed State = "confirmed" // both ways ask for it
	Refused   State = "refused"   // it is not executed
	Due       State = "due"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed" // and is due again
)

// Kind is the way that a request came.
type Kind string

// The ways.
const (
	Robots   Kind = "robots"   // a line of robots.txt, or of a file that it refers to
	Channel  Kind = "channel"  // a publisher's credential, through serve
	Operator Kind = "operator" // the command line
)

// Source is where a request comes from.
type Source struct {
	Kind       Kind      `json:"kind"`
	File       string    `json:"file,omitempty"` // URL
	Line       int       `json:"line,omitempty"`
	Text       string    `json:"text,omitempty"`       // the line as written
	Version    time.Time `json:"version,omitzero"`     // since when the version of policy that it belongs to is in force
	Digest     string    `json:"digest,omitempty"`     // "sha256:" and hexadecimal digits, of that file
	Credential string    `json:"credential,omitempty"` // its name
}

// Request is one action request. It holds no content of the resource.
type Request struct {
	ID        uint64    `json:"id"`
	Action    string    `json:"action"` // acap.TakeDown or acap.ReCrawl
	URL       string    `json:"url"`
	Origin    string    `json:"origin"`
	Source    string    `json:"source"` // what asks for it, in words: file, line and field
	From      Source    `json:"from"`
	State     State     `json:"state"`
	Why       string    `json:"why,omitempty"`       // why it was refused or failed
	Asked     time.Time `json:"asked"`               // when it was first seen
	Confirmed time.Time `json:"confirmed,omitzero"`  // when it was asked for by the other way, too
	Began     time.Time `json:"began,omitzero"`      // when its execution last began
	NotBefore time.Time `json:"not_before,omitzero"` // when it may be executed again
	Failures  int       `json:"failures,omitempty"`  // in a row
	Done      time.Time `json:"done,omitzero"`       // when it was last executed
	Gone      time.Time `json:"gone,omitzero"`       // of a take-down: when no file held a trace of the resource any more
	Erased    int       `json:"erased,omitempty"`    // copies
	Status    int       `json:"status,omitempty"`    // of the answer to a re-crawl
	Standing  bool      `json:"standing"`            // it is still asked for (P05)
}

// open reports whether something is still to be done about r.
func (r *Request) open() bool {
	switch r.State {
	case Refused:
		return false
	case Done:
		return r.Action == acap.TakeDown && r.Gone.IsZero()
	}
	return true
}

// executable reports whether r is to be executed, or is being.
func (r *Request) executable() bool {
	switch r.State {
	case Due, Confirmed, Running, Failed:
		return true
	}
	return false
}

// since is when what was erased for r may have begun to be. Where the clock went back, that is before it was asked for.
func (r *Request) since() time.Time {
	if !r.Began.IsZero() && r.Began.Before(r.Asked) {
		return r.Began
	}
	return r.Asked
}

// waits reports whether r is not to be executed yet, as far as the clock did not go back since that was said.
func (r *Request) waits(now time.Time) bool {
	return r.NotBefore.After(now) && !r.Began.After(now)
}

// again is when a resource may be crawled again that r asked for, so long after the last time.
func (r *Request) again(pause time.Duration) time.Time {
	if t := r.Done.Add(pause); !r.Done.IsZero() && t.After(r.NotBefore) {
		return t
	}
	return r.NotBefore
}
