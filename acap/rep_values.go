package acap

import (
	"net/netip"
	"net/url"
	"strings"
)

// lookAtAgent reports a User-agent value that is more than a product token. A version or further
// words after the token are ignored, as most authors expect, so lookAtAgent reports them as a
// notice. A name that no crawler has, or a list of names, is a warning.
func (p *parser) lookAtAgent(field *Field, value string) {
	const hint = "write a User-agent line for each crawler, with only its product token"
	token := agentToken(value)
	rest := value[len(token):]
	switch {
	case value == "" || value == "*":
	case !nameChar(value[0]) && value[0] != '*' || token == value && value[0] == '*':
		p.report(field.at(value), "agent-name", Warning, hint,
			"%q is the name of no crawler: a name consists of letters, digits, -, _ and .", value)
	case rest == "":
	case strings.EqualFold(token, "Mozilla"):
		p.report(field.at(value), "agent-name", Warning, hint,
			"only %q counts, which many programs send and no crawler answers to", token)
	case token == "*":
		p.report(field.at(value), "agent-name", Warning, "write only * for any crawler",
			"this counts as * here; many crawlers read it as the name of one crawler, or do not read %q", rest)
	case severalNames(rest):
		p.report(field.at(value), "agent-name", Warning, hint, "a crawler's name ends before %q: only %q counts",
			rest, token)
	default:
		p.report(field.at(value), "agent-name", Notice, "write only the product token",
			"a crawler's name ends before %q: only %q counts", rest, token)
	}
}

// severalNames reports whether the text after a product token begins with a separator and another
// name.
func severalNames(rest string) bool {
	rest = strings.TrimLeft(rest, " \t")
	if rest == "" || !strings.ContainsRune(",;:", rune(rest[0])) {
		return false
	}
	next := strings.TrimLeft(rest[1:], " \t")
	return next != "" && isName(next[:1])
}

// lookAtSitemap reports a Sitemap line whose value is not an absolute URL.
func (p *parser) lookAtSitemap(field *Field, value string) {
	u, err := url.Parse(value)
	if err == nil && u.Scheme != "" && u.Host != "" {
		return
	}
	hint := "write the whole URL, as in https://example.com/sitemap.xml"
	switch host, path := hostOf(value); {
	case host != "":
		hint = "write https://" + host + path
	case err == nil && p.f.home() != "":
		hint = "write " + p.f.base.ResolveReference(&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
	}
	p.report(field.at(value), "relative-sitemap", Warning, hint,
		"%q is not an absolute URL: many crawlers do not read this sitemap", value)
}

// home returns the host of the site. It returns "" if the file has no URL, or if its host is
// reserved for examples (RFC 2606).
func (f *File) home() string {
	if f.base == nil || strings.HasSuffix(f.base.Hostname(), ".invalid") {
		return ""
	}
	return f.base.Host
}

// withSlash returns the hint for a conventional rule that starts with neither "/" nor "*".
func (f *File) withSlash(value string) string {
	first, _, _ := strings.Cut(value, ":")
	if conventionalNames[strings.ToLower(first)] != "" && first != value {
		return "write every field on a line of its own"
	}
	switch strings.ToLower(value) {
	case "all", "any", "everything", "yes", "true":
		return "write / for all paths"
	case "none", "nothing", "null", "no", "false":
		return "write / for all paths, and nothing for none"
	}
	host, path := hostOf(value)
	switch {
	case host == "" && strings.ContainsAny(value, `([\|`):
		return "begin the rule with /, and write no regular expression: a rule has only * and $"
	case host == "" && strings.ContainsRune("?&=.", rune(value[0])),
		host == "" && strings.Contains(value, "=") && !strings.Contains(value, "/"):
		return "write /*" + value
	case host == "":
		return "write /" + value
	case !strings.HasPrefix(path, "/"):
		path = "/" + path
	}
	bare := func(host string) string { return strings.TrimPrefix(strings.ToLower(host), "www.") }
	if bare(host) == bare(f.home()) {
		return "write " + path
	}
	return "write " + path + " in the robots.txt of " + host + ": rules apply to only one host"
}

// hostOf splits a value that begins with a host, with or without a scheme, into the host and the
// path after it. For a value that begins with a path, host is "".
func hostOf(value string) (host, path string) {
	rest, absolute := value, false
	if scheme, behind, ok := strings.Cut(value, "://"); ok && isName(scheme) {
		rest, absolute = behind, true
	} else if rest, absolute = strings.CutPrefix(value, "//"); !absolute {
		rest = value
	}
	end := strings.IndexAny(rest, "/?*#")
	if end < 0 {
		end = len(rest)
	}
	host = rest[:end]
	if host == "" || !absolute && !likelyHost(host, rest[end:]) || strings.ContainsAny(host, " @") {
		return "", value
	}
	return host, rest[end:]
}

// likelyHost reports whether the first segment of a value looks like a host and not like a file
// name.
func likelyHost(host, behind string) bool {
	_, err := netip.ParseAddr(host)
	lower := strings.ToLower(host)
	top := lower[strings.LastIndexByte(lower, '.')+1:]
	return err == nil || strings.HasPrefix(lower, "www.") ||
		strings.Count(host, ".") > 1 && strings.HasPrefix(behind, "/") ||
		top != lower && contains([]string{"com", "org", "net", "edu", "gov", "mil"}, top)
}
