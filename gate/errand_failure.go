package gate

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/acapcrawl/acapcrawl/acap"
)

// The classes of an ErrandFailure that is not a refusal.
const (
	failureNetwork = "network" // IsNetworkError is true
	failureName    = "name"    // the host name does not exist
	failureEnded   = "ended"   // the owner ends, or hands its hosts over
	failureOther   = "other"
)

// maxMessage is the limit for the message of a failure in bytes.
const maxMessage = 4 << 10

// ErrandFailure says why an errand led to no exchange. It is a plain value, which encoding/json
// preserves.
type ErrandFailure struct {
	Message string         // the text of the error
	Class   string         // network, name, ended or other
	Refusal *ErrandRefusal // if the request was refused
}

// ErrandRefusal is a Refusal as a plain value. In Decision, JSON preserves the exported fields,
// which are sufficient to explain the refusal.
type ErrandRefusal struct {
	Rule     string
	Why      string
	Decision acap.Decision
	TakeDown *acap.Field
	Foreign  bool // the cause is ErrForeign
	Paused   bool // the cause is ErrPaused
}

// newErrandFailure returns err as a plain value.
func newErrandFailure(err error) *ErrandFailure {
	f := &ErrandFailure{Message: strings.ToValidUTF8(err.Error(), "\uFFFD"), Class: failureOther}
	f.Message = f.Message[:min(len(f.Message), maxMessage)]
	var name *net.DNSError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		f.Class = failureName
	case errors.Is(err, context.Canceled):
		f.Class = failureEnded
	case IsNetworkError(err):
		f.Class = failureNetwork
	}
	var r *Refusal
	if errors.As(err, &r) {
		f.Refusal = &ErrandRefusal{Rule: r.Rule, Why: r.Why, Decision: r.Decision, TakeDown: r.TakeDown,
			Foreign: errors.Is(err, ErrForeign), Paused: errors.Is(err, ErrPaused)}
	}
	return f
}

// OfOwner reports whether the machine that was asked could not make the request, because it ends or
// does not own the host now. Then the failure says nothing about the host. f may be nil.
func (f *ErrandFailure) OfOwner() bool {
	return f != nil && (f.Class == failureEnded || f.Refusal != nil && f.Refusal.Rule == RuleLease)
}

// err returns the failure as the error of a request for rawurl to the host key. If the owner refused
// the request, or does not make it because it ends, it is a *Refusal.
func (f *ErrandFailure) err(rawurl, key string) error {
	if f.Refusal != nil {
		return f.Refusal.err(rawurl)
	}
	message := cmp.Or(f.Message[:min(len(f.Message), maxMessage)], rawurl+": its owner reports no reason")
	switch f.Class {
	case failureEnded:
		return ownerRefusal(key, "ends", errors.New(message))
	case failureNetwork:
		return reportedError{message, networkFailure{}}
	case failureName:
		return reportedError{message, &net.DNSError{Err: message, IsNotFound: true}}
	}
	return errors.New(message)
}

// err returns the refusal of a request for rawurl, or an error if f is not a valid refusal.
func (f *ErrandRefusal) err(rawurl string) error {
	r := &Refusal{URL: rawurl, Rule: f.Rule, Why: f.Why[:min(len(f.Why), maxMessage)]}
	switch f.Rule {
	case "":
		// the decision is about the rule of the publisher; it must be a refusal whatever the answer says
		r.Decision, r.Decision.Allowed = f.Decision, false
	case RuleTakeDown:
		r.TakeDown = f.TakeDown
	case RuleLease:
		switch {
		case f.Foreign:
			r.Cause = ErrForeign
		case f.Paused:
			r.Cause = ErrPaused
		}
	case RuleMethod, RuleScheme, RuleAddress, RuleBudget:
	default:
		return fmt.Errorf("%s is not fetched: its owner refuses it by the unknown rule %q", rawurl, f.Rule)
	}
	return r
}

// reportedError is an error that another machine reported.
type reportedError struct {
	message string
	cause   error
}

func (e reportedError) Error() string { return e.message }
func (e reportedError) Unwrap() error { return e.cause }

// networkFailure is the net.Error of a failure of the network that another machine reported.
type networkFailure struct{}

func (networkFailure) Error() string { return "a network error" }
func (networkFailure) Timeout() bool { return false }

// Temporary returns true. The interface net.Error still requires this method.
func (networkFailure) Temporary() bool { return true }

// IsNetworkError reports whether err is a network error that may not occur at a later request. A
// host name that does not exist is not such an error.
func IsNetworkError(err error) bool {
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound {
		return false
	}
	var network net.Error
	var system syscall.Errno
	var plaintext tls.RecordHeaderError
	var alert tls.AlertError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &network) || errors.As(err, &system) || errors.As(err, &plaintext) ||
		errors.As(err, &alert) || errors.As(err, &certificate) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}
