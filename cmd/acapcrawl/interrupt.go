package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// untilInterrupted returns a context that ends with the first interrupt or termination signal, so
// that verbs can stop cleanly. The second signal ends the process at once with statusAtOnce.
func untilInterrupted(parent context.Context, stderr *progress) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
			return
		}
		fmt.Fprintln(stderr, "Stopping; press Ctrl-C once more to stop at once.")
		<-signals
		stderr.Done()
		os.Exit(statusAtOnce)
	}()
	return ctx, cancel
}
