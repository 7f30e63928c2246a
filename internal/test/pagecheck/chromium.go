package pagecheck

import (
	"os"
	"os/exec"
	"testing"
)

// FindChromium returns the path of Chromium: ACAPCRAWL_CHROMIUM, otherwise a program of PATH, otherwise "". sandbox
// reports whether its sandbox works: not for root, and not if ACAPCRAWL_CHROMIUM_SANDBOX is false.
func FindChromium() (program string, sandbox bool) {
	program = os.Getenv("ACAPCRAWL_CHROMIUM")
	if program == "" {
		program, _ = exec.LookPath("chromium")
	}
	return program, os.Geteuid() != 0 && os.Getenv("ACAPCRAWL_CHROMIUM_SANDBOX") != "false"
}

// Chromium returns what FindChromium returns. Without Chromium the test is skipped.
func Chromium(t testing.TB) (program string, sandbox bool) {
	t.Helper()
	if program, sandbox = FindChromium(); program == "" {
		t.Skip("no Chromium is installed, and ACAPCRAWL_CHROMIUM names none")
	}
	return program, sandbox
}
