// Package growth checks in tests that the time of a function grows in proportion to its input.
package growth

import (
	"strings"
	"testing"
	"time"
)

const (
	// the text is this many times longer than the part of it that is measured for comparison
	share = 8
	// the whole text may take at most this many times as long as the part; less than the square of
	// share
	most    = 40
	least   = 100 * time.Microsecond // if the part takes less time than this, this time is used instead
	patient = 2 * time.Minute
)

// Linear fails the test if do takes much more than eight times as long for text as for its first
// eighth. The first eighth is cut after its last line break, if it has one. Other work on the
// machine makes single runs slow, never fast. So Linear repeats the runs for up to two minutes and
// compares the shortest times.
func Linear(t testing.TB, name, text string, do func(string)) {
	t.Helper()
	part := text[:len(text)/share]
	if i := strings.LastIndexByte(part, '\n'); i > 0 {
		part = part[:i+1]
	}
	small, large := time.Duration(1<<62), time.Duration(1<<62)
	for begun := time.Now(); ; {
		small, large = min(small, took(do, part)), min(large, took(do, text))
		if large < most*max(small, least) {
			return
		}
		if time.Since(begun) > patient {
			t.Errorf("%s: %d bytes take %s, %d bytes %s", name, len(part), small, len(text), large)
			return
		}
	}
}

func took(do func(string), text string) time.Duration {
	start := time.Now()
	do(text)
	return time.Since(start)
}
