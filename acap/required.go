package acap

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Required is one resource or part that a permission demands to be used (P1 2.5.3.2) or included
// (P1 2.5.5.6), or refers to (P1 2.5.6.1). Exactly one of Locator, Text and URL is set.
type Required struct {
	Field   *Field // the permission that demands it
	Value   string // as written, keywords in lower case
	Role    string // extract, credit, link, …-link; empty for must-use-resource and a bare usage-ref
	Locator string // part of the page: "id:x", "idlist:a,b", "class:x", "classlist:a,b", "meta:x", "taglist:p,h1"
	Text    string // literal text, percent-decoded; meaningful when IsText
	IsText  bool
	URL     string // another resource, absolute (P1 2.5.3.2, I04)

	ref string // URI reference as written, before a base is known
}

// Link reports whether the role demands a link (P1 2.5.5.6, X08).
func (r *Required) Link() bool { return strings.HasSuffix(r.Role, "link") }

// at returns a copy of r for the permission field, with its reference resolved against base (P1
// 2.5.3.2, I04).
func (r *Required) at(field *Field, base *url.URL) *Required {
	if r == nil {
		return nil
	}
	c := *r
	c.Field = field
	if c.ref != "" {
		if u, err := url.Parse(c.ref); err == nil && base != nil {
			u = base.ResolveReference(u)
			u.Fragment = ""
			c.URL = u.String()
		}
	}
	return &c
}

const scheme = "the-acap:"

// cutScheme returns v without "the-acap:", in any letter case.
func cutScheme(v string) (rest string, ok bool) {
	if len(v) < len(scheme) || !strings.EqualFold(v[:len(scheme)], scheme) {
		return v, false
	}
	return v[len(scheme):], true
}

// newMustUse reports whether v is a feature of 1.1: a list form or literal text (P1 2.5.3.2).
func newMustUse(v string) bool {
	rest, ok := cutScheme(v)
	rest = strings.ToLower(rest)
	if !ok {
		return false
	}
	for _, form := range []string{"extract:idlist:", "extract:classlist:", "extract:taglist:", "text:"} {
		if strings.HasPrefix(rest, form) {
			return true
		}
	}
	return false
}

// readMustUse reads the first value alone (P1 2.5.3.2).
func readMustUse(r *restrictions, values []string, _ bool) string {
	v := values[0]
	rest, ours := cutScheme(v)
	if !ours {
		if !fetchable(v) {
			return fmt.Sprintf("%q is not a URI of the http or https scheme", v)
		}
		r.mustUse = &Required{Value: v, ref: v}
		return ""
	}
	if text, ok := cutFold(rest, "text:"); ok {
		decoded, err := url.PathUnescape(text)
		if err != nil || decoded == "" {
			return fmt.Sprintf("%q holds no text", v)
		}
		r.mustUse = &Required{Value: scheme + "text:" + text, Text: decoded, IsText: true}
		return ""
	}
	form, ok := cutFold(rest, "extract:")
	locator, why := readLocator(form, "id", "idlist", "class", "classlist", "meta", "taglist")
	if !ok || why != "" { // P1 2.5.3.2 (I07): selectors are read as printed: text without extract, lists with it
		return fmt.Sprintf("%q is not a form of the-acap:extract or the-acap:text", v)
	}
	r.mustUse = &Required{Value: scheme + "extract:" + lowerKeyword(form), Locator: locator}
	return ""
}

// readLocator reads "kind:name" or "kind:name,name"; it returns the keyword in lower case and the
// names percent-decoded (P1 3: a value holds quotation marks and blanks only in that form).
func readLocator(s string, kinds ...string) (locator, why string) {
	keyword, name, _ := strings.Cut(s, ":")
	keyword = strings.ToLower(keyword)
	if !contains(kinds, keyword) {
		return "", "unknown form"
	}
	names := []string{name}
	list := strings.HasSuffix(keyword, "list")
	if list {
		names = strings.Split(name, ",")
	}
	for i, n := range names {
		decoded, err := url.PathUnescape(n)
		switch {
		// P1 2.5.3.2 (I06): elements come in document order, nested ones once; a list holds no
		// blanks
		case decoded == "":
			return "", "an empty name"
		case err != nil, list && strings.Contains(decoded, ","):
			return "", "a name that cannot be read"
		}
		names[i] = decoded
	}
	return keyword + ":" + strings.Join(names, ","), ""
}

// lowerKeyword returns a value with its keyword in lower case and the rest as written.
func lowerKeyword(s string) string {
	keyword, name, _ := strings.Cut(s, ":")
	return strings.ToLower(keyword) + ":" + name
}

// includeRoles are the roles of must-include-resource; true marks those new in 1.1 (P1 2.5.5.6).
var includeRoles = map[string]bool{"extract": false, "credit": false, "link": false, "license-link": true,
	"registration-link": true}

func newMustInclude(v string) bool {
	rest, ours := cutScheme(v)
	role, locator, _ := strings.Cut(rest, ":")
	_, text := cutFold(locator, "text:")
	// plus-terms is a feature of 1.1 too, but where that is not declared it is a prohibition, not
	// ignored (P1 2.8, B02): it is not gated.
	newer, known := includeRoles[strings.ToLower(role)]
	return ours && known && (newer || text) // a role that no version defines is not a feature of 1.1 (P1 2.8, X86)
}

func readMustInclude(r *restrictions, values []string, _ bool) string {
	for _, v := range values {
		if isPlus(v) { // P1 2.5.3.1 (X32): terms in a resource are looked for in images; elsewhere they prohibit
			r.plus |= plusCredit
			r.creditAt = len(r.mustInclude)
			continue
		}
		rest, ours := cutScheme(v)
		if !ours { // P1 2.5.5.6 (J11): a bare URI does not say how it is to be included
			return fmt.Sprintf("%q does not say in which role the resource is to be included", v)
		}
		role, locator, _ := strings.Cut(rest, ":")
		role = strings.ToLower(role)
		if _, ok := includeRoles[role]; !ok {
			return fmt.Sprintf("the role %q is not known", role)
		}
		req, why := readIncluded(locator)
		if why != "" {
			return fmt.Sprintf("%q: %s", v, why)
		}
		req.Role, req.Value = role, scheme+role+":"+req.Value
		r.mustInclude = append(r.mustInclude, req)
	}
	return ""
}

// readIncluded reads the locator of must-include-resource and usage-ref: id, class, meta, text,
// else a URI (P1 2.5.5.6, J09).
func readIncluded(s string) (*Required, string) {
	if text, ok := cutFold(s, "text:"); ok {
		decoded, err := url.PathUnescape(text)
		if err != nil || decoded == "" {
			return nil, "it holds no text"
		}
		return &Required{Value: "text:" + text, Text: decoded, IsText: true}, ""
	}
	for _, keyword := range []string{"id:", "class:", "meta:"} {
		if _, ok := cutFold(s, keyword); ok {
			locator, why := readLocator(s, "id", "class", "meta")
			return &Required{Value: lowerKeyword(s), Locator: locator}, why
		}
	}
	if !fetchable(s) {
		return nil, "it does not lead to a resource of the http or https scheme"
	}
	return &Required{Value: s, ref: s}, ""
}

// readUsageRef reads the three roles (P1 2.5.6.1, L04) and general URIs. The crawler never fetches
// them (P1 2.5.6.1, L02).
func readUsageRef(r *restrictions, values []string, _ bool) string {
	for _, v := range values {
		rest, ours := cutScheme(v)
		if !ours {
			if !fetchable(v) {
				return fmt.Sprintf("%q is not a URI", v)
			}
			r.usageRefs = append(r.usageRefs, &Required{Value: v, ref: v})
			continue
		}
		role, locator, _ := strings.Cut(rest, ":")
		switch role = strings.ToLower(role); role {
		case "link", "terms-link", "permission-link":
		default:
			return fmt.Sprintf("the role %q is not known", role)
		}
		req, why := readIncluded(locator)
		if why != "" {
			return fmt.Sprintf("%q: %s", v, why)
		}
		req.Role, req.Value = role, scheme+role+":"+req.Value
		r.usageRefs = append(r.usageRefs, req)
	}
	return ""
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || prefix != "" && s[0]|prefix[0] < utf8.RuneSelf && (s[0]^prefix[0])&^('a'-'A') != 0 ||
		!strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// fetchable reports whether v is a relative reference or a URI of the http or https scheme.
func fetchable(v string) bool {
	u, err := url.Parse(v)
	if err != nil || v == "" {
		return false
	}
	return u.Scheme == "" || (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func absoluteURL(v string) (*url.URL, bool) {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, false
	}
	return u, true
}
