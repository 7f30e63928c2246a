package explain

import (
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/display"
)

// RoleWords returns the name of a role in which something must be shown with a page (P1 2.5.5.6).
func RoleWords(role string) string {
	switch role {
	case "license-link":
		return "licence"
	case "registration-link":
		return "registration link"
	}
	return role
}

// includedWords returns a value of must-include-resource in words: "a credit: Ada Quill".
func includedWords(value string) string {
	role, locator, ok := cutRole(value)
	if !ok {
		return value
	}
	article := "a "
	if role == "extract" {
		article = "an "
	}
	return article + RoleWords(role) + ": " + partWords(locator)
}

// usedWords returns a value of must-use-resource or usage-ref in words. Its role is not important.
func usedWords(value string) string {
	role, locator, ok := cutRole(value)
	switch {
	case !ok:
		return value
	case role == "text":
		return "the text “" + unescaped(locator) + "”"
	}
	return partWords(locator)
}

// cutRole divides "the-acap:ROLE:LOCATOR". ok is false for other values, such as addresses.
func cutRole(value string) (role, locator string, ok bool) {
	rest, ok := strings.CutPrefix(value, "the-acap:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ":")
}

// partWords returns in words which part of a page a locator names. A literal text is returned itself, and an address
// as it is written.
func partWords(locator string) string {
	kind, name, _ := strings.Cut(locator, ":")
	name = unescaped(strings.ReplaceAll(name, ",", ", "))
	switch kind {
	case "text":
		_, name, _ = strings.Cut(locator, ":")
		return unescaped(name)
	case "id":
		return "the element with the id " + name
	case "idlist":
		return "the elements with the ids " + name
	case "class", "classlist":
		return "the elements of class " + name
	case "meta":
		return "the tag META " + name
	case "taglist":
		return "the elements " + name
	}
	return locator
}

// unescaped returns a percent-encoded text as it is to be read, without characters that control a terminal.
func unescaped(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil {
		s = decoded
	}
	return display.Line(s)
}
