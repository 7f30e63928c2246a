package spool

import "runtime/debug"

// Guard calls fn, which uses a bbolt database, and returns its error. If a page of the file is
// damaged, bbolt panics. If the file became shorter, reading its mapped memory causes a fault. In
// both cases Guard calls damaged with the cause and returns the result.
func Guard(fn func() error, damaged func(cause any) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = damaged(cause)
		}
	}()
	return fn()
}
