package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// The limits of an HTTP request to the server (acapcrawl serve) of another operator.
const (
	sendTimeout = 3 * time.Minute // so long because the server executes a take-down before it answers
	maxAnswer   = 1 << 20         // maximum size of an answer in bytes
)

// sendRequest submits a request as a publisher, over HTTP.
func (c *Command) sendRequest(ctx context.Context, r submitRequest) error {
	base, err := webURL(r.To)
	if err != nil {
		return err
	}
	if ip, _ := netip.ParseAddr(base.Hostname()); base.Scheme != "https" && base.Hostname() != "localhost" &&
		!ip.IsLoopback() {
		return misuse("--to https://"+base.Host,
			"--to: over http, others could read the token and submit requests in your name")
	}
	token, err := c.token(r.Token)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"action": r.Action, "url": r.URL})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base.JoinPath("api", "v1", "requests").String(),
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", cmp.Or(r.Key, rand.Text()))
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// do not follow redirects: the token must not reach another server
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		if e, is := errors.AsType[*url.Error](err); is {
			err = e.Err
		}
		return failure("the same command again with --key, so that it is executed only once",
			fmt.Errorf("%s does not answer: %w", base, err))
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the answer of %s cannot be read: %w", base, err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		return problemOf(base, response, text)
	}
	if r.JSON {
		_, err := fmt.Fprintf(c.Stdout, "%s\n", bytes.TrimSpace(text))
		return err
	}
	var became actions.Request
	if err := json.Unmarshal(text, &became); err != nil {
		return fmt.Errorf("the answer of %s does not come from acapcrawl serve: %w", base, err)
	}
	return requestInWords(c.Stdout, became)
}

// token reads an access token from the named file. The token itself is never a command-line
// argument, because other users of the machine can see arguments.
func (c *Command) token(name string) (string, error) {
	if err := c.readable(name); err != nil {
		return "", err
	}
	in := c.Stdin
	if name != "-" {
		f, err := os.Open(c.path(name))
		if err != nil {
			return "", misuse("", "--token-file: %s: %w", name, bare(err))
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxCall))
	if err != nil {
		return "", misuse("", "--token-file: %s: %w", name, bare(err))
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", misuse("a file with the token that actions credentials add printed",
			"--token-file: %s holds no token", name)
	}
	return token, nil
}

// problemOf returns the error that the JSON of a server's answer describes (RFC 9457).
func problemOf(base *url.URL, response *http.Response, text []byte) error {
	var p struct{ Detail string }
	if json.Unmarshal(text, &p) != nil || p.Detail == "" {
		p.Detail = "the answer has no readable text"
	}
	err := errors.New(display.Line(fmt.Sprintf("%s answers %s: %s", base, response.Status, p.Detail)))
	switch n := response.StatusCode; {
	case n == http.StatusBadRequest || n == http.StatusUnprocessableEntity:
		return misuse("", "%w", err)
	case n >= 400 && n < 500:
		return refusal(err)
	}
	return failure("the same command again with --key, so that it is executed only once", err)
}
