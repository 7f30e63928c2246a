package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/view"
	"github.com/acapcrawl/acapcrawl/internal/web"
)

// auditFile is the name of the file in the data directory in which serve records logins and
// changes.
const auditFile = "serve-audit.jsonl"

// The length of the operator's password.
const (
	minPassword = 12  // in characters
	maxPassword = 256 // in bytes
)

// servePasswordVerb returns the verb that hashes a password. It never takes the password from an
// argument, which other users of the machine can see.
func (c *Command) servePasswordVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "password",
		Short: "Read a password from standard input, and print its hash",
		Long: `Read the password of the operator from standard input, one line, and print its hash for the setting
serve.operator_password. With this password, the user operator logs in at /login.`,
		Example: `  acapcrawl serve password < password.txt`,
		Args:    noArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.runServePassword() }
	return cmd
}

func (c *Command) runServePassword() error {
	text, err := io.ReadAll(io.LimitReader(c.Stdin, maxPassword+3))
	if err != nil {
		return fmt.Errorf("the password cannot be read: %w", err)
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	switch {
	case strings.ContainsAny(password, "\r\n"):
		return misuse("", "standard input has more than one line")
	case len(password) > maxPassword || utf8.RuneCountInString(password) < minPassword:
		return misuse("", "the password must have at least %d characters and at most %d bytes", minPassword,
			maxPassword)
	}
	_, err = fmt.Fprintln(c.Stdout, web.HashPassword(password))
	return err
}

// frame returns what makes the pages of the login. It returns an error if the operator could not
// log in because of the settings.
func (c *Command) frame(cfg *config.Config) (*view.Frame, error) {
	if hash := cfg.Serve.OperatorPassword; hash != "" {
		if err := web.CheckHash(hash); err != nil {
			return nil, misuse("acapcrawl serve password", "serve.operator_password: %w", err)
		}
	}
	f, err := view.NewFrame()
	if err != nil {
		return nil, errors.Join(errors.New("the pages of the login cannot be made"), err)
	}
	return f, nil
}
