package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Credential is what identifies the operator to one origin.
type Credential struct {
	Origin         string // scheme://host, with :port if that is not the default, in lower case
	User, Password string // for HTTP authentication (Basic); User "": none
	Header         http.Header
}

// reserved are header fields that a crawl sets itself.
var reserved = []string{"Host", "Connection", "Upgrade", "Referer", "User-Agent", "Accept-Encoding", "Content-Length",
	"Transfer-Encoding", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "Range", "If-Range",
	"Signature", "Signature-Input", "Signature-Agent", "Cookie"}

// LoadCredentials reads the file that the setting credentials names: for each origin a user with a password, further
// header fields, or both, as YAML or JSON. Nobody but its owner may read the file. The error joins one *Error for each
// mistake; it never contains a value.
func LoadCredentials(name string) ([]Credential, error) {
	data, err := ReadPrivate(name)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]any{}
	if err := yaml.Unmarshal(data, &all); err != nil {
		e := &Error{Where: name, What: "the file with credentials is not well-formed",
			Hint: "write https://example.com: and below it user: and password:, or headers:"}
		if line := regexp.MustCompile(`line \d+`).FindString(err.Error()); line != "" {
			e.What += ", see " + line
		}
		return nil, e
	}
	if len(all) == 0 {
		return nil, &Error{Where: name, What: "the file has no origin",
			Hint: "write https://example.com: and below it user: and password:, or headers:"}
	}
	var list []Credential
	var wrong []error
	for _, origin := range slices.Sorted(maps.Keys(all)) {
		c, err := credentialOf(name, origin, all[origin])
		list, wrong = append(list, c), append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return list, nil
}

// ReadPrivate reads a file that nobody but its owner may read. The error is an *Error.
func ReadPrivate(name string) ([]byte, error) {
	mistake := func(what, hint string) error { return &Error{Where: name, What: what, Hint: hint} }
	info, err := os.Stat(name)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, mistake("other users may read this file, which says who you are to sites", "chmod 600 "+name)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(name)
	}
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, mistake(fmt.Sprintf("the file cannot be read: %v", err), "")
	}
	return data, nil
}

func credentialOf(file, origin string, fields map[string]any) (c Credential, err error) {
	u, err := url.Parse(origin)
	origin = withoutSecrets(origin)
	mistake := func(key, what string) error {
		return &Error{Where: file, Key: strings.TrimSuffix(origin+": "+key, ": "), What: what,
			Hint: "write https://example.com: and below it user: and password:, or headers:"}
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		strings.Trim(u.Path, "/") != "" || u.ForceQuery || u.RawQuery != "" || u.User != nil ||
		strings.Contains(origin, "#") {
		return c, mistake("", "it is not an origin as in https://example.com")
	}
	c = Credential{Origin: u.Scheme + "://" + u.Host, Header: http.Header{}}
	if len(fields) == 0 {
		return c, mistake("", "it has no keys")
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch value := fields[key]; key {
		case "user":
			c.User, err = secret(value)
		case "password":
			c.Password, err = secret(value)
		case "headers":
			err = c.readHeader(value)
		default:
			err = errors.New("there is no such key")
		}
		if err != nil {
			return c, mistake(key, err.Error())
		}
	}
	if strings.Contains(c.User, ":") {
		return c, mistake("user", "a user must not contain a colon: HTTP authentication has the password after it")
	}
	if (c.User == "") != (c.Password == "") {
		return c, mistake("", "a user and a password belong together")
	}
	if c.User != "" && c.Header.Get("Authorization") != "" {
		return c, mistake("", "a user and the header field Authorization contradict each other")
	}
	return c, nil
}

// withoutSecrets returns a key of the file, which may be malformed, without what may be a password in it.
func withoutSecrets(origin string) string {
	if at := strings.LastIndexByte(origin, '@'); at >= 0 {
		origin = "…" + origin[at:]
	}
	if more := strings.IndexAny(origin, "?#"); more >= 0 {
		origin = origin[:more+1] + "…"
	}
	return origin
}

// readHeader reads the header fields of a credential.
func (c *Credential) readHeader(v any) error {
	fields, is := v.(map[string]any)
	if !is || len(fields) == 0 {
		return errors.New("it is not a list of header fields and their values")
	}
	for name, value := range fields {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case c.Header.Get(canonical) != "":
			return fmt.Errorf("the header field %s occurs twice", canonical)
		case strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") != "" ||
			name == "":
			return fmt.Errorf("%q is not the name of a header field", name)
		case canonical == "Cookie":
			return errors.New("cookies come from the file that the setting cookies names")
		case slices.Contains(reserved, canonical):
			return fmt.Errorf("a crawl sets the header field %s itself", canonical)
		}
		s, err := secret(value)
		if err != nil {
			return fmt.Errorf("%s: %w", canonical, err)
		}
		c.Header.Set(canonical, s)
	}
	return nil
}

// secret reads a text. Its error does not contain the value.
func secret(v any) (string, error) {
	s, is := v.(string)
	if !is || s == "" || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", errors.New("it is not a text in quotes without control characters")
	}
	return s, nil
}
