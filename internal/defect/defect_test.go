package defect

import (
	"errors"
	"strings"
	"testing"
)

func TestCatch(t *testing.T) {
	var told *Error
	broken := func(list []int) (n int, err error) {
		defer Catch(&err, "http://example.com/", func(e *Error) { told = e })
		return list[3], nil
	}
	_, err := broken(nil)
	var e *Error
	if !errors.As(err, &e) || e != told || !strings.HasPrefix(e.Where, "defect_test.go:") ||
		!strings.Contains(string(e.Stack), "TestCatch") {
		t.Fatalf("%v", err)
	}
	for _, part := range []string{"defect", "http://example.com/", "index out of range", e.Where} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	if n, err := broken([]int{1, 2, 3, 4}); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
