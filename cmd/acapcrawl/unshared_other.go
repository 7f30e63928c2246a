//go:build !unix

package main

// unshared calls fn, which makes a file that must never be open to other users; the directory sees to that here.
func unshared(fn func()) { fn() }
