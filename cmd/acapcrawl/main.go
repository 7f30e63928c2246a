package main

import (
	"context"
	"io"
	"log"
	"os"
	"runtime"

	"golang.org/x/term"

	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

func main() { run(nil) }

// run runs the program and exits. clock is the clock of a node of a cluster; nil: that of the machine.
func run(clock cluster.Clock) {
	runtime.MemProfileRate = 0 // the server of NATS links net/http/pprof, so Go would record a sample of all allocations
	log.SetOutput(io.Discard)  // some libraries write text from servers to the standard logger
	stderr := newProgress(os.Stderr)
	ctx, stop := untilInterrupted(context.Background(), stderr)
	c := Command{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: stderr, Env: os.Environ(), clock: clock}
	c.Name = invocation(os.Args[0])
	c.Bold = term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
	status := c.Main(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}
