package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/policy"
)

// credentialsRequest holds the arguments of the verbs of actions credentials that are not settings.
type credentialsRequest struct {
	Name    string
	Origins []string
	// time until the credential expires; 0: a new credential never expires, an existing credential
	// keeps its expiry
	Expires time.Duration
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
		Short: "Create a credential of a publisher, and print its token",
		Long: `Create a credential for origins of a publisher, and print its token. The token is printed only
once and cannot be recovered. An origin is scheme, host and port, for example https://example.com.`,
		Example: `  acapcrawl actions credentials add --name newsdesk https://example.com https://www.example.com`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	name := flags.String("name", "", "name the credential `NAME` in the ledger")
	expires := flags.Duration("expires", 0, "expire after `DURATION`, for example 2160h; default: valid until it is "+
		"revoked")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := credentialsRequest{Name: *name, Expires: *expires, JSON: out.JSON()}
		switch {
		case r.Name == "":
			return misuse("--name newsdesk", "%s needs a name", cmd.CommandPath())
		case len(args) == 0:
			return misuse(cmd.CommandPath()+" --name "+r.Name+" https://example.com",
				"%s takes the origins of the credential", cmd.CommandPath())
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
	cmd.Flags().SortFlags = false
	clusterFlags(cmd)
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		switch {
		case err != nil:
			return err
		case c.asksNamed(cmd, cfg):
			return c.onEachNode(cmd.Context(), cfg, callOf(cmd, nil), out.JSON())
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

// originArg parses an argument that names an origin, such as https://example.com: a URL without a
// path.
func originArg(arg string) (string, error) {
	u, err := webURL(arg)
	if err != nil {
		return "", err
	}
	key, err := policy.Key(u)
	if err != nil {
		return "", misuse("", "%w", err)
	}
	if u.EscapedPath() != "" && u.EscapedPath() != "/" || u.RawQuery != "" {
		return "", misuse(key, "%q names more than an origin, and a credential is for all of one", arg)
	}
	return key, nil
}

// issued is a credential together with its new access token.
type issued struct {
	actions.Credential
	Token string `json:"token"`
}

// printToken prints the token of a credential. It cannot be printed again later.
func (c *Command) printToken(credential actions.Credential, token string, asJSON bool) error {
	if asJSON {
		return c.printJSON(issued{credential, token})
	}
	fmt.Fprintf(c.Stderr, "This is the token of %s; it is shown this once. Whoever has it can ask for take-downs at "+
		"%s.\n", credential.Name, strings.Join(credential.Origins, ", "))
	_, err := fmt.Fprintln(c.Stdout, token)
	return err
}

func (c *Command) runCredentialsAdd(cfg *config.Config, r credentialsRequest) (err error) {
	ledger, done, err := c.makeLedger(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	token, credential, err := ledger.AddCredential(r.Name, r.Origins, fromNow(r.Expires))
	if err != nil {
		return noCredential(err)
	}
	return c.printToken(credential, token, r.JSON)
}

func (c *Command) runCredentialsRotate(cfg *config.Config, r credentialsRequest) (err error) {
	ledger, done, err := c.openLedger(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	token, credential, err := ledger.RotateCredential(r.Name, r.Grace, fromNow(r.Expires))
	if err != nil {
		return noCredential(err)
	}
	return c.printToken(credential, token, r.JSON)
}

func (c *Command) runCredentialsRevoke(cfg *config.Config, name string, asJSON bool) (err error) {
	ledger, done, err := c.openLedger(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	credential, err := ledger.RevokeCredential(name)
	switch {
	case err != nil:
		return noCredential(err)
	case asJSON:
		return c.printJSON(credential)
	}
	_, err = fmt.Fprintf(c.Stdout, "%s ended %s.\n", credential.Name, credential.Revoked.Format(time.RFC3339))
	return err
}

func (c *Command) runCredentialsList(cfg *config.Config, asJSON bool) (err error) {
	ledger, done, err := c.openLedger(cfg)
	if err != nil {
		return c.orNothing(asJSON, []actions.Credential{}, err)
	}
	defer func() { err = errors.Join(err, done()) }()
	list, err := ledger.Credentials()
	switch {
	case err != nil:
		return err
	case asJSON && list == nil:
		return c.printJSON([]actions.Credential{})
	case asJSON:
		return c.printJSON(list)
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 8, 2, ' ', 0)
	for _, credential := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", credential.Name, validity(credential, time.Now()),
			strings.Join(credential.Origins, " "))
	}
	return w.Flush()
}

// noCredential returns err as an error of wrong usage if err says that the ledger rejected the
// credential.
func noCredential(err error) error {
	if r, is := errors.AsType[*actions.Rejection](err); is {
		return misuse("acapcrawl actions credentials ls", "%w", r)
	}
	return err
}

// validity returns in words whether and until when a credential is valid.
func validity(c actions.Credential, now time.Time) string {
	switch {
	case !c.Revoked.IsZero():
		return "revoked " + c.Revoked.Format(time.RFC3339)
	case !c.Valid(now):
		return "expired " + c.Expires.Format(time.RFC3339)
	case c.Expires.IsZero():
		return "valid"
	}
	return "valid until " + c.Expires.Format(time.RFC3339)
}

// fromNow returns the current time plus d, or the zero time if d is 0.
func fromNow(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().UTC().Add(d).Truncate(time.Second)
}
