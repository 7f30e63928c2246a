package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// Credential is what identifies the operator to one origin.
type Credential struct {
	Origin         string // scheme://host, with :port if that is not the default, in lower case
	User, Password string // for HTTP authentication (Basic); User "": none
	Header         http.Header
}

// reserved are header fields that a crawl sets itself.
var reserved = []string{"Host", "Connection", "Upgrade", "Referer", "User-Agent", "Accept-Encoding", "Content-Length",
	"Transfer-Encoding", "If-None-Match", "If-Modified-Since", "Signature", "Signature-Input", "Signature-Agent", "Cookie"}

// LoadCredentials reads the file that the setting credentials names: for each origin a user with a password, further
// header fields, or both. Nobody but its owner may read the file. The error joins one *Error for each mistake.
func LoadCredentials(name string) ([]Credential, error) {
	v, err := readPrivate(name)
	if err != nil {
		return nil, err
	}
	var list []Credential
	var wrong []error
	all := v.AllSettings()
	for _, origin := range slices.Sorted(maps.Keys(all)) {
		c, err := credentialOf(name, origin, all[origin])
		list, wrong = append(list, c), append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return list, nil
}

// readPrivate reads a configuration file with secrets. Keys within it may contain dots.
func readPrivate(name string) (*viper.Viper, error) {
	mistake := func(what, hint string) error { return &Error{Where: name, What: what, Hint: hint} }
	info, err := os.Stat(name)
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, mistake(fmt.Sprintf("the file with credentials cannot be read: %v", err), "")
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, mistake("other users may read the file with credentials", "chmod 600 "+filepath.Base(name))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, mistake(fmt.Sprintf("the file with credentials cannot be read: %v", err), "")
	}
	defer f.Close()
	v := viper.NewWithOptions(viper.KeyDelimiter("\x00"))
	v.SetConfigType(format(name))
	if err := v.ReadConfig(f); err != nil {
		return nil, mistake("the file with credentials is not well-formed: "+syntax(err), "")
	}
	return v, nil
}

func credentialOf(file, origin string, content any) (c Credential, err error) {
	mistake := func(key, what string) error {
		return &Error{Where: file, Key: strings.TrimSuffix(origin+": "+key, ": "), What: what,
			Hint: "write https://example.com: and below it user: and password:, or headers:"}
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.User != nil {
		return c, mistake("", "it is not an origin as in https://example.com")
	}
	c = Credential{Origin: u.Scheme + "://" + u.Host, Header: http.Header{}}
	fields, is := content.(map[string]any)
	if !is {
		return c, mistake("", "it has no keys")
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch value := fields[key]; key {
		case "user":
			c.User, err = text(value)
		case "password":
			c.Password, err = text(value)
		case "headers":
			err = c.readHeader(value)
		default:
			err = errors.New("there is no such key")
		}
		if err != nil {
			return c, mistake(key, err.Error())
		}
	}
	if (c.User == "") != (c.Password == "") {
		return c, mistake("", "a user and a password belong together")
	}
	if c.User != "" && c.Header.Get("Authorization") != "" {
		return c, mistake("", "a user and the header field Authorization contradict each other")
	}
	return c, nil
}

// readHeader reads the header fields of a credential.
func (c *Credential) readHeader(v any) error {
	fields, is := v.(map[string]any)
	if !is {
		return errors.New("it is not a list of header fields and their values")
	}
	for name, value := range fields {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") != "" || name == "":
			return fmt.Errorf("%q is not the name of a header field", name)
		case canonical == "Cookie":
			return errors.New("cookies come from the file that the setting cookies names")
		case slices.Contains(reserved, canonical):
			return fmt.Errorf("a crawl sets the header field %s itself", canonical)
		}
		s, err := text(value)
		if err != nil {
			return fmt.Errorf("%s: the value is not a text, or contains control characters", canonical)
		}
		c.Header.Set(canonical, s)
	}
	return nil
}
