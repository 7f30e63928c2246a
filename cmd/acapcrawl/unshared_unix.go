//go:build unix

package main

import (
	"os"
	"syscall"
)

// unshared calls fn, which makes a file that other users must never be able to open. unshared
// changes the file mode mask of the process during the call, so other users also cannot open files
// that other goroutines make at the same time.
func unshared(fn func()) {
	defer syscall.Umask(syscall.Umask(0o077))
	fn()
}

// onlyOurs reports whether a file or socket belongs to this user. For a file it also checks that
// other users cannot read or write it.
func onlyOurs(name string) bool {
	info, err := os.Lstat(name)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid() &&
		(info.Mode()&os.ModeSocket != 0 || info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0)
}
