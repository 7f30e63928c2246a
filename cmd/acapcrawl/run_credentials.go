package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/policy"
)

// originArg reads an argument that names an origin: a URL without a path of its own.
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

// issued is a credential with the token that was made for it.
type issued struct {
	actions.Credential
	Token string `json:"token"`
}

// printToken prints the token of a credential, which nothing gives back later.
func (c *Command) printToken(credential actions.Credential, token string, asJSON bool) error {
	if asJSON {
		return c.printJSON(issued{credential, token})
	}
	fmt.Fprintf(c.Stderr, "This is the token of %s; it is shown this once. Whoever has it can ask for take-downs at %s.\n", credential.Name, strings.Join(credential.Origins, ", "))
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
		fmt.Fprintf(w, "%s\t%s\t%s\n", credential.Name, validity(credential, time.Now()), strings.Join(credential.Origins, " "))
	}
	return w.Flush()
}

// noCredential is err with the status that it ends a verb with: what cannot be is wrong usage.
func noCredential(err error) error {
	if r, is := errors.AsType[*actions.Rejection](err); is {
		return misuse("acapcrawl actions credentials ls", "%w", r)
	}
	return err
}

// validity says whether and until when a credential is good.
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

// fromNow is that long from now; zero for 0.
func fromNow(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().UTC().Add(d).Truncate(time.Second)
}
