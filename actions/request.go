package actions

import (
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// State is the state of a request.
type State string

// The states of a request.
const (
	Seen      State = "seen"      // waits for confirmation
	Confirmed State = "confirmed" // requested by a line and through the channel
	Refused   State = "refused"   // will not be executed
	Due       State = "due"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed" // will be tried again
)

// Kind says who made a request and how.
type Kind string

// The kinds of sources.
const (
	Robots   Kind = "robots"   // a line of robots.txt, or of a file that it refers to
	Channel  Kind = "channel"  // a publisher's credential, through serve
	Operator Kind = "operator" // the command line
)

// Source is where a request comes from.
type Source struct {
	Kind       Kind      `json:"kind"`
	File       string    `json:"file,omitempty"` // URL of the file
	Line       int       `json:"line,omitempty"`
	Text       string    `json:"text,omitempty"`       // the line as written
	Version    time.Time `json:"version,omitzero"`     // since when this version of the policy is in force
	Digest     string    `json:"digest,omitempty"`     // digest of that file: "sha256:" and hexadecimal digits
	Credential string    `json:"credential,omitempty"` // name of the credential
}

// Request is one action request. It contains no content of the resource.
type Request struct {
	// the machine in whose ledger the request has this ID; "" in a ledger, and if one machine crawls alone
	Node      string    `json:"node,omitempty"`
	ID        uint64    `json:"id"`
	Action    string    `json:"action"` // acap.TakeDown or acap.ReCrawl
	URL       string    `json:"url"`
	Origin    string    `json:"origin"`
	Source    string    `json:"source"` // the source in words: file, line and field
	From      Source    `json:"from"`
	State     State     `json:"state"`
	Why       string    `json:"why,omitempty"`       // why it was refused or failed
	Asked     time.Time `json:"asked"`               // when the request was first seen
	Confirmed time.Time `json:"confirmed,omitzero"`  // when the second of line and channel requested the same
	Began     time.Time `json:"began,omitzero"`      // when its execution last began
	NotBefore time.Time `json:"not_before,omitzero"` // when it may be executed again
	Failures  int       `json:"failures,omitempty"`  // number of failures in a row
	Done      time.Time `json:"done,omitzero"`       // when it was last executed
	// since when no file has contained traces of the taken-down resource
	Gone   time.Time `json:"gone,omitzero"`
	Erased int       `json:"erased,omitempty"` // number of erased copies
	Status int       `json:"status,omitempty"` // HTTP status of the answer to a re-crawl
	// in force; P1 2.6.1 (P05): a page that is taken down does not come back
	Standing bool `json:"standing"`
	// nil if this machine crawls alone
	*Spread
}

// public returns what everybody may know of r, which a line of robots.txt requests: what the line
// says, and when it was executed. What was archived, and which credential confirmed the line, is
// not public.
func (r *Request) public() Request {
	from := r.From
	from.Kind, from.Credential = Robots, ""
	out := Request{ID: r.ID, Action: r.Action, URL: r.URL, Origin: r.Origin, From: from, State: r.State,
		Asked: r.Asked, Confirmed: r.Confirmed, Done: r.Done, Gone: r.Gone, Standing: r.Standing}
	out.Source = (&acap.Field{URL: from.File, Line: from.Line, Text: from.Text}).String()
	if r.State == Refused {
		out.Why = r.Why
	}
	if r.pending() { // other machines may still have files with traces
		out.Gone = time.Time{}
	}
	return out
}

// open reports whether r is unfinished.
func (r *Request) open() bool {
	switch r.State {
	case Refused:
		return false
	case Done:
		return r.Action == acap.TakeDown && (r.Gone.IsZero() || r.pending())
	}
	return true
}

// executable reports whether r must be executed or is running.
func (r *Request) executable() bool {
	switch r.State {
	case Due, Confirmed, Running, Failed:
		return true
	}
	return false
}

// since returns the earliest time at which something may have been erased for r. It is earlier than
// Asked if the clock was set back.
func (r *Request) since() time.Time {
	if !r.Began.IsZero() && r.Began.Before(r.Asked) {
		return r.Began
	}
	return r.Asked
}

// waits reports whether r must not be executed yet, because NotBefore is in the future. If the
// clock was set back after r began, NotBefore is ignored.
func (r *Request) waits(now time.Time) bool {
	return r.NotBefore.After(now) && !r.Began.After(now)
}

// again returns when the resource of r may be crawled again, if the time between two crawls is
// pause.
func (r *Request) again(pause time.Duration) time.Time {
	if t := r.Done.Add(pause); !r.Done.IsZero() && t.After(r.NotBefore) {
		return t
	}
	return r.NotBefore
}
