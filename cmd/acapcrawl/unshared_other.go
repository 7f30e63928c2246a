//go:build !unix

package main

import "os"

// unshared calls fn, which makes a file that must never be open to other users; the directory sees
// to that here.
func unshared(fn func()) { fn() }

// onlyOurs reports whether a file exists; the directory keeps others out here.
func onlyOurs(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
