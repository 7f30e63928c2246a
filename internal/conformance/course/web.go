package course

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Web is the course as one visitor sees it: robots.txt and pages contain the visitor's name.
type Web struct {
	names    []string
	purposes []string
	base     func(origin string) string
	fill     *strings.Replacer
	answers  map[string]map[string]Answer // origin → target in normal form → answer
	pages    map[string]*Station          // the station of each address, by key
	stations []*Station
}

// Answer is the response of one address. The zero Answer breaks the connection.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// NewWeb returns the course for a visitor with these names and purposes. base returns the address
// of an origin without a slash at the end.
func NewWeb(names, purposes []string, base func(origin string) string) *Web {
	w := &Web{names: names, purposes: purposes, base: base, answers: map[string]map[string]Answer{},
		pages: map[string]*Station{}, stations: Stations()}
	w.fill = w.replacer()
	for _, o := range origins {
		w.answers[o.name] = map[string]Answer{}
		for p, a := range policyFiles(o.name) {
			w.add(o.name, p, a)
		}
	}
	for _, s := range w.stations {
		w.addStation(s)
	}
	for _, o := range origins {
		w.add(o.name, "/", w.front(o))
	}
	return w
}

// target normalizes path and query, so that equivalent spellings of an address compare equal.
func target(t string) string {
	u, err := url.Parse("http://course.example" + t)
	if err != nil {
		return t
	}
	return strings.TrimPrefix(acap.NewResource(u).URL, "http://course.example")
}

// Answer returns the response of the origin to the target of a request; 404 if the course has no
// such address.
func (w *Web) Answer(origin, at string) Answer {
	if a, ok := w.answers[origin][target(at)]; ok {
		return a
	}
	return Answer{Status: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body: []byte("There is nothing here.\n")}
}

// add stores an answer after inserting the visitor's name and the addresses of origins.
func (w *Web) add(origin, at string, a Answer) {
	header := http.Header{}
	for name, values := range a.Header {
		for _, v := range values {
			header.Add(name, w.fillIn(v))
		}
	}
	a.Header, a.Body = header, []byte(w.fillIn(string(a.Body)))
	w.answers[origin][target(at)] = a
}

// The names that are inserted for a visitor without a name or purpose. No crawler has these names.
const (
	noName    = "a-crawler-without-a-name"
	noPurpose = "a-purpose-that-was-not-told"
)

// fillIn replaces the placeholders in s.
func (w *Web) fillIn(s string) string {
	if !strings.Contains(s, "{{") {
		return s
	}
	return w.fill.Replace(s)
}

// replacer returns what replaces placeholders by the visitor's name and the addresses of origins.
func (w *Web) replacer() *strings.Replacer {
	name, purpose := noName, noPurpose
	if len(w.names) > 0 {
		name = w.names[0]
	}
	if len(w.purposes) > 0 {
		purpose = w.purposes[0]
	}
	pairs := []string{"{{NAME}}", name, "{{OTHERCASE}}", otherCase(name), "{{PURPOSE}}", purpose}
	for _, o := range origins {
		pairs = append(pairs, "{{"+o.name+"}}", w.base(o.name))
	}
	return strings.NewReplacer(pairs...)
}

func otherCase(name string) string {
	if up := strings.ToUpper(name); up != name {
		return up
	}
	return strings.ToLower(name)
}

// place returns origin and path of an address of a station: "{{origin}}/path", or a path of the
// station's own origin.
func (s *Station) place(at string) (origin, p string) {
	if rest, ok := strings.CutPrefix(at, "{{"); ok {
		origin, p, _ = strings.Cut(rest, "}}")
		return origin, p
	}
	return s.Origin, at
}

// addStation adds the addresses of s.
func (w *Web) addStation(s *Station) {
	put := func(origin, at string, a Answer) {
		w.pages[key(origin, at)] = s
		if _, ok := w.answers[origin][target(at)]; !ok {
			w.add(origin, at, a)
		}
	}
	for p, c := range s.pages {
		put(s.Origin, p, s.answer(c))
	}
	put(s.Origin, s.Page(), s.answer(content{body: s.links()}))
	for _, at := range slices.Concat(s.Traps, s.Controls) {
		origin, p := s.place(at)
		put(origin, p, s.leafAnswer(p, slices.Contains(s.Traps, at)))
	}
	if s.Whole {
		w.pages[key(s.Origin, "/")] = s
	}
}

// stationOf returns the station to which an address belongs; nil if it belongs to no station.
func (w *Web) stationOf(origin, at string) *Station {
	if s := w.pages[key(origin, at)]; s != nil {
		return s
	}
	if s := w.pages[key(origin, "/")]; s != nil && s.Whole {
		return s
	}
	return nil
}

// key returns the origin and the first segment of the path. All addresses of a station have these
// in common.
func key(origin, at string) string {
	at, _, _ = strings.Cut(target(at), "?")
	if i := strings.IndexByte(at[1:], '/'); i >= 0 {
		at = at[:i+2]
	}
	return origin + at
}

// links returns HTML links to the traps and then the controls. The traps come first, so that a
// crawler that stops early has seen them.
func (s *Station) links() string {
	var b strings.Builder
	for _, at := range slices.Concat(s.Traps, s.Controls) {
		b.WriteString(anchor(at))
	}
	if b.Len() == 0 {
		b.WriteString("<p>There is nothing more to request here.</p>")
	}
	return b.String()
}

func anchor(to string) string { return element(`<p><a href="%s">on to %[1]s</a></p>`, to) }

func element(markup, to string) string {
	return fmt.Sprintf(markup, html.EscapeString(to)) + "\n"
}

func (s *Station) answer(c content) Answer {
	a := Answer{Status: c.status, Header: http.Header{}}
	for _, h := range c.header {
		a.Header.Add(h[0], h[1])
	}
	if c.to != "" {
		if a.Status == 0 {
			a.Status = http.StatusFound
		}
		a.Header.Set("Location", c.to)
		return a
	}
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	if c.raw != "" {
		a.Body = []byte(c.raw)
		return a
	}
	a.Header.Set("Content-Type", "text/html; charset=utf-8")
	a.Body = document(s.ID, c.head, "<p>"+html.EscapeString(s.Says)+" ("+html.EscapeString(s.Rests)+").</p>\n"+c.body)
	return a
}

func document(title, head, body string) []byte {
	return fmt.Appendf(nil,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>%s</title>%s</head>\n"+
			"<body>\n<h1>%[1]s</h1>\n%[3]s</body>\n</html>\n",
		html.EscapeString(title), head, body)
}

// leafAnswer returns the answer of a trap or a control, which has no links.
func (s *Station) leafAnswer(p string, trap bool) Answer {
	text := "This may be requested."
	if trap {
		text = "This must not be requested: " + s.Says + "."
	}
	kind, body := "text/html; charset=utf-8", document(s.ID, "", "<p>"+html.EscapeString(text)+"</p>\n")
	ext := path.Ext(strings.SplitN(p, "?", 2)[0])
	switch ext {
	case ".png", ".gif":
		kind, body = "image/gif", []byte(picture)
	case ".css":
		kind, body = "text/css; charset=utf-8", []byte("/* "+text+" */\n")
	case ".js":
		kind, body = "text/javascript; charset=utf-8", []byte("// "+text+"\n")
	case ".txt":
		kind, body = "text/plain; charset=utf-8", []byte(text+"\n")
	}
	return Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: body}
}

// picture is a GIF image of one pixel.
const picture = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff" +
	"!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// front returns the front page of an origin. The front page of the origin index links to every
// station.
func (w *Web) front(o origin) Answer {
	var b strings.Builder
	fmt.Fprintf(&b, "<p>This is a course for crawlers: %s. What must not be requested is a trap.</p>\n",
		html.EscapeString(o.says))
	for _, s := range w.stations {
		switch {
		case o.name == "index" && s.Origin != o.name:
			b.WriteString(anchor("{{" + s.Origin + "}}" + s.Page()))
		case s.Origin == o.name:
			b.WriteString(anchor(s.Page()))
		}
	}
	return Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body: document("The course: "+o.name, "", b.String())}
}
