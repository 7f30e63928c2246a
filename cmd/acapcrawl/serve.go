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
watch robots.txt of the sites of which anything is held, as watch does. /healthz and /metrics are answered at serve.admin_listen alone.
Crawls and all other verbs can run at the same time.`,
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
