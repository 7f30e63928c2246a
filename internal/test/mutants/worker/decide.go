package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/internal/test/mutants/active"
)

// decide answers cases as acapcrawl decide does, while a mutant is active; 0 is the unchanged
// engine.
func decide(mutant int, in io.Reader, out io.Writer) error {
	active.Set(mutant)
	go (&worker{}).watch()
	enc := json.NewEncoder(out)
	for lines := bufio.NewReaderSize(in, 1<<16); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := enc.Encode(answer(line)); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// answer returns the answer to one line, or an object with the error.
func answer(line []byte) any {
	c, err := conformance.ParseCase(line)
	if err != nil {
		return map[string]string{"error": err.Error()}
	}
	a, err := conformance.Decide(context.Background(), c)
	if err != nil {
		return map[string]string{"id": c.ID, "error": err.Error()}
	}
	return a
}
