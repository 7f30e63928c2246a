package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/acapcrawl/acapcrawl/conformance"
	"github.com/acapcrawl/acapcrawl/defect"
	"github.com/acapcrawl/acapcrawl/display"
)

// maxCase is how long a line of cases may be, in bytes.
const maxCase = 16 << 20

// decided counts the lines that have no answer: those that are no case, and those on which this
// program panics.
type decided struct{ malformed, broken int }

// runDecide answers every line of in on standard output, those that have no answer with an error.
// Cases that name no dialect are of the one given.
func (c *Command) runDecide(ctx context.Context, in io.Reader, dialect string) (tally decided, err error) {
	lines := bufio.NewReaderSize(in, 1<<16)
	out := bufio.NewWriter(c.Stdout)
	defer out.Flush()
	enc := display.Encoder(out)
	for {
		line, err := readLine(lines)
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
		if len(bytes.TrimSpace(line)) > 0 || errors.Is(err, errLong) {
			answer, bad := c.decideLine(ctx, line, dialect, err)
			if broken, is := errors.AsType[*defect.Error](bad); is {
				tally.broken++
				answer = malformedCase{ID: caseID(line), Error: broken.Error()}
			} else if bad != nil {
				tally.malformed++
				answer = malformedCase{ID: caseID(line), Error: bad.Error()}
			}
			if err := enc.Encode(answer); err != nil {
				return tally, err
			}
			if lines.Buffered() == 0 {
				out.Flush() // who asks line by line is answered line by line
			}
		}
		switch {
		case ctx.Err() != nil:
			return tally, ctx.Err()
		case errors.Is(err, io.EOF):
			return tally, nil
		case err != nil && !errors.Is(err, errLong):
			return tally, fmt.Errorf("the cases could not be read: %w", err)
		}
	}
}

// malformedCase is the answer to a line that is no case.
type malformedCase struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

var errLong = fmt.Errorf("the case is longer than %d bytes", maxCase)

// readLine reads one line; of one that is too long it gives the beginning and reads on to its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxCase+1 {
			long = true
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return line, errLong
		}
		return line, err
	}
}

func (c *Command) decideLine(ctx context.Context, line []byte, dialect string, readErr error) (answer any, err error) {
	defer defect.Catch(&err, "the case", func(e *defect.Error) { fmt.Fprintf(c.Stderr, "Error: %v\n%s", e, e.Stack) })
	if errors.Is(readErr, errLong) {
		return nil, errLong
	}
	cs, err := conformance.ParseCase(line)
	if err != nil {
		return nil, err
	}
	if cs.Dialect == "" {
		cs.Dialect = dialect
	}
	return conformance.Decide(ctx, cs)
}

// caseID finds the id of a malformed case as far as it can be read.
func caseID(line []byte) string {
	var c struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(line, &c) == nil {
		return c.ID
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	for depth := 0; ; {
		t, err := dec.Token()
		if err != nil {
			return ""
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		case "id":
			if depth == 1 {
				if id, err := dec.Token(); err == nil {
					if s, ok := id.(string); ok {
						return s
					}
				}
				return ""
			}
		}
	}
}
