package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// The exit statuses.
const (
	statusDone    = 0
	statusNothing = 1 // there are findings or violations, or there is no result
	statusUsage   = 2 // wrong usage or configuration
	statusRefused = 3 // policy refuses the use
	statusFailed  = 4
	// a second interrupt ended the process; shells report the same status for an interrupted
	// program
	statusAtOnce = 130
)

// fault is an error with an exit status and a suggestion of what the user can do.
type fault struct {
	status int
	err    error
	try    string
	reason string // the reason in the JSON of unshown; may be empty
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// misuse returns a fault of wrong usage. try is a suggestion for the user; it may be empty.
func misuse(try, format string, args ...any) error {
	return &fault{status: statusUsage, err: fmt.Errorf(format, args...), try: try}
}

// refusal returns a fault for a use that policy prohibits. It is for errors that are not an
// *acap.Refused.
func refusal(err error) error { return &fault{status: statusRefused, err: err} }

// failure returns a fault with a suggestion for the user.
func failure(try string, err error) error { return &fault{status: statusFailed, err: err, try: try} }

// nothing returns the fault with exit status 1, for a verb that found nothing or that has findings.
// The sentence for the user may be empty.
func nothing(sentence string) error {
	return &fault{status: statusNothing, err: errors.New(sentence)}
}

// report prints a sentence for each error that err joins, and returns the exit status.
func report(w io.Writer, err error) int {
	if err == nil {
		return statusDone
	}
	status, try := statusFailed, ""
	var f *fault
	var setting *config.Error
	var refused *acap.Refused
	switch {
	case errors.As(faultOf(err), &f):
		status, try = f.status, f.try
	case errors.As(err, &setting):
		status = statusUsage
	case errors.As(err, &refused):
		status = statusRefused
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			report(w, e)
		}
		return status
	}
	if setting != nil && try == "" {
		try = setting.Hint
	}
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	text = display.Line(strings.Join(strings.Fields(text), " "))
	switch {
	case text == "":
	case status == statusNothing:
		fmt.Fprintln(w, text)
	default:
		fmt.Fprintln(w, "Error: "+text)
	}
	if try != "" {
		fmt.Fprintln(w, "Try: "+try)
	}
	return status
}
