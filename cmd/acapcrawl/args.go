package main

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
)

// webURL parses an argument that must be an absolute http or https URL. The result has no fragment
// and is otherwise as the user wrote the URL.
func webURL(arg string) (*url.URL, error) {
	u, err := url.Parse(arg)
	if err == nil && u.Scheme == "" || err != nil || u.Opaque != "" {
		guess, e := url.Parse("https://" + arg)
		if e == nil && guess.Hostname() != "" && guess.User == nil && !strings.Contains(arg, "://") {
			return nil, misuse(guess.String(), "%q is not an absolute URL", arg)
		}
		return nil, misuse("", "%q is not an http or https URL", arg)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, misuse("", "%q is not an http or https URL", arg)
	case u.Hostname() == "":
		return nil, misuse("", "%q names no host", arg)
	case u.User != nil:
		return nil, misuse("", "%q holds a user name or password, which would be kept with the pages", u.Redacted())
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, misuse("", "%q has a port that does not exist", arg)
		}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// oneURL parses the only argument of a verb as a URL.
func oneURL(cmd *cobra.Command, args []string) (*url.URL, error) {
	if len(args) != 1 {
		return nil, misuse(cmd.CommandPath()+" https://example.com/", "%s takes one URL", cmd.CommandPath())
	}
	return webURL(args[0])
}

// usage parses the name of a standard usage type or of a newer usage.
func usage(name string) (acap.Usage, error) {
	u := acap.Usage(strings.ToLower(name))
	if !u.Standard() && !u.Newer() {
		return "", misuse("", "--usage: %q is not one of %s", name,
			strings.Join(usageNames(append(acap.Usages(), acap.NewerUsages()...)), ", "))
	}
	return u, nil
}

// noArgs returns an error if there is an argument.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misuse(cmd.CommandPath()+" --help", "%s takes no argument, not %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// path returns the path of a file that the user named on the command line or in the environment. A
// relative name is resolved against the directory in which the user called the verb; "" and "-" are
// returned unchanged.
func (c *Command) path(name string) string {
	if c.dir == "" || name == "" || name == "-" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.dir, name)
}

// bare returns err without the file name that err contains, for messages that already contain the
// name as the user typed it.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// readable returns an error if the verb runs in the process that owns the data directory and name
// is not a regular file: a pipe could block that process, and a device name may mean another file
// there. (Linux has a directory for ordinary files below /dev, /dev/shm.)
func (c *Command) readable(name string) error {
	if c.owner == nil || name == "" || name == "-" {
		return nil
	}
	file := filepath.Clean(c.path(name))
	own := strings.HasPrefix(file, "/dev/") && !strings.HasPrefix(file, "/dev/shm/") ||
		strings.HasPrefix(file, "/proc/")
	if info, err := os.Stat(file); own || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return misuse("", "%s cannot be read by the process that uses the data directory: use - or a regular file",
			name)
	}
	return nil
}
