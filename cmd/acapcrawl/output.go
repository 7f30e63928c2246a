package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/defect"
)

// results is standard output. It remembers the first error, since a result that was not written is a failure even where
// nobody looks.
type results struct {
	w   io.Writer
	err error
}

func (r *results) Write(p []byte) (int, error) {
	n, err := r.w.Write(p)
	if err != nil && r.err == nil {
		r.err = err
	}
	return n, err
}

func (r *results) fault() error {
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("the results could not be written: %w", r.err)
}

// terminal reports whether results go to one. Those of a guest go to its own process, which asks before it is one.
func (r *results) terminal() bool {
	f, ok := r.w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// printJSON prints v as one line of JSON.
func (c *Command) printJSON(v any) error {
	e := json.NewEncoder(c.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// jsonArray prints an array as its values come, a line each. What ends early is no JSON.
type jsonArray struct {
	w    io.Writer
	some bool
}

func (a *jsonArray) add(v any) error {
	before := "[\n"
	if a.some {
		before = ",\n"
	}
	a.some = true
	var text bytes.Buffer
	text.WriteString(before)
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := a.w.Write(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	return err
}

func (a *jsonArray) end() error {
	text := "[]\n"
	if a.some {
		text = "\n]\n"
	}
	_, err := io.WriteString(a.w, text)
	return err
}

// orNothing prints none, what a verb says of nothing, where err says that the data directory holds nothing yet, for who reads JSON; err
// stays what it is.
func (c *Command) orNothing(asJSON bool, none any, err error) error {
	if _, is := errors.AsType[*nothingYet](err); is && asJSON {
		return errors.Join(c.printJSON(none), err)
	}
	return err
}

// defects returns what logs a panic that was caught, with its stack.
func defects(log *slog.Logger) func(*defect.Error) {
	return func(e *defect.Error) { log.Error(e.Error(), "stack", string(e.Stack)) }
}

// logger writes to w, from the configured level up.
func logger(w io.Writer, cfg *config.Config) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: cfg.LogLevel}))
}
