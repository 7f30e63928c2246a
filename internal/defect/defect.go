// Package defect turns panics into errors, so that a page, a request or a line that makes this
// program fail does not stop the work on all others.
package defect

import (
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// Error describes a panic that was caught.
type Error struct {
	At    string // what the program was working on, such as an address
	Value any    // the value of the panic
	Where string // file and line of the statement that failed
	Stack []byte // stack of the goroutine, for the log
}

// Error returns one sentence for the user, without the stack.
func (e *Error) Error() string {
	return fmt.Sprintf("a defect of this program, to be reported with the stack from the log: %s: %v (%s)",
		e.At, e.Value, e.Where)
}

// Catch recovers from a panic of the function that defers it, and sets err to an *Error. It then
// calls log, which may be nil, with the error. The panic http.ErrAbortHandler goes on.
func Catch(err *error, at string, log func(*Error)) {
	value := recover()
	if value == nil {
		return
	}
	if value == http.ErrAbortHandler { // a handler ends the connection on purpose
		panic(value)
	}
	e := &Error{At: at, Value: value, Where: where(), Stack: debug.Stack()}
	if *err = e; log != nil {
		log(e)
	}
}

// where returns the place of the panic: the first function on the stack that is not part of the Go
// runtime.
func where() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}
