package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (c *Command) serveVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Accept publishers' requests over HTTP, and execute them",
		Long: `Accept publishers' requests over HTTP (POST /v1/requests with a token from actions credentials add), execute them, and watch the
robots.txt of all archived sites like acapcrawl watch. /healthz and /metrics are served only at serve.admin_listen. Crawls and all other
verbs can run at the same time.`,
		Example: `  acapcrawl serve
  acapcrawl serve --listen 127.0.0.1:8080
  ACAPCRAWL_SERVE_ADMIN_LISTEN=127.0.0.1:8081 acapcrawl serve`,
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
