//go:build unix

package main

import (
	"os"
	"syscall"
)

// unshared calls fn, which makes a file that must never be open to other users. It changes the
// process's file mode mask, so files that other goroutines make at the same time are closed to
// other users too.
func unshared(fn func()) {
	defer syscall.Umask(syscall.Umask(0o077))
	fn()
}

// onlyOurs reports whether a file or socket belongs to this user, and a file cannot be read or
// written by others.
func onlyOurs(name string) bool {
	info, err := os.Lstat(name)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid() &&
		(info.Mode()&os.ModeSocket != 0 || info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0)
}
