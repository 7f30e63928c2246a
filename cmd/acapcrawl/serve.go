package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (c *Command) serveVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Take action requests of publishers over HTTP, and do what they and robots.txt ask for",
		Long: `Take action requests of publishers over HTTP (POST /v1/requests with a token that actions credentials add gives), execute them, and
keep an eye on robots.txt of the sites of which anything is held, as watch does. /healthz and /metrics answer, too. Beside it crawls and
all other verbs can run.`,
		Example: `  acapcrawl serve
  acapcrawl serve --listen 127.0.0.1:8080
  curl http://127.0.0.1:8080/healthz`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	setting(flags, "listen")
	visiting(flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		flags := slices.DeleteFunc(given(cmd), func(f string) bool { return strings.HasPrefix(f, "--listen=") })
		return c.runServe(cmd.Context(), cfg, flags)
	}
	return cmd
}
