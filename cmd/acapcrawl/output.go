package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/site"
)

// results writes to standard output. It makes text safe to print, and stores the first error, so
// that the verb fails even if a caller of Write ignores the error.
type results struct {
	w    io.Writer
	text *display.Writer
	err  error
}

func newResults(w io.Writer, styled bool) *results {
	r := &results{w: w}
	r.text = display.NewText(writerFunc(r.raw), styled)
	return r
}

// Write writes text after it was made safe to print.
func (r *results) Write(p []byte) (int, error) { return r.text.Write(p) }

// raw writes bytes unchanged.
func (r *results) raw(p []byte) (int, error) {
	n, err := r.w.Write(p)
	if err != nil && r.err == nil {
		r.err = err
	}
	return n, err
}

// raw returns standard output for bytes that must not be changed. If standard output is a terminal,
// text is made safe to print nevertheless.
func (c *Command) raw() io.Writer {
	if r, ok := c.Stdout.(*results); ok && !r.terminal() {
		return writerFunc(r.raw)
	}
	return c.Stdout
}

func (r *results) fault() error {
	_ = r.text.Flush() // Flush stores its error in r.err
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("the results could not be written: %w", r.err)
}

// terminal reports whether results are written to a terminal. For a verb that runs for another
// process the result is false; the other process checks its own terminal.
func (r *results) terminal() bool {
	f, ok := r.w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// printJSON prints v as one line of JSON.
func (c *Command) printJSON(v any) error {
	return display.Encoder(c.Stdout).Encode(v)
}

// jsonArray prints a JSON array. Each value is printed on its own line as soon as it is added. The
// output is valid JSON only after end is called.
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
	if err := display.Encoder(&text).Encode(v); err != nil {
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

// orNothing prints the value none as JSON if asJSON is true and err means that the data directory
// is empty. It returns err.
func (c *Command) orNothing(asJSON bool, none any, err error) error {
	if _, is := errors.AsType[*site.EmptyError](err); is && asJSON {
		return errors.Join(c.printJSON(none), err)
	}
	return err
}

// logger returns a logger that writes records of the configured level or higher to w.
func logger(w io.Writer, cfg *config.Config) *slog.Logger {
	o := &slog.HandlerOptions{Level: cfg.LogLevel}
	log := slog.New(slog.NewTextHandler(w, o))
	if cfg.LogFormat == config.LogJSON {
		log = slog.New(slog.NewJSONHandler(w, o))
	}
	if cfg.Job != "" {
		log = log.With("job", cfg.Job)
	}
	return log
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
