//go:build unix

package main

import "syscall"

// unshared calls fn, which makes a file that must never be open to other users. What other goroutines make meanwhile is not either.
func unshared(fn func()) {
	defer syscall.Umask(syscall.Umask(0o077))
	fn()
}
