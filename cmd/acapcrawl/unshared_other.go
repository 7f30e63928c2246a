//go:build !unix

package main

import "os"

// unshared calls fn, which makes a file that must never be open to other users. On this system, the
// permissions of the directory ensure that.
func unshared(fn func()) { fn() }

// onlyOurs reports whether a file exists. On this system, the permissions of the directory exclude
// other users.
func onlyOurs(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
