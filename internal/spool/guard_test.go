package spool

import (
	"errors"
	"fmt"
	"testing"
)

func TestGuard(t *testing.T) {
	damaged := func(cause any) error { return fmt.Errorf("damaged: %v", cause) }
	want := errors.New("an error")
	if err := Guard(func() error { return want }, damaged); err != want {
		t.Error(err)
	}
	if err := Guard(func() error { panic("page 7") }, damaged); err == nil || err.Error() != "damaged: page 7" {
		t.Error(err)
	}
}
