package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/internal/display"
)

// form is the format of a report, for example json, as --format names it.
type form string

// The formats of reports. Each verb supports only some of them.
const (
	textForm   form = "text"
	jsonForm   form = "json"
	sarifForm  form = "sarif"
	junitForm  form = "junit"
	githubForm form = "github"
	htmlForm   form = "html"
)

// output is the format of a report, and the file to which it is written.
type output struct {
	Form form
	File string // name of the output file; "": standard output
}

// reportFlags adds --format, --json and -o to a verb that writes reports. forms are the supported
// formats; the first is the default. The returned output gets its values when the verb runs.
func (c *Command) reportFlags(cmd *cobra.Command, forms ...form) *output {
	o := formatFlags(cmd, forms)
	cmd.Flags().StringVarP(&o.File, "output", "o", "", "write the report to `FILE`")
	checkForm := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := checkForm(cmd, args); err != nil {
			return err
		}
		return c.checkOutput(o, cmd.Flags().Changed("output"))
	}
	return o
}

// jsonFlag adds --format and --json to a verb that prints text or JSON.
func jsonFlag(cmd *cobra.Command) *output { return formatFlags(cmd, []form{textForm, jsonForm}) }

// formatFlags adds --format and --json, which is short for --format json.
func formatFlags(cmd *cobra.Command, forms []form) *output {
	o, list := &output{}, strings.Join(words(forms), ", ")
	name := cmd.Flags().String("format", string(forms[0]), "write the result as `FORM`: "+list)
	cmd.Flags().SetAnnotation("format", wordsOfFlag, words(forms)) // cannot fail: the flag exists
	asJSON := cmd.Flags().Bool("json", false, "short for --format json")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		o.Form = form(*name)
		all := []form{textForm, jsonForm, sarifForm, junitForm, githubForm, htmlForm}
		switch {
		case slices.Contains(forms, o.Form):
		case slices.Contains(all, o.Form):
			return misuse("", "%s cannot write its result as %s: its forms are %s", cmd.CommandPath(), o.Form, list)
		default:
			return unknown("--format", *name, "a form of report", words(forms))
		}
		if *asJSON {
			if cmd.Flags().Changed("format") && o.Form != jsonForm {
				return misuse("", "--json and --format %s contradict each other", o.Form)
			}
			o.Form = jsonForm
		}
		return nil
	}
	return o
}

// JSON reports whether the format is JSON.
func (o *output) JSON() bool { return o.Form == jsonForm }

// checkOutput returns an error if the file of o cannot be written. It is called before the work for
// the report begins, so that no work is lost.
func (c *Command) checkOutput(o *output, given bool) error {
	if o.File == "-" {
		o.File = ""
		return nil
	}
	if !given {
		return nil
	}
	if o.File == "" {
		return misuse("-o FILE", "--output needs the name of a file")
	}
	name := c.path(o.File)
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return misuse("", "the report cannot be written to %s: there is no directory %s", o.File, filepath.Dir(o.File))
	}
	if info, err := os.Stat(name); err == nil && (info.IsDir() || c.owner != nil && !info.Mode().IsRegular()) {
		return misuse("another name with -o", "the report cannot be written to %s: it is not a regular file", o.File)
	}
	return nil
}

// writeReport writes a report to standard output, or to the file of -o. On an error the file stays
// unchanged.
func (c *Command) writeReport(o *output, write func(io.Writer) error) error {
	if o.File == "" {
		return write(c.Stdout)
	}
	var report bytes.Buffer
	text := display.NewText(&report, false)
	if err := write(text); err != nil {
		return err
	}
	if err := text.Flush(); err != nil {
		return err
	}
	if err := replaceFile(c.path(o.File), report.Bytes()); err != nil {
		return failure("another file with -o", fmt.Errorf("the report cannot be written to %s: %w", o.File, bare(err)))
	}
	return nil
}

// replaceFile replaces the content of a file atomically. A symbolic link stays, and a pipe or
// another special file is written to.
func replaceFile(name string, data []byte) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return createFile(name, data)
	case err != nil:
		return err
	case info.Mode().IsRegular():
		return rewrite(name, data)
	}
	return os.WriteFile(name, data, 0o666)
}
