package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/display"
)

// The exit statuses.
const (
	statusDone    = 0
	statusNothing = 1 // findings, violations or nothing found
	statusUsage   = 2 // wrong usage or configuration
	statusRefused = 3 // refused by policy
	statusFailed  = 4
	statusAtOnce  = 130 // a second interrupt, as shells count it
)

// fault is an error with the status that the process ends with, and what to try instead.
type fault struct {
	status int
	err    error
	try    string
	reason string // of unshown; may be empty
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// misuse is a fault of the command line; try may be empty.
func misuse(try, format string, args ...any) error {
	return &fault{status: statusUsage, err: fmt.Errorf(format, args...), try: try}
}

// refusal is a use that policy does not permit, where err is not an *acap.Refused already.
func refusal(err error) error { return &fault{status: statusRefused, err: err} }

// failure is an error with something to try.
func failure(try string, err error) error { return &fault{status: statusFailed, err: err, try: try} }

// nothing is no error: there is nothing to show, or there are findings. The sentence says so; it may be empty.
func nothing(sentence string) error {
	return &fault{status: statusNothing, err: errors.New(sentence)}
}

// report prints err, a sentence for each error that it joins, and returns the exit status that it stands for.
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
