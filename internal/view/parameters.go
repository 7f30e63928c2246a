package view

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// values are the parameters of a request to the API, all of which have passed the checks of the OpenAPI
// document.
type values struct {
	op    *operation
	given url.Values
}

// parameters returns the parameters of a request to the API. The error is a *Problem: status 400 for
// parameters that the document does not define and for bad values, 403 for parameters that this visitor
// may not send.
func (h *Handler) parameters(r *request) (values, error) {
	path, query, _ := strings.Cut(r.RequestURI, "?")
	method := strings.ToLower(r.Method)
	if method == "head" {
		method = "get"
	}
	v := values{op: h.document.Paths[path][method]}
	if role := v.op.Role; role != Anyone && role != r.visitor.Role {
		return v, forbidden(fmt.Sprintf("%s is only for the %s of this archive.", path, role))
	}
	var err error
	if v.given, err = url.ParseQuery(query); err != nil {
		return v, badQuery()
	}
	for name, list := range v.given {
		p := v.op.find(name)
		if p == nil {
			return v, badRequest(fmt.Sprintf("The parameter %q does not exist here; %s.", name, v.op.known()))
		}
		if p.Role != Anyone && p.Role != r.visitor.Role {
			return v, forbidden(fmt.Sprintf("The parameter %s is only for the %s of this archive.", name, p.Role))
		}
		if err := p.check(list); err != nil {
			return v, err
		}
	}
	for _, p := range v.op.Parameters {
		if p.In == "query" && p.Required && !v.given.Has(p.Name) {
			return v, badRequest(fmt.Sprintf("The parameter %s is missing, as in %s=%s.", p.Name, p.Name,
				url.QueryEscape(p.Example)))
		}
	}
	return v, nil
}

func badQuery() *Problem {
	return badRequest("The query of the address cannot be read: a percent sign needs two hexadecimal digits, and a " +
		"semicolon must be written as %3B.")
}

func forbidden(detail string) *Problem {
	return &Problem{Status: http.StatusForbidden, Code: "forbidden", Title: "You may not send this", Detail: detail}
}

// known lists the parameters of an operation in words.
func (op *operation) known() string {
	var names []string
	for _, p := range op.Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return "this address takes none"
	}
	return "there are " + strings.Join(names, ", ")
}

// check returns a *Problem if a parameter has a value that the document does not permit.
func (p *parameter) check(list []string) error {
	s := p.Schema
	if slices.Contains(s.Type, "array") && s.Items != nil {
		s = *s.Items
	} else if len(list) > 1 {
		return badRequest("The parameter " + p.Name + " may be given only once.")
	}
	for _, value := range list {
		if must := s.demand(value); must != "" {
			if p.Example != "" {
				must += ", such as " + p.Example
			}
			return badRequest(fmt.Sprintf("The parameter %s must be %s, not %q.", p.Name, must, clip(value)))
		}
	}
	return nil
}

// clip returns the beginning of a value that is too long for a message.
func clip(value string) string {
	const most = 100
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return value
}

// demand returns what a value must be, in words, or "" if the value is accepted.
func (s *schema) demand(value string) string {
	switch {
	case s.MaxLength > 0 && utf8.RuneCountInString(value) > s.MaxLength:
		return "at most " + strconv.Itoa(s.MaxLength) + " characters long"
	case !utf8.ValidString(value):
		return "text in UTF-8"
	case slices.Contains(s.Type, "integer"):
		return s.demandNumber(value)
	case slices.Contains(s.Type, "boolean"):
		if value != "true" && value != "false" {
			return "true or false"
		}
	case len(s.Enum) > 0:
		if !slices.Contains(s.Enum, value) {
			return "one of " + strings.Join(s.Enum, ", ")
		}
	case s.pattern != nil:
		if !s.pattern.MatchString(value) {
			return s.Form
		}
	}
	return s.demandFormat(value)
}

func (s *schema) demandNumber(value string) string {
	n, err := strconv.ParseInt(value, 10, 32)
	if err == nil && (s.Minimum == nil || n >= *s.Minimum) && (s.Maximum == nil || n <= *s.Maximum) {
		return ""
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("a number from %d to %d", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return fmt.Sprintf("a number of at least %d", *s.Minimum)
	}
	return "a number"
}

// demandFormat checks the formats that the document uses.
func (s *schema) demandFormat(value string) string {
	switch s.Format {
	case "date-time":
		if _, err := time.Parse(time.RFC3339, value); err != nil {
			return "a time in the format of RFC 3339, such as 2026-01-31T12:00:00Z"
		}
	case "ip":
		if _, err := netip.ParseAddr(value); err != nil {
			return "an IP address"
		}
	case "uri":
		if _, err := target(value); err != nil {
			return "a whole address that begins with http:// or https://"
		}
	}
	return ""
}

// text returns the value of a parameter, or "".
func (v values) text(name string) string { return v.given.Get(name) }

// is reports whether a parameter is true.
func (v values) is(name string) bool { return v.given.Get(name) == "true" }

// number returns the value of a parameter, otherwise its default in the document, otherwise 0.
func (v values) number(name string) int {
	if n, err := strconv.Atoi(v.given.Get(name)); err == nil {
		return n
	}
	if p := v.op.find(name); p != nil {
		if n, ok := p.Schema.Default.(float64); ok {
			return int(n)
		}
	}
	return 0
}

// time returns the value of a parameter in UTC, or the zero time.
func (v values) time(name string) time.Time {
	t, err := time.Parse(time.RFC3339, v.given.Get(name))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// url returns the normal form of the parameter url.
func (v values) url() string {
	normal, err := address.Normal(v.given.Get("url"))
	if err != nil { // cannot happen: check has accepted it
		return ""
	}
	return normal
}

// reader returns the reader to decide for: the visitor, with the replacements that an operator may
// give. The error is a *Problem if as_of is in the past, because a time limit that has ended does
// not begin again (X03).
func (h *Handler) reader(r *request, v values) (present.Reader, error) {
	who := r.visitor.reader()
	if v.given.Has("reader_ip") || v.given.Has("reader_domain") || v.given.Has("reader_country") {
		who.Target.IP, _ = netip.ParseAddr(v.text("reader_ip"))
		who.Target.Domains, who.Target.Country = nil, strings.ToUpper(v.text("reader_country"))
		if d := v.text("reader_domain"); d != "" {
			who.Target.Domains = []string{strings.ToLower(strings.TrimSuffix(d, "."))}
		}
	}
	who.AsOf = v.time("as_of")
	if !who.AsOf.IsZero() && who.AsOf.Before(h.o.Now().Truncate(time.Second)) {
		return who, badRequest("The parameter as_of has passed; the clock can only be set forward.")
	}
	return who, nil
}
