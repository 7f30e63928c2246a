package acap

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Required is one resource, or one part of a page, to which a permission refers. It must be used
// (P1 2.5.3.2) or included (P1 2.5.5.6), or it says where to ask for permission (P1 2.5.6.1).
// Exactly one of Locator, Text and URL is set.
type Required struct {
	Field *Field // the permission that refers to the resource or part
	Value string // the qualifier's value as written, with keywords in lower case
	// extract, credit, link, or a role that ends in -link; empty for must-use-resource and for a
	// usage-ref without a role
	Role string
	// names a part of the page: "id:x", "idlist:a,b", "class:x", "classlist:a,b", "meta:x",
	// "taglist:p,h1"
	Locator string
	Text    string // literal text, percent-decoded; valid only if IsText is true
	IsText  bool
	URL     string // the absolute URL of another resource (P1 2.5.3.2, I04)

	ref string // URI reference as written, before it is resolved against a base
}

// Link reports whether the presentation must link to the resource (P1 2.5.5.6, X08).
func (r *Required) Link() bool { return strings.HasSuffix(r.Role, "link") }

// at returns a copy of r for the permission field, with its URI reference resolved against base (P1
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

// cutScheme returns v without the prefix "the-acap:", which may be in any letter case. ok is false
// if v does not have it.
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

// readMustUse reads the first value of must-use-resource; further values are ignored (P1 2.5.3.2).
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
	// P1 2.5.3.2 (I07): selectors are accepted in the forms that the specification prints: text
	// without extract, lists with extract
	if !ok || why != "" {
		return fmt.Sprintf("%q is not a form of the-acap:extract or the-acap:text", v)
	}
	r.mustUse = &Required{Value: scheme + "extract:" + lowerKeyword(form), Locator: locator}
	return ""
}

// readLocator reads "kind:name" or "kind:name,name". It returns the kind in lower case and the
// names percent-decoded (P1 3: quotation marks and blanks in a value must be percent-encoded). why
// is not empty if s is invalid.
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
		// P1 2.5.3.2 (I06): the names in a list are not empty and contain no blanks
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

// includeRoles holds the roles of must-include-resource. The value is true if the role was added in
// version 1.1 (P1 2.5.5.6).
var includeRoles = map[string]bool{"extract": false, "credit": false, "link": false, "license-link": true,
	"registration-link": true}

func newMustInclude(v string) bool {
	rest, ours := cutScheme(v)
	role, locator, _ := strings.Cut(rest, ":")
	_, text := cutFold(locator, "text:")
	// P1 2.8 (B02): plus-terms is a feature of version 1.1, too. If that version is not declared, a
	// permission with plus-terms is a prohibition and is not ignored, so plus-terms is not treated
	// as a new feature here.
	newer, known := includeRoles[strings.ToLower(role)]
	// P1 2.8 (X86): a role that no version defines is not a feature of version 1.1
	return ours && known && (newer || text)
}

func readMustInclude(r *restrictions, values []string, _ bool) string {
	for _, v := range values {
		// P1 2.5.3.1 (X32): only images can contain licence terms; for other resources plus-terms
		// makes a permission a prohibition
		if isPlus(v) {
			r.plus |= plusCredit
			r.creditAt = len(r.mustInclude)
			continue
		}
		rest, ours := cutScheme(v)
		if !ours { // P1 2.5.5.6 (J11): a URI without a role does not say how to include the resource
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

// readIncluded reads the locator of must-include-resource or usage-ref. It begins with id, class,
// meta or text; otherwise it is a URI (P1 2.5.5.6, J09).
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

// readUsageRef reads the values of usage-ref: URIs, with or without one of the three roles (P1
// 2.5.6.1, L04). The crawler never fetches them (P1 2.5.6.1, L02).
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
