package main

import (
	"time"

	"github.com/spf13/cobra"
)

// credentialsRequest holds the arguments of the verbs of actions credentials that are not settings.
type credentialsRequest struct {
	Name    string
	Origins []string
	Expires time.Duration // from now; 0: unchanged, or never
	Grace   time.Duration
	JSON    bool
}

func (c *Command) credentialsVerb() *cobra.Command {
	return c.group("credentials", "Manage the credentials of publishers for serve",
		c.credentialsAddVerb(), c.credentialsListVerb(), c.credentialsRotateVerb(), c.credentialsRevokeVerb())
}

func (c *Command) credentialsAddVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add ORIGIN…",
		Short: "Create a credential for origins of a publisher, and print its token",
		Long: `Create a credential for origins of a publisher, and print its token. The token is printed only once and cannot be recovered. An origin is
scheme, host and port, for example https://example.com.`,
		Example: `  acapcrawl actions credentials add --name newsdesk https://example.com https://www.example.com`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	name := flags.String("name", "", "name the credential `NAME` in the ledger")
	expires := flags.Duration("expires", 0, "expire after `DURATION`, for example 2160h; default: valid until it is revoked")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := credentialsRequest{Name: *name, Expires: *expires, JSON: out.JSON()}
		switch {
		case r.Name == "":
			return misuse("--name newsdesk", "%s needs a name", cmd.CommandPath())
		case len(args) == 0:
			return misuse(cmd.CommandPath()+" --name "+r.Name+" https://example.com", "%s takes the origins of the credential", cmd.CommandPath())
		case r.Expires < 0:
			return misuse("--expires 2160h", "--expires: %s is negative", r.Expires)
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
	cmd := &cobra.Command{Use: "ls", Short: "List current and former credentials, without tokens", Args: noArgs}
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
		Short:   "Replace the token of a credential, and print the new one",
		Example: `  acapcrawl actions credentials rotate newsdesk --grace 24h`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	grace := flags.Duration("grace", 24*time.Hour, "accept the old token for `DURATION`; 0: end it at once")
	expires := flags.Duration("expires", 0, "expire after `DURATION`; default: unchanged")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := credentialsRequest{Grace: *grace, Expires: *expires, JSON: out.JSON()}
		var err error
		if r.Name, err = credentialArg(cmd, args); err != nil {
			return err
		}
		if r.Grace < 0 || r.Expires < 0 {
			return misuse("--grace 24h", "--grace and --expires must not be negative")
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
		Short:   "Revoke a credential; requests made with it stay in force",
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

// credentialArg returns the only argument, the name of a credential.
func credentialArg(cmd *cobra.Command, args []string) (string, error) {
	if len(args) != 1 {
		return "", misuse("acapcrawl actions credentials ls", "%s takes the name of one credential", cmd.CommandPath())
	}
	return args[0], nil
}
