package main

import "testing"

// A program that go install made has no commit, and names the version of its module instead.
func TestBuildInWords(t *testing.T) {
	for want, b := range map[string]build{
		"0.1.0 (commit 18abcd0, go1.26.8)": {Version: "0.1.0", Commit: "18abcd0", Go: "go1.26.8"},
		"0.1.0 (commit 18abcd0, changed since, go1.26.8)": {Version: "0.1.0", Commit: "18abcd0", Modified: true,
			Go: "go1.26.8"},
		"0.1.0 (module v0.1.1-0.2026-18abcd0, go1.26.8)": {Version: "0.1.0", Commit: unknownValue,
			Module: "v0.1.1-0.2026-18abcd0", Go: "go1.26.8"},
	} {
		if got := b.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
