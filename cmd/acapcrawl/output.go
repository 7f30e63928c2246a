package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/acapcrawl/acapcrawl/config"
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

// printJSON prints v as one line of JSON.
func (c *Command) printJSON(v any) error {
	e := json.NewEncoder(c.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// orNothing prints an empty list where err says that there is nothing to list, for who reads JSON; err stays what it is.
func (c *Command) orNothing(asJSON bool, err error) error {
	var f *fault
	if asJSON && errors.As(err, &f) && f.status == statusNothing {
		return errors.Join(c.printJSON([]struct{}{}), err)
	}
	return err
}

// logger writes to w, from the configured level up.
func logger(w io.Writer, cfg *config.Config) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: cfg.LogLevel}))
}
