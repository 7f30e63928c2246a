package spool

import "runtime/debug"

// Guard calls fn, which uses a bbolt database, and returns its error. bbolt panics when a page of
// the file is not what it should be, and a file that became shorter faults in its mapped memory:
// then Guard returns what damaged makes of that.
func Guard(fn func() error, damaged func(cause any) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = damaged(cause)
		}
	}()
	return fn()
}
