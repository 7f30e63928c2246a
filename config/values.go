package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// variable converts the value of an environment variable into the form it would have in a file: a
// JSON array becomes a list, anything else stays a string.
func variable(text string) any {
	if strings.HasPrefix(text, "[") {
		var list []any
		if json.Unmarshal([]byte(text), &list) == nil {
			return list
		}
	}
	return text
}

// text returns v if it is a string, otherwise an error. It does not convert a number or a date in
// the file to a string, because the way in which it was written is not known.
func text(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s is not a text", written(v))
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%q holds a control character", s)
	}
	return strings.TrimSpace(s), nil
}

// list returns a function that reads a list of strings, or one string that is split at commas. It
// calls check for each item, and removes duplicates. One empty string means the empty list.
func list(check func(string) error) func(any) ([]string, error) {
	return func(v any) ([]string, error) {
		var items []any
		switch v := v.(type) {
		case string:
			for item := range strings.SplitSeq(v, ",") {
				items = append(items, item)
			}
		case []string:
			for _, item := range v {
				items = append(items, item)
			}
		case []any:
			items = v
		default:
			return nil, fmt.Errorf("%s is not a list", written(v))
		}
		if len(items) == 1 && items[0] == "" {
			items = nil
		}
		out := []string{}
		for _, item := range items {
			s, err := text(item)
			if err != nil {
				return nil, err
			}
			if err := check(s); err != nil {
				return nil, err
			}
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
		return out, nil
	}
}

// findingCode returns an error if s does not have the form of a finding's code. It does not test
// whether the code exists; package check does that.
func findingCode(s string) error {
	if s == "" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return fmt.Errorf("%q is not the code of a finding", s)
	}
	return nil
}

func boolean(v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case string:
		switch strings.ToLower(v) {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
	}
	return false, fmt.Errorf("%s is neither true nor false", written(v))
}

// hostName returns an error if s is not a host name without scheme and port.
func hostName(s string) error {
	u, err := url.Parse("http://" + s)
	if err != nil || s == "" || u.Host != s || u.Hostname() != s && u.Hostname() != strings.Trim(s, "[]") {
		return fmt.Errorf("%q is not the name of a host", s)
	}
	return nil
}

// domain reads the name of a domain, below which there are other names.
func domain(v any) (string, error) {
	s, err := text(v)
	if err != nil {
		return "", err
	}
	labels := strings.Split(strings.ToLower(s), ".")
	if _, err := netip.ParseAddr(s); err == nil || len(s) > 189 || slices.ContainsFunc(labels, func(l string) bool {
		return l == "" || len(l) > 63 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-") != ""
	}) {
		return "", fmt.Errorf("%q is not the name of a domain", s)
	}
	return s, nil
}

// addressRange returns an error if s is not an IP address or a range in CIDR notation.
func addressRange(s string) error {
	if _, err := netip.ParsePrefix(s); err == nil {
		return nil
	}
	if _, err := netip.ParseAddr(s); err != nil {
		return fmt.Errorf("%q is not an IP address or range", s)
	}
	return nil
}

func oneOf(words ...string) func(any) (string, error) {
	return func(v any) (string, error) {
		s, err := text(v)
		if err == nil && !slices.Contains(words, s) {
			err = fmt.Errorf("%q is not one of %s", s, strings.Join(words, ", "))
		}
		return s, err
	}
}

// passwordHash reads a hash of a password. It checks only the beginning, which names the kind of hash. The value
// itself is not part of an error.
func passwordHash(v any) (string, error) {
	s, err := text(v)
	for _, kind := range []string{"$argon2id$", "$2a$", "$2b$", "$2y$"} {
		if strings.HasPrefix(s, kind) {
			return s, err
		}
	}
	return "", errors.New("this is not a hash of a password")
}

// namesOf returns a reader of a list of the known names, in any case. The only name "none" means the
// empty list.
func namesOf(known []string, what string) func(any) ([]string, error) {
	return func(v any) ([]string, error) {
		names, err := list(func(string) error { return nil })(v)
		if err != nil || slices.Equal(names, []string{"none"}) {
			return []string{}, err
		}
		for i, name := range names {
			names[i] = strings.ToLower(name)
			if !slices.Contains(known, names[i]) {
				return nil, fmt.Errorf("%q is not %s", name, what)
			}
		}
		return names, nil
	}
}

// country reads a country code of two letters in upper case, or an empty string.
func country(v any) (string, error) {
	s, err := text(v)
	if err == nil && s != "" && (len(s) != 2 || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "") {
		err = fmt.Errorf("%q is not a country code of two letters in upper case", s)
	}
	return s, err
}

// dialect reads the name of a dialect. It also accepts the number 1.1, because YAML reads 1.1
// without quotation marks as a number.
func dialect(v any) (string, error) {
	if v == 1.1 {
		v = Dialect11
	}
	return oneOf(Dialects()...)(v)
}

var token = regexp.MustCompile("^[A-Za-z0-9!$%&'+.^_`|~-]+$")

// crawlerName returns an error if s is not a token that a User-Agent can contain (RFC 9110 5.6.2),
// or if s is "*", which means every crawler.
func crawlerName(s string) error {
	if !token.MatchString(s) {
		return fmt.Errorf("%q is not a crawler's name", s)
	}
	return nil
}

// crawlerNames reads a list of at least one crawler name.
//
// P1 2.3.1 (C05): a name in a record must equal one of these tokens as a whole, without regard to
// case. RFC 9309 2.2.1 (X67): the groups of all of them apply together. The first is sent as
// User-Agent.
func crawlerNames(v any) ([]string, error) {
	names, err := list(crawlerName)(v)
	if err == nil && len(names) == 0 {
		err = errors.New("a crawler needs a name")
	}
	return names, err
}

// purpose accepts a name or a URI; neither contains blanks (P1 2.3.3).
func purpose(s string) error {
	if s == "" || strings.ContainsAny(s, " \u00a0") {
		return fmt.Errorf("%q is not a purpose", s)
	}
	return nil
}

// purposes returns nil for undeclared purposes and an empty list if the crawler declares that it
// has none.
//
// P1 2.3.3 (C15): a crawler with undeclared purposes obeys the prohibitions for all purposes.
func purposes(v any) ([]string, error) {
	if v == nil || v == undeclared {
		return nil, nil
	}
	return list(purpose)(v)
}

var typeName = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

func uninterpreted(s string) error {
	switch s {
	case "train-ai", "ai-use", "ai-index", "tdm":
		return fmt.Errorf("%q is no usage type of ACAP, which permissions could name", s)
	}
	if !typeName.MatchString(s) {
		return fmt.Errorf("%q is neither a usage type nor a qualifier type nor element-level", s)
	}
	return nil
}

// contact reads an empty string, or an http, https or mailto URL that can be part of a comment in
// the User-Agent.
func contact(v any) (string, error) {
	s, err := text(v)
	if err != nil || s == "" {
		return s, err
	}
	u, err := url.Parse(s)
	if err != nil || strings.ContainsAny(s, " ()\\") ||
		!(u.Scheme == "mailto" && u.Opaque != "" || (u.Scheme == "http" || u.Scheme == "https") && u.Host != "") {
		return "", fmt.Errorf("%q is not an http, https or mailto URL", s)
	}
	return s, nil
}

func address(v any) (string, error) {
	s, err := text(v)
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(s)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n > 65535 {
		return "", fmt.Errorf("%q is not an address with a port", s)
	}
	return s, nil
}

// optional returns a function that accepts an empty string, and reads all other values with read.
func optional(read func(any) (string, error)) func(any) (string, error) {
	return func(v any) (string, error) {
		if s, err := text(v); err != nil || s == "" {
			return s, err
		}
		return read(v)
	}
}

// addressPattern returns an error if no address can match the pattern s: a pattern must begin with
// "/", with "*" or with a scheme.
func addressPattern(s string) error {
	if s == "" || s[0] != '/' && s[0] != '*' && !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		return fmt.Errorf("%q is not a pattern of addresses", s)
	}
	return nil
}

// parameter returns an error if s is not the name of a query parameter. The name may end with "*".
func parameter(s string) error {
	if name := strings.TrimSuffix(s, "*"); name == "" || strings.ContainsAny(name, "*=&?# ") {
		return fmt.Errorf("%q is not the name of a query parameter", s)
	}
	return nil
}

func logLevel(v any) (slog.Level, error) {
	s, err := oneOf(LogLevels()...)(v)
	if err != nil {
		return 0, err
	}
	var l slog.Level
	return l, l.UnmarshalText([]byte(s))
}

// written returns v approximately as a configuration file contains it, for error messages.
func written(v any) string {
	if v == nil {
		return "an empty value"
	}
	if text, err := json.Marshal(v); err == nil {
		return string(text)
	}
	return fmt.Sprint(v)
}
