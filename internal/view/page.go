package view

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/memento"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// ownPolicy is the Content-Security-Policy of this server's own pages: nothing is loaded from other hosts.
const ownPolicy = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"frame-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// framedPolicy is the Content-Security-Policy of own pages in the frame of the viewer. They need a style sheet
// only.
const framedPolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'self'"

// setCommon sets the header fields that all answers have, unless a route replaces them.
func setCommon(h http.Header) {
	h.Set("Content-Security-Policy", ownPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Cache-Control", "private, no-cache")
}

// layout is what the templates of whole pages get.
type layout struct {
	Title   string
	Path    string // path of the request, without its query
	Here    string // path of the request with its query, to which a login leads back
	Visitor Visitor
	Style   string // path of the style sheet
	Script  string // path of the script
	Icon    string // path of the icon
	Feed    string // path of the feed about what the page shows; "" if there is none
	Body    any
}

// readTemplates parses each page together with layout.html, parts.html and form.html.
func readTemplates() (map[string]*template.Template, error) {
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	out := map[string]*template.Template{}
	for _, name := range names {
		t, err := template.New("layout.html").Funcs(helpers()).ParseFS(templateFiles, "templates/layout.html",
			"templates/parts.html", "templates/form.html", name)
		if err != nil {
			return nil, err
		}
		out[path.Base(name)] = t
	}
	return out, nil
}

// helpers returns the functions that templates may call.
func helpers() template.FuncMap {
	return template.FuncMap{
		"date":   longDate,
		"moment": moment,
		"day":    func(t time.Time) string { return t.UTC().Format("2 January 2006") },
		"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"stamp":  memento.Timestamp,
		"count":  count,
		// nano returns a time exactly, as a parameter.
		"nano":    func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
		"seconds": func(s float64) string { return strconv.FormatFloat(s, 'g', 3, 64) + " s" },
		"bytes":   byteSize,
		"blank":   func() searchForm { return searchForm{} },
		"role":    roleLabel,
		"state":   func(state any) string { return stateWords(actions.State(fmt.Sprint(state))) },
		// href and src return an attribute with a path of this server that ends with the address of a
		// page. Package html/template would change some characters of the address.
		"href": func(prefix, page string) template.HTMLAttr { return linkAttribute("href", prefix+page) },
		"src":  func(prefix, page string) template.HTMLAttr { return linkAttribute("src", prefix+page) },
	}
}

// linkAttribute returns an attribute of an element with a link to a path of this server, or to an http or https
// address; for other addresses it leads nowhere.
func linkAttribute(name, to string) template.HTMLAttr {
	if _, err := target(to); err != nil && !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") {
		to = "about:blank"
	}
	return template.HTMLAttr(name + `="` + template.HTMLEscapeString(escapeTarget(to)) + `"`)
}

// longDate returns a time as pages show it.
func longDate(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// moment returns a time to the second, because two versions may be of the same minute.
func moment(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") }

// count returns a number with its noun: "1 version", "2 versions".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// roleLabel returns the label of something that must be shown with a page.
func roleLabel(role string) string {
	words := explain.RoleWords(role)
	return strings.ToUpper(words[:min(1, len(words))]) + words[min(1, len(words)):]
}

// byteSize returns a number of bytes in the unit that suits it: "1.5 MB".
func byteSize(n int64) string {
	size, unit := float64(n), 0
	for ; size >= 999.5 && unit < 4; unit++ {
		size /= 1000
	}
	return strconv.FormatFloat(size, 'g', 3, 64) + " " + []string{"bytes", "kB", "MB", "GB", "TB"}[unit]
}

// escapeTarget escapes the characters of an address that may not appear in a request target.
func escapeTarget(page string) string {
	var out strings.Builder
	for i := range len(page) {
		if c := page[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>\^`+"`{|}#", c) >= 0 {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// originOf returns scheme and host of an address.
func originOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Scheme + "://" + u.Host
}

// maxNext is the maximum length of the path to which a login leads back.
const maxNext = 4000

// execute returns a whole page.
func (h *Handler) execute(r *request, name, title string, body any) ([]byte, error) {
	at, _, _ := strings.Cut(r.RequestURI, "?")
	here := r.RequestURI
	if len(here) > maxNext {
		here = "/"
	}
	var out bytes.Buffer
	err := h.templates[name].ExecuteTemplate(&out, "layout.html", layout{Title: title, Path: at, Here: here,
		Visitor: r.visitor,
		Style:   h.assetPath("style.css"), Script: h.assetPath("script.js"), Icon: h.assetPath("icon.svg"),
		Feed: feedOf(body), Body: body})
	return out.Bytes(), err
}

// executeFramed returns a page for the frame of the viewer, without the header that other pages have.
func (h *Handler) executeFramed(r *request, body framedPage) ([]byte, error) {
	var out bytes.Buffer
	style := h.assetPath("style.css")
	if r.visitor.Label != "" { // every path below the replay domain is one of the archived site
		style = r.visitor.Base + style
	}
	err := h.templates["framed.html"].ExecuteTemplate(&out, "framed.html", layout{Title: body.Title, Visitor: r.visitor,
		Style: style, Body: body})
	return out.Bytes(), err
}

// feedOf returns the path of the feed about a page, or "".
func feedOf(body any) string {
	if one, has := body.(interface{ feed() string }); has {
		return one.feed()
	}
	return ""
}

// show answers with a page made from a template.
func (h *Handler) show(w http.ResponseWriter, r *request, name, title string, body any) error {
	text, err := h.execute(r, name, title, body)
	if err != nil {
		return err
	}
	return writeTagged(w, r, "text/html; charset=utf-8", text)
}

// showOnce is like show, with a status, for a page that the client must not store.
func (h *Handler) showOnce(w http.ResponseWriter, r *request, status int, name, title string, body any) error {
	text, err := h.execute(r, name, title, body)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	writeBody(w, r, status, "text/html; charset=utf-8", text)
	return nil
}

// writeTagged answers with body and an ETag, or with 304 if the client has it. The ETag is weak, because
// the body may be compressed on its way.
func writeTagged(w http.ResponseWriter, r *request, kind string, body []byte) error {
	sum := sha256.Sum256(body)
	tag := `W/"` + hex.EncodeToString(sum[:12]) + `"`
	w.Header().Set("ETag", tag)
	if matches(strings.Join(r.Header.Values("If-None-Match"), ","), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeBody(w, r, http.StatusOK, kind, body)
	return nil
}

// matches reports whether an If-None-Match header contains the tag (RFC 9110 13.1.2: a weak tag matches, too).
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

func writeBody(w http.ResponseWriter, r *request, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}

// asset is a file that pages load. Its path contains a digest, so that it may be cached for ever.
type asset struct {
	kind string
	body []byte
}

// readAssets returns the embedded files, keyed by "DIGEST/NAME".
func readAssets() (map[string]asset, error) {
	out := map[string]asset{}
	return out, fs.WalkDir(assetFiles, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := assetFiles.ReadFile(name)
		sum := sha256.Sum256(body)
		out[hex.EncodeToString(sum[:6])+"/"+path.Base(name)] = asset{mime.TypeByExtension(path.Ext(name)), body}
		return err
	})
}

// assetPath returns the path of an embedded file, or "" if there is none of that name.
func (h *Handler) assetPath(name string) string {
	for at := range h.assets {
		if path.Base(at) == name {
			return "/assets/" + at
		}
	}
	return ""
}

func (h *Handler) asset(w http.ResponseWriter, r *request) error {
	a, ok := h.assets[r.rest]
	if !ok {
		return notFound()
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return writeTagged(w, r, a.kind, a.body)
}
