package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// brittle is a context on which the decision code panics.
type brittle struct{ context.Context }

func (brittle) Done() <-chan struct{} { panic("sixteen bits") }

// If the program panics while it decides a line, the answer to this line is an error, and the other
// lines are answered.
func TestDecideDefect(t *testing.T) {
	var out, said bytes.Buffer
	c := Command{Stdout: &out, Stderr: &said}
	lines := `{"id":"a","web":{},"url":"http://example.com/"}` + "\n" + `{"id":"b"}` + "\n"
	tally, err := c.runDecide(brittle{t.Context()}, strings.NewReader(lines), "1.1")
	if err != nil || tally != (decided{malformed: 1, broken: 1}) {
		t.Fatalf("%+v, %v", tally, err)
	}
	answers := json.NewDecoder(&out)
	for _, want := range []malformedCase{{"a", "a defect of this program"}, {"b", "the case is malformed"}} {
		var got malformedCase
		if err := answers.Decode(&got); err != nil || got.ID != want.ID || !strings.HasPrefix(got.Error, want.Error) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	if !strings.Contains(said.String(), "sixteen bits") || !strings.Contains(said.String(), "goroutine") {
		t.Errorf("the log holds no stack: %s", said.String())
	}
}
