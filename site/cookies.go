package site

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// readCookies reads a file of cookies in the format of Netscape, which browsers and curl export: one cookie on each
// line, with domain, whether subdomains get it, path, whether only https is used, when it expires (in seconds since
// 1970; 0: at the end of the session), name and value, separated by tabs. Cookies that have expired are left out. The
// error names the line.
func readCookies(r io.Reader, now time.Time) (http.CookieJar, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line, httpOnly := strings.CutPrefix(strings.TrimRight(lines.Text(), "\r"), "#HttpOnly_")
		if strings.TrimSpace(line) == "" || !httpOnly && strings.HasPrefix(line, "#") {
			continue
		}
		if err := addCookie(jar, line, now); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return jar, lines.Err()
}

// addCookie adds the cookie of one line.
func addCookie(jar http.CookieJar, line string, now time.Time) error {
	fields := strings.Split(line, "\t")
	if len(fields) != 7 {
		return fmt.Errorf("a cookie has 7 fields separated by tabs, not %d", len(fields))
	}
	host := strings.ToLower(strings.TrimPrefix(fields[0], "."))
	c := &http.Cookie{Name: fields[5], Value: fields[6], Path: fields[2]}
	var subdomains bool
	var err error
	if subdomains, err = yes(fields[1]); err == nil {
		c.Secure, err = yes(fields[3])
	}
	if err != nil {
		return err
	}
	expires, err := strconv.ParseFloat(fields[4], 64) // some browsers write fractions
	if err != nil {
		return fmt.Errorf("%q is not a time in seconds", fields[4])
	}
	if expires > 0 {
		if c.Expires = time.Unix(int64(expires), 0); !c.Expires.After(now) {
			return nil
		}
	}
	if _, err := netip.ParseAddr(host); subdomains && err != nil { // an address has no subdomains
		if address.Public(host) {
			return fmt.Errorf("a cookie for all hosts below %s would reach hosts of others", host)
		}
		c.Domain = host
	}
	// the value is sent as it is; what else a browser accepts in it harms nobody
	text := c.Name + c.Value
	if c.Name == "" || strings.ContainsAny(text, "; ") || strings.ContainsFunc(text, unicode.IsControl) {
		return errors.New("the cookie has no name, or its name or value contains a blank, a semicolon or a control " +
			"character")
	}
	jar.SetCookies(&url.URL{Scheme: "https", Host: host, Path: c.Path}, []*http.Cookie{c})
	return nil
}

func yes(field string) (bool, error) {
	switch strings.ToUpper(field) {
	case "TRUE":
		return true, nil
	case "FALSE":
		return false, nil
	}
	return false, errors.New("a field is neither TRUE nor FALSE: " + strconv.Quote(field))
}
