package site

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/policy"
)

// newCredentials returns the header fields that identify the operator to the host of a URL, from the files that the
// settings credentials and cookies name; nil if they name none. Cookies that hosts set are not kept. notice gets a
// sentence about cookies that have expired; it may be nil.
func newCredentials(cfg *config.Config, notice func(string)) (func(*url.URL) http.Header, error) {
	headers := map[string]http.Header{}
	if cfg.Credentials != "" {
		list, err := config.LoadCredentials(cfg.Credentials)
		if err != nil {
			return nil, &UsageError{Err: err}
		}
		for _, c := range list {
			if err := addCredential(headers, c); err != nil {
				return nil, &UsageError{Err: fmt.Errorf("%s: %w", cfg.Credentials, err)}
			}
		}
	}
	var jar http.CookieJar
	if cfg.Cookies != "" {
		data, err := config.ReadPrivate(cfg.Cookies)
		if err != nil {
			return nil, &UsageError{Err: err}
		}
		var expired int
		if jar, expired, err = readCookies(bytes.NewReader(data), time.Now()); err != nil {
			return nil, &UsageError{Err: fmt.Errorf("cookies: %s cannot be read: %w", cfg.Cookies, err)}
		}
		if expired > 0 && notice != nil {
			notice(fmt.Sprintf("cookies: %s: %d of its cookies have expired and are not sent", cfg.Cookies, expired))
		}
	}
	if len(headers) == 0 && jar == nil {
		return nil, nil
	}
	return func(u *url.URL) http.Header { return credentialsFor(u, headers, jar) }, nil
}

// addCredential adds the header fields of c under the key of its origin.
func addCredential(headers map[string]http.Header, c config.Credential) error {
	u, err := url.Parse(c.Origin)
	if err != nil {
		return err
	}
	key, err := policy.Key(u)
	if err != nil {
		return err
	}
	if headers[key] != nil {
		return fmt.Errorf("the origin %s occurs twice", key)
	}
	headers[key] = c.Header
	if c.User != "" {
		headers[key].Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.User+":"+c.Password)))
	}
	return nil
}

// credentialsFor returns the header fields for one URL.
func credentialsFor(u *url.URL, headers map[string]http.Header, jar http.CookieJar) http.Header {
	out := http.Header{}
	if key, err := policy.Key(u); err == nil {
		out = headers[key].Clone()
	}
	if jar == nil {
		return out
	}
	var pairs []string
	for _, c := range jar.Cookies(u) {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	if len(pairs) > 0 {
		if out == nil {
			out = http.Header{}
		}
		out.Set("Cookie", strings.Join(pairs, "; "))
	}
	return out
}
