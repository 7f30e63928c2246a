//go:build !unix

package main

import "os"

// statusSignals is empty, because this system has no signal to request the status of a crawl.
var statusSignals []os.Signal
