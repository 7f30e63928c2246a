//go:build !unix

package main

import "os"

// statusSignals is empty, because this system has no signal to request the status of a crawl.
var statusSignals []os.Signal

// reloadSignals is empty, because this system has no signal to make watch read the configuration file.
var reloadSignals []os.Signal
