//go:build !unix

package main

import "os"

// statusSignals is empty: nothing can ask a crawl for its status here.
var statusSignals []os.Signal
