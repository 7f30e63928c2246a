package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// Oracle answers cases in JSON Lines. It makes no network request.
type Oracle struct {
	Dialect string              // for cases without dialect; "" means "1.1"
	MaxLine int                 // maximum length of a line in bytes; 0: the constant MaxLine
	Defect  func(*defect.Error) // called for each case on which this program panics; may be nil
	// Flush is called after an answer if the next line has not arrived yet, because the caller may wait
	// for each answer before it sends the next case; may be nil.
	Flush func() error
}

// Unanswered counts the lines that Answer could not answer: malformed cases, and cases on which this
// program panics.
type Unanswered struct{ Malformed, Broken int }

// malformedCase is the answer to a line that is not a case.
type malformedCase struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// Answer writes an answer or an error for every line of in that is not blank. It ends when in ends or when
// ctx ends. The error is that of ctx, in or out.
func (o Oracle) Answer(ctx context.Context, in io.Reader, out io.Writer) (n Unanswered, err error) {
	if o.MaxLine == 0 {
		o.MaxLine = MaxLine
	}
	lines, enc := bufio.NewReaderSize(in, 1<<16), display.Encoder(out)
	for {
		line, readErr := o.readLine(lines)
		_, long := errors.AsType[*longLine](readErr)
		if readErr != nil && !long && !errors.Is(readErr, io.EOF) {
			return n, fmt.Errorf("the cases could not be read: %w", readErr)
		}
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
		if len(bytes.TrimSpace(line)) > 0 || long {
			answer, bad := o.answerLine(ctx, line, readErr)
			if _, broken := errors.AsType[*defect.Error](bad); broken {
				n.Broken++
			} else if bad != nil {
				n.Malformed++
			}
			if bad != nil {
				answer = malformedCase{ID: caseID(line), Error: bad.Error()}
			}
			if err := enc.Encode(answer); err != nil {
				return n, err
			}
			if lines.Buffered() == 0 && o.Flush != nil {
				if err := o.Flush(); err != nil {
					return n, err
				}
			}
		}
		switch {
		case ctx.Err() != nil:
			return n, ctx.Err()
		case errors.Is(readErr, io.EOF):
			return n, nil
		}
	}
}

// longLine is the error for a line that is longer than most bytes.
type longLine struct{ most int }

func (e *longLine) Error() string { return fmt.Sprintf("the case is longer than %d bytes", e.most) }

// readLine reads one line. If the line is too long, it returns the beginning of the line and skips
// the rest; the error is then a *longLine.
func (o Oracle) readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > o.MaxLine+1 {
			long = true
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return line, &longLine{o.MaxLine}
		}
		return line, err
	}
}

func (o Oracle) answerLine(ctx context.Context, line []byte, readErr error) (answer any, err error) {
	defer defect.Catch(&err, "the case", o.Defect)
	if long, is := errors.AsType[*longLine](readErr); is {
		return nil, long
	}
	c, err := ParseCase(line)
	if err != nil {
		return nil, err
	}
	if c.Dialect == "" {
		c.Dialect = o.Dialect
	}
	return Decide(ctx, c)
}

// caseID returns the id in a malformed case, or "" if the id cannot be read.
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
