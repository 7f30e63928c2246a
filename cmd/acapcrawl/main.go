package main

import (
	"context"
	"io"
	"log"
	"os"
)

func main() {
	log.SetOutput(io.Discard) // libraries write there, with what servers sent
	ctx, stop := untilInterrupted(context.Background(), os.Stderr)
	c := Command{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ()}
	status := c.Main(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}
