package site

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
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
// 1970; 0: at the end of the session), name and value, separated by tabs. Cookies that have expired are left out;
// expired is their number. The error names the line.
func readCookies(r io.Reader, now time.Time) (jar http.CookieJar, expired int, err error) {
	if jar, err = cookiejar.New(nil); err != nil {
		return nil, 0, err
	}
	n, found := 1, false
	lines := bufio.NewScanner(r)
	for ; lines.Scan(); n++ {
		line, httpOnly := strings.CutPrefix(strings.TrimRight(lines.Text(), "\r"), "#HttpOnly_")
		if strings.TrimSpace(line) == "" || !httpOnly && strings.HasPrefix(line, "#") {
			continue
		}
		found = true
		over, err := addCookie(jar, line, now)
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		if over {
			expired++
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, 0, fmt.Errorf("line %d: it is longer than %d bytes", n, bufio.MaxScanTokenSize)
	} else if err != nil {
		return nil, 0, err
	}
	if !found {
		return nil, 0, errors.New("it has no cookie")
	}
	return jar, expired, nil
}

// addCookie adds the cookie of one line, unless it has expired.
func addCookie(jar http.CookieJar, line string, now time.Time) (expired bool, err error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 7 {
		return false, fmt.Errorf("a cookie has 7 fields separated by tabs, not %d", len(fields))
	}
	host, isAddress, err := cookieHost(fields[0])
	if err != nil {
		return false, err
	}
	c := &http.Cookie{Name: fields[5], Value: fields[6], Path: fields[2]}
	var subdomains bool
	if subdomains, err = yes(fields[1]); err == nil {
		c.Secure, err = yes(fields[3])
	}
	if err != nil {
		return false, err
	}
	if c.Expires, err = expiry(fields[4]); err != nil {
		return false, err
	}
	if subdomains && !isAddress { // an address has no subdomains
		if address.Public(host) {
			return false, fmt.Errorf("a cookie for all hosts below %s would reach hosts of others", host)
		}
		c.Domain = host
	}
	// the value is sent as it is; what else a browser accepts in it harms nobody
	text := c.Name + c.Value
	if c.Name == "" || strings.ContainsAny(text, "; ") || strings.ContainsFunc(text, unicode.IsControl) {
		return false, errors.New("the cookie has no name, or its name or value contains a blank, a semicolon or a " +
			"control character")
	}
	if !c.Expires.IsZero() && !c.Expires.After(now) {
		return true, nil
	}
	jar.SetCookies(&url.URL{Scheme: "https", Host: host, Path: c.Path}, []*http.Cookie{c})
	return false, nil
}

// cookieHost returns the host of the domain field of a cookie, in the form in which URLs contain it, and whether it is
// an IP address.
func cookieHost(domain string) (host string, isAddress bool, err error) {
	host = strings.TrimPrefix(domain, ".")
	// the jar finds no cookies of IPv6 addresses with a port
	if at, err := netip.ParseAddr(host); err == nil && at.Is4() {
		return host, true, nil
	}
	u, err := address.Parse("https://" + host + "/")
	if err != nil || strings.ContainsAny(host, "/:@?#\\% ") || strings.ContainsFunc(host, unicode.IsControl) {
		return "", false, fmt.Errorf("%q is not the name of a host, as in example.com", domain)
	}
	return u.Host, false, nil
}

// expiry reads when a cookie expires, in seconds since 1970; some browsers write fractions. 0, the end of the session,
// is the zero time.
func expiry(field string) (at time.Time, err error) {
	const latest = 253402300799 // the last second of the year 9999
	seconds, err := strconv.ParseFloat(field, 64)
	if err != nil || !(math.Abs(seconds) <= latest) { // also false if it is not a number
		return at, fmt.Errorf("%q is not a time in seconds", field)
	}
	if seconds == 0 {
		return at, nil
	}
	return time.Unix(int64(seconds), 0), nil
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
