//go:build unix

package main

import (
	"os"
	"syscall"
)

// statusSignals are the signals that make a crawl print its status.
var statusSignals = []os.Signal{syscall.SIGUSR1}

// reloadSignals are the signals that make watch read the configuration file.
var reloadSignals = []os.Signal{syscall.SIGHUP}
