//go:build !unix

package main

import "os"

// unshared calls fn, which makes a file that other users must never be able to open. On this
// system, the permissions of the directory ensure that.
func unshared(fn func()) { fn() }

// onlyOurs reports whether a file exists. It does not check the owner, because on this system the
// permissions of the directory exclude other users.
func onlyOurs(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
