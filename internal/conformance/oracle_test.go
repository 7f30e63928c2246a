package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/defect"
)

// brittle is a context on which the decision code panics.
type brittle struct{ context.Context }

func (brittle) Done() <-chan struct{} { panic("sixteen bits") }

// If the program panics while it decides a line, the answer to this line is an error, and the other
// lines are answered.
func TestOracleDefect(t *testing.T) {
	var out bytes.Buffer
	var met []*defect.Error
	o := Oracle{Defect: func(e *defect.Error) { met = append(met, e) }}
	lines := `{"id":"a","web":{},"url":"http://example.com/"}` + "\n" + `{"id":"b"}` + "\n"
	n, err := o.Answer(brittle{t.Context()}, strings.NewReader(lines), &out)
	if err != nil || n != (Unanswered{Malformed: 1, Broken: 1}) {
		t.Fatalf("%+v, %v", n, err)
	}
	answers := json.NewDecoder(&out)
	for _, want := range []malformedCase{{"a", "a defect of this program"}, {"b", "the case is malformed"}} {
		var got malformedCase
		if err := answers.Decode(&got); err != nil || got.ID != want.ID || !strings.HasPrefix(got.Error, want.Error) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	if len(met) != 1 || met[0].Value != "sixteen bits" || len(met[0].Stack) == 0 {
		t.Errorf("%+v", met)
	}
}

// TestOracleLong checks that a line that is too long is answered with an error, and the next one normally,
// and that answers are flushed before the next line is read.
func TestOracleLong(t *testing.T) {
	var out bytes.Buffer
	flushed := 0
	o := Oracle{MaxLine: 100, Flush: func() error { flushed++; return nil }}
	lines := `{"id":"a","web":{},"url":"http://example.com/` + strings.Repeat("x", 100) + `"}` + "\n\n" +
		`{"id":"b","web":{},"url":"http://example.com/"}`
	n, err := o.Answer(t.Context(), strings.NewReader(lines), &out)
	if err != nil || n != (Unanswered{Malformed: 1}) || flushed == 0 {
		t.Fatalf("%+v, %v, flushed %d times", n, err, flushed)
	}
	if !strings.HasPrefix(out.String(), `{"id":"","error":"the case is longer than 100 bytes"}`+"\n"+
		`{"id":"b","decisions":`) {
		t.Error(out.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Answer(ctx, strings.NewReader("\n\n"), &out); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
