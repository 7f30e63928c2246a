package main

import (
	"strings"
	"testing"
)

func TestWrapped(t *testing.T) {
	words := strings.Fields(strings.Repeat("present-original ", 12))
	got := wrapped(words)
	for _, line := range strings.Split(got, "\n") {
		if len(line) > 92 || strings.HasSuffix(line, " ") {
			t.Errorf("%q", line)
		}
	}
	if strings.Join(strings.Fields(got), " ") != strings.Join(words, ", ") {
		t.Errorf("%q", got)
	}
}
