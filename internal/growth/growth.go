// Package growth checks in tests that work grows in proportion to its input.
package growth

import (
	"strings"
	"testing"
	"time"
)

const (
	share   = 8                      // the whole text is this many times as long as the part that it is compared with
	most    = 40                     // and may take this many times as long: less than the square of share
	least   = 100 * time.Microsecond // a part that takes less counts as this
	patient = 2 * time.Minute
)

// Linear fails the test if do takes much more than eight times as long for text as for its first
// eighth, which ends with a line if it can. Other work on the machine makes single attempts slow,
// never fast, so the shortest times count, and the test fails only if no attempt of two minutes is
// good.
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
