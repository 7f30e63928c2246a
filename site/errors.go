package site

import (
	"errors"
	"fmt"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
)

var (
	// ErrInUse means that another process has opened the data directory.
	ErrInUse = errors.New("the data directory is in use by another process")
	// ErrDamagedIndex means that the index cannot be read. ClearDamagedIndex removes the index, and
	// Open then builds the index again from the stored copies.
	ErrDamagedIndex = errors.New("the index is damaged")
	// ErrDamaged means that the archive or the ledger cannot be read. Nothing was changed; the user
	// can restore a backup.
	ErrDamaged = errors.New("the data directory is damaged")
	// ErrNothing means that there is nothing to export.
	ErrNothing = errors.New("nothing is archived that could be exported")
)

// EmptyError means that no crawl or import has stored anything in the directory.
type EmptyError struct{ Dir string }

func (e *EmptyError) Error() string {
	return fmt.Sprintf("Nothing is archived in %s yet: run acapcrawl crawl first.", e.Dir)
}

// UsageError means that a setting or an argument cannot be used. Try says what the user can do; it
// may be empty.
type UsageError struct {
	Err error
	Try string
}

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// usageError returns a *UsageError with a text formatted as by fmt.Errorf.
func usageError(try, format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...), try}
}

// FailedError means that an operation failed. Try says what the user can do.
type FailedError struct {
	Err error
	Try string
}

func (e *FailedError) Error() string { return e.Err.Error() }
func (e *FailedError) Unwrap() error { return e.Err }

// RefusedError means that a policy refuses the operation. Its text names the line that decided.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// NotExecutedError means that a request is recorded in the ledger but could not be executed
// completely. The next Crawl or RunRequests executes the rest.
type NotExecutedError struct {
	ID  uint64
	Err error
}

func (e *NotExecutedError) Error() string {
	return fmt.Sprintf("request %d is recorded; the next crawl or actions run completes it: %v", e.ID, e.Err)
}
func (e *NotExecutedError) Unwrap() error { return e.Err }

// classify wraps errors about the files of a data directory in the error that tells their kind:
// ErrInUse, ErrDamaged or ErrDamagedIndex.
func classify(err error) error {
	if wrong := wrongStore(err); wrong != nil {
		return wrong
	}
	var kind error
	switch {
	case errors.Is(err, archive.ErrLocked), errors.Is(err, index.ErrLocked), errors.Is(err, actions.ErrLocked):
		kind = ErrInUse
	case errors.Is(err, index.ErrCorrupt):
		kind = ErrDamagedIndex
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, actions.ErrDamaged):
		kind = ErrDamaged
	default:
		return err
	}
	return &directoryError{kind, err}
}

// directoryError is an error about the files of a data directory. Its text is the text of cause.
type directoryError struct{ kind, cause error }

func (e *directoryError) Error() string        { return e.cause.Error() }
func (e *directoryError) Is(target error) bool { return target == e.kind }
func (e *directoryError) Unwrap() error        { return e.cause }
