package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/conformance"
	"github.com/acapcrawl/acapcrawl/defect"
	"github.com/acapcrawl/acapcrawl/display"
)

func (c *Command) decideVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decide [FILE…]",
		Short: "Answer policy questions in JSON Lines, without network access",
		Long: `Read cases as JSON Lines from files or standard input, and print one line of JSON for each. A
case contains a small web, a crawler and a question. The command makes no request and uses neither
configuration nor data directory. It ignores what a crawl would not request: references, substitutes and
required resources at private, loopback and link-local addresses, except on the host of the resource in
question.`,
	}
	dialect := cmd.Flags().String("dialect", config.Dialect11, settingFlags["dialect"].usage+
		"; for cases without dialect")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(config.Dialects(), *dialect) {
			return misuse("", "--dialect: %q is not one of %s", *dialect, strings.Join(config.Dialects(), ", "))
		}
		ins, closeAll, err := c.inputs(args)
		if err != nil {
			return err
		}
		defer closeAll()
		var all decided
		for _, in := range ins {
			n, err := c.runDecide(cmd.Context(), in, *dialect)
			if err != nil {
				return err
			}
			all.malformed, all.broken = all.malformed+n.malformed, all.broken+n.broken
		}
		switch {
		case all.broken > 0:
			return fmt.Errorf("%d cases met a defect of this program: report it with the stacks above",
				all.broken)
		case all.malformed > 0:
			return misuse("", "%d cases could not be read; their answers say why", all.malformed)
		}
		return nil
	}
	return cmd
}

// inputs opens the named files; "-" or no name at all means standard input. All files are opened
// before the first is read, so that a wrong name is reported before any answer is printed.
func (c *Command) inputs(names []string) (ins []io.Reader, closeAll func(), err error) {
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			f.Close()
		}
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if name == "-" {
			ins = append(ins, c.Stdin)
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			closeAll()
			return nil, nil, misuse("", "the cases cannot be read: %w", err)
		}
		files, ins = append(files, f), append(ins, f)
	}
	return ins, closeAll, nil
}

// maxCase is the maximum length in bytes of an input line, which contains one case.
const maxCase = 16 << 20

// decided counts the lines without an answer: malformed cases, and cases on which this program
// panics.
type decided struct{ malformed, broken int }

// runDecide prints an answer or an error for every line of in. dialect is used for the cases that
// name no dialect.
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
				out.Flush() // flush now, because a caller may wait for each answer before it sends the next line
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

// malformedCase is the answer to a malformed line.
type malformedCase struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

var errLong = fmt.Errorf("the case is longer than %d bytes", maxCase)

// readLine reads one line. If the line is too long, it returns the beginning of the line and skips
// the rest.
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
