package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// hang is the main function of a program that handles the first interrupt but does not end.
func hang() {
	ctx, _ := untilInterrupted(context.Background(), newProgress(os.Stderr))
	fmt.Println("running")
	<-ctx.Done()
	fmt.Println("told to stop")
	select {}
}

// The first interrupt cancels the context, and the second interrupt ends the process.
func TestInterrupts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	cmd := exec.CommandContext(t.Context(), "hang")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for _, want := range []string{"running", "told to stop"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("heard %q, want %q", lines.Text(), want)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != statusAtOnce {
		t.Errorf("ended with %v, want status %d", err, statusAtOnce)
	}
	if !strings.Contains(stderr.String(), "Ctrl-C once more") {
		t.Errorf("said %q", stderr.String())
	}
}
