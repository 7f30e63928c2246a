package view

import (
	"context"
	"fmt"
	"net/http"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// Visitor describes who sends a request. The server in front of the Handler sets it.
type Visitor struct {
	Reader acap.Target // decides about restrictions to certain readers (P1 2.5.5.9)
	Base   string      // address of this server as the visitor wrote it: "https://archive.example"
	Role   Role
	Name   string // of the user; empty if nobody is logged in
	Users  bool   // this server has logins and pages for requests
	Token  string // must be sent back in the field "token" of every form; empty if nobody is logged in

	// Replay is the origin below which unmodified copies have host names of their own, with an asterisk
	// for the label: "https://*.replay.example". Empty if there is none.
	Replay string
	// Label is set for a request below the replay domain: the first label of the host name. Base is then
	// the address of the viewer.
	Label string
	// Shard says that the request comes from a process of a cluster that asks all nodes. A problem then says in the
	// header ReasonHeader why the page is not shown.
	Shard     bool
	Ancestors string // origins of the viewer, separated by blanks; set together with Label
}

// Role says what a visitor may do besides reading.
type Role string

// The roles.
const (
	Anyone    Role = ""
	Publisher Role = "publisher" // sees and submits requests of its own
	Operator  Role = "operator"  // sees and submits all requests
)

// ReasonHeader is the header with the code of a problem, or one of these reasons; see Visitor.Shard.
const ReasonHeader = "Acapcrawl-Reason"

const (
	ReasonDown    = "taken-down" // a take-down is in force
	ReasonRefused = "refused"    // nothing may be shown, not even that a page is archived; the status is 404
)

// ShardsHeader says in an answer how many machines of a cluster have answered, of how many: "2/3".
const ShardsHeader = "Acapcrawl-Shards"

// SetShards sets the header of an answer that says how many machines have answered, of how many.
func SetShards(h http.Header, answered, total int) {
	h.Set(ShardsHeader, fmt.Sprintf("%d/%d", answered, total))
}

type visitorKey struct{}

// WithVisitor returns a context that names the visitor of a request.
func WithVisitor(ctx context.Context, v Visitor) context.Context {
	return context.WithValue(ctx, visitorKey{}, v)
}

// VisitorOf returns the visitor that WithVisitor put into ctx, otherwise a visitor of whom nothing is
// known.
func VisitorOf(ctx context.Context) Visitor {
	v, _ := ctx.Value(visitorKey{}).(Visitor)
	return v
}

// reader returns the visitor as a reader. A copy is shown in a frame of this server only by the viewer,
// which says so itself.
func (v Visitor) reader() present.Reader {
	return present.Reader{Target: v.Reader, Public: v.Role != Operator}
}
