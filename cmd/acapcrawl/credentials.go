package main

import (
	"time"

	"github.com/spf13/cobra"
)

// credentialsRequest is what a verb of actions credentials was asked for, beside the configuration.
type credentialsRequest struct {
	Name    string
	Origins []string
	Expires time.Duration // from now; 0: as it is, or never
	Grace   time.Duration
	JSON    bool
}

func (c *Command) credentialsVerb() *cobra.Command {
	return c.group("credentials", "Let publishers ask through serve: who, for which origins, and until when",
		c.credentialsAddVerb(), c.credentialsListVerb(), c.credentialsRotateVerb(), c.credentialsRevokeVerb())
}

func (c *Command) credentialsAddVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add ORIGIN…",
		Short: "Make a credential for origins of a publisher, and print its token",
		Long: `Make a credential for origins of a publisher, and print its token. The token is printed this once: what is kept does not give it
back. Scheme, host and port of an origin count, as in https://example.com.`,
		Example: `  acapcrawl actions credentials add --name newsdesk https://example.com https://www.example.com`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	name := flags.String("name", "", "call it `NAME`, by which the ledger names it")
	expires := flags.Duration("expires", 0, "let it end after `DURATION`, as in 2160h; without, it is good until it is revoked")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := credentialsRequest{Name: *name, Expires: *expires, JSON: out.JSON()}
		switch {
		case r.Name == "":
			return misuse("--name newsdesk", "%s needs a name", cmd.CommandPath())
		case len(args) == 0:
			return misuse(cmd.CommandPath()+" --name "+r.Name+" https://example.com", "%s takes the origins that the credential is for", cmd.CommandPath())
		case r.Expires < 0:
			return misuse("--expires 2160h", "--expires: %s is no time to come", r.Expires)
		}
		for _, arg := range args {
			origin, err := originArg(arg)
			if err != nil {
				return err
			}
			r.Origins = append(r.Origins, origin)
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runCredentialsAdd(cfg, r)
	}
	return cmd
}

func (c *Command) credentialsListVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "ls", Short: "List the credentials there are and were; none of their tokens is known", Args: noArgs}
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runCredentialsList(cfg, out.JSON())
	}
	return cmd
}

func (c *Command) credentialsRotateVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rotate NAME",
		Short:   "Give a credential a new token, and print it",
		Example: `  acapcrawl actions credentials rotate newsdesk --grace 24h`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	grace := flags.Duration("grace", 24*time.Hour, "let the token that it had be good for `DURATION`; 0 ends it at once")
	expires := flags.Duration("expires", 0, "let the credential end after `DURATION`; without, that stays as it is")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := credentialsRequest{Grace: *grace, Expires: *expires, JSON: out.JSON()}
		var err error
		if r.Name, err = credentialArg(cmd, args); err != nil {
			return err
		}
		if r.Grace < 0 || r.Expires < 0 {
			return misuse("--grace 24h", "--grace and --expires are times to come")
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runCredentialsRotate(cfg, r)
	}
	return cmd
}

func (c *Command) credentialsRevokeVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "revoke NAME",
		Short:   "End a credential at once, for good; what was asked for with it stays",
		Example: `  acapcrawl actions credentials revoke newsdesk`,
	}
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, err := credentialArg(cmd, args)
		if err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runCredentialsRevoke(cfg, name, out.JSON())
	}
	return cmd
}

// credentialArg takes the only argument, the name of a credential.
func credentialArg(cmd *cobra.Command, args []string) (string, error) {
	if len(args) != 1 {
		return "", misuse("acapcrawl actions credentials ls", "%s takes the name of one credential", cmd.CommandPath())
	}
	return args[0], nil
}
