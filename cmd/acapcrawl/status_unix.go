//go:build unix

package main

import (
	"os"
	"syscall"
)

// statusSignals ask a crawl for its status.
var statusSignals = []os.Signal{syscall.SIGUSR1}
