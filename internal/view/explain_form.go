package view

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/page"
)

// explainForm holds the fields of the policy explorer as they were sent.
type explainForm struct {
	URL     string
	Crawler string // names, separated by blanks
	Purpose string // purposes, separated by blanks
	AsOf    string
	Country string
	IP      string
	Domain  string

	// only in POST
	Robots  string
	Page    string
	Headers string
	Against string

	posted bool // the form was sent by POST
	empty  bool // no robots.txt was pasted and none is known, so it counts as empty
	second bool // Robots is the second file of a comparison
}

// fieldError is a value of a field that cannot be used.
type fieldError struct {
	name string // of the field, as it is sent
	must string // what it needs, as the end of a sentence
}

func (e *fieldError) Error() string { return "The parameter " + e.name + " " + e.must + "." }

const (
	maxPosted  = 1 << 20 // bytes of a form
	maxNames   = 20      // crawler names, or purposes
	maxName    = 1000    // bytes of one
	maxHeaders = 200     // lines

	// unknownSite is the site of a pasted text if the visitor names none.
	unknownSite = "https://example.com"
)

// readForm returns the fields of a query or a form. A field for names may be sent several times.
func readForm(v url.Values) explainForm {
	one := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	return explainForm{URL: one("url"), Crawler: strings.Join(v["crawler"], " "),
		Purpose: strings.Join(v["purpose"], " "), AsOf: one("as_of"), Country: one("reader_country"),
		IP: one("reader_ip"), Domain: one("reader_domain")}
}

// readPosted returns the fields of a POST request. The error is a *Problem.
func readPosted(w http.ResponseWriter, r *request) (explainForm, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxPosted)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var err error
	switch kind {
	case "multipart/form-data":
		err = r.ParseMultipartForm(maxPosted)
	case "application/x-www-form-urlencoded":
		err = r.ParseForm()
	default:
		return explainForm{}, &Problem{Status: http.StatusUnsupportedMediaType, Code: "media-type",
			Title:  "This request cannot be read",
			Detail: "Send the fields as multipart/form-data or as application/x-www-form-urlencoded."}
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return explainForm{}, &Problem{Status: http.StatusRequestEntityTooLarge, Code: "too-large",
			Title: "The body is too large", Detail: "Send at most 1 MiB of text."}
	}
	if err != nil {
		return explainForm{}, badRequest("The form cannot be read: send it again.")
	}
	form := readForm(r.PostForm)
	form.posted = true
	text := func(name string) string {
		if s := strings.ToValidUTF8(r.PostForm.Get(name), "\ufffd"); strings.TrimSpace(s) != "" {
			return s
		}
		return ""
	}
	form.Robots, form.Page, form.Headers, form.Against = text("robots"), text("page"), text("headers"), text("against")
	return form, nil
}

// permalink returns path and query of the question, without the pasted texts.
func (f *explainForm) permalink() string {
	v := url.Values{}
	for name, value := range map[string]string{"url": f.URL, "crawler": f.Crawler, "purpose": f.Purpose,
		"as_of":          f.AsOf,
		"reader_country": f.Country, "reader_ip": f.IP, "reader_domain": f.Domain} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return "/explain?" + v.Encode()
}

var (
	countryCode = regexp.MustCompile(`^[A-Za-z]{2}$`)
	domainName  = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$`)
)

// question returns the question of a form. The error is a *fieldError.
func (h *Handler) question(f *explainForm) (q explain.Question, err error) {
	if q.URL, err = f.address(); err != nil {
		return q, err
	}
	if q.Crawler, err = f.crawler(h.o.Explainer.Crawler()); err != nil {
		return q, err
	}
	q.AsOf = h.o.Now().UTC().Truncate(time.Minute)
	if f.AsOf != "" {
		if q.AsOf, err = readTime(f.AsOf); err != nil {
			return q, err
		}
	}
	q.Reader, err = f.reader()
	return q, err
}

// address returns the address of a form. The site of a pasted text may be unknown.
func (f *explainForm) address() (*url.URL, error) {
	raw := f.URL
	if f.posted && (raw == "" || raw[0] == '/') {
		raw = unknownSite + "/" + strings.TrimPrefix(raw, "/")
	}
	normal, err := target(raw)
	if err != nil {
		return nil, &fieldError{"url", "needs a whole address such as https://example.org/a.html"}
	}
	return url.Parse(normal)
}

// crawler returns the crawler of a form. Without a name it is own, the crawler of this archive. For
// another crawler the same vocabularies are in force; what else it obeys is not known.
func (f *explainForm) crawler(own acap.Crawler) (acap.Crawler, error) {
	names := strings.FieldsFunc(f.Crawler, func(r rune) bool { return r == ',' || r <= ' ' })
	purposes := strings.Fields(f.Purpose)
	for i, list := range [][]string{names, purposes} {
		field := []string{"crawler", "purpose"}[i]
		if len(list) > maxNames {
			return own, &fieldError{field, fmt.Sprintf("may have at most %d names", maxNames)}
		}
		if slices.ContainsFunc(list, func(name string) bool { return len(name) > maxName }) {
			return own, &fieldError{field, fmt.Sprintf("may have names of at most %d bytes", maxName)}
		}
	}
	if len(names) > 0 {
		own = acap.Crawler{Names: names, Vocabularies: own.Vocabularies}
	}
	if len(purposes) > 0 {
		own.Purposes = purposes
	}
	return own, nil
}

// readTime reads a time or a date; without a zone it is UTC.
func readTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, &fieldError{"as_of", "needs a time such as 2026-01-31T12:00:00Z or a date such as 2026-01-31"}
}

// reader returns the reader of a form, for whom the presentation usages are decided.
func (f *explainForm) reader() (t acap.Target, err error) {
	if f.IP != "" {
		if t.IP, err = netip.ParseAddr(f.IP); err != nil {
			return t, &fieldError{"reader_ip", "needs an IP address such as 192.0.2.1"}
		}
	}
	if f.Country != "" && !countryCode.MatchString(f.Country) {
		return t, &fieldError{"reader_country", "needs a country code of two letters such as BE (ISO 3166)"}
	}
	if f.Domain != "" {
		if !domainName.MatchString(f.Domain) {
			return t, &fieldError{"reader_domain", "needs a domain name such as host.example.com"}
		}
		t.Domains = []string{strings.ToLower(strings.TrimSuffix(f.Domain, "."))}
	}
	t.Country = strings.ToUpper(f.Country)
	return t, nil
}

// pasted returns the pasted page and headers as a page at an address; nil if there are none. The
// error is a *fieldError.
func (f *explainForm) pasted(at *url.URL) (*page.Page, error) {
	if f.Page == "" && f.Headers == "" {
		return nil, nil
	}
	header, err := readHeaders(f.Headers)
	if err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	switch {
	case err != nil, f.Page != "" && kind != "application/xhtml+xml":
		kind = "text/html"
	}
	// the form was sent in UTF-8, whatever the header said of the bytes of the page
	header.Set("Content-Type", kind+"; charset=utf-8")
	return page.New([]page.Hop{{URL: at.String(), Method: http.MethodGet, Status: http.StatusOK, Header: header,
		Body: []byte(f.Page)}}), nil
}

// readHeaders reads lines "Name: value", after an optional status line. The error is a *fieldError.
func readHeaders(text string) (http.Header, error) {
	out := http.Header{}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if len(lines) > maxHeaders {
		return nil, &fieldError{"headers", fmt.Sprintf("may have at most %d lines", maxHeaders)}
	}
	for i, line := range lines {
		name, value, found := strings.Cut(line, ":")
		switch {
		case strings.TrimSpace(line) == "", i == 0 && strings.HasPrefix(strings.ToUpper(line), "HTTP/"):
		case !found || name == "" || strings.ContainsAny(name, " \t<"):
			return nil, &fieldError{"headers", fmt.Sprintf("needs a header in line %d, written as Name: value", i+1)}
		default:
			out.Add(name, strings.TrimSpace(value))
		}
	}
	return out, nil
}
