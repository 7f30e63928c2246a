package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// invocation returns the words by which a shell starts this program again from the same directory:
// arg0 as the user typed it, or "go run PACKAGE" if the go command built the program only for this
// run.
func invocation(arg0 string) string {
	file, err := os.Executable()
	if err != nil || !temporary(file) {
		return shellWord(arg0)
	}
	const here = "./cmd/acapcrawl"
	if _, err := os.Stat(filepath.Join(here, "main.go")); err == nil {
		return "go run " + here
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" {
		return "go run " + info.Path
	}
	return shellWord(arg0)
}

// temporary reports whether "go run" built the program: its file is then in a directory go-build…
// or in the cache of the go command.
func temporary(file string) bool {
	if cache := os.Getenv("GOCACHE"); cache != "" && strings.HasPrefix(file, cache+string(filepath.Separator)) {
		return true
	}
	for dir := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(file)), "/") {
		if strings.HasPrefix(dir, "go-build") {
			return true
		}
	}
	return false
}

// called returns the name by which suggested commands call this program.
func (c *Command) called() string {
	if c.Name == "" {
		return "acapcrawl"
	}
	return c.Name
}

// shellWord quotes word for a POSIX shell if the shell would not take it literally.
func shellWord(word string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-+:@%,=", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
