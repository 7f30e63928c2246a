package warc

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The expected keys are those that pywb computes.
func TestSURT(t *testing.T) {
	table, err := os.ReadFile("testdata/keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(table)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		var address, want string
		if _, err := fmt.Sscanf(line, "%q %q", &address, &want); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := SURT(address); got != want {
			t.Errorf("%q: %q, pywb %q", address, got, want)
		}
		rows++
	}
	if rows < 240 {
		t.Errorf("the table has %d rows", rows)
	}
}

func FuzzSURT(f *testing.F) {
	for _, seed := range []string{"http://www.quay.example:8080//a/../b%2F?b&a=%26", "http://[::1]:80/", "urn:x",
		"1.2.3:", "http://%E9..x/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		key := SURT(address)
		if again := SURT(address); again != key {
			t.Errorf("%q and %q", key, again)
		}
		if key != address && strings.ContainsAny(key, " \t\r\n\x00") {
			t.Errorf("%q would break a line of the index", key)
		}
	})
}
