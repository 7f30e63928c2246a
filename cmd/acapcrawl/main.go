package main

import (
	"context"
	"os"
)

func main() {
	ctx, stop := untilInterrupted(context.Background(), os.Stderr)
	c := Command{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ()}
	status := c.Main(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}
