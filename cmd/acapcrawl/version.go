package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/site"
)

// build is what the verb version prints.
type build struct {
	Version        string   `json:"version"`
	Commit         string   `json:"commit"`
	Module         string   `json:"module,omitempty"` // version of the module, if go install made the program
	Modified       bool     `json:"modified"`         // built from a work tree with uncommitted changes
	Go             string   `json:"go"`
	Specifications []string `json:"specifications"`
}

func (c *Command) versionVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print version, commit and supported specifications", Args: noArgs}
	out := jsonFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if out.JSON() {
			return c.printJSON(thisBuild())
		}
		return c.printVersion()
	}
	return cmd
}

// printVersion prints version, commit and specifications in words.
func (c *Command) printVersion() error {
	b := thisBuild()
	fmt.Fprintf(c.Stdout, "acapcrawl %s\n%s\n", b, strings.Join(b.Specifications, "\n"))
	return nil
}

// String returns version, commit and Go version in words.
func (b build) String() string {
	if b.Module != "" {
		return fmt.Sprintf("%s (module %s, %s)", b.Version, b.Module, b.Go)
	}
	changed := ""
	if b.Modified {
		changed = ", changed since"
	}
	return fmt.Sprintf("%s (commit %s%s, %s)", b.Version, b.Commit, changed, b.Go)
}

const unknownValue = "unknown"

// thisBuild returns the version data that the Go toolchain wrote into this program; missing values
// are unknownValue.
func thisBuild() build {
	b := build{Version: site.Version, Commit: unknownValue, Go: unknownValue, Specifications: site.Specifications()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if b.Commit == unknownValue && strings.HasPrefix(info.Main.Version, "v") {
		b.Module = info.Main.Version
	}
	return b
}
