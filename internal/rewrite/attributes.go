package rewrite

import "strings"

// form says how an attribute contains addresses.
type form int

const (
	one      form = iota + 1 // one address
	list                     // addresses separated by white space
	srcset                   // addresses with descriptors (HTML 4.8.4.2.1)
	css                      // declarations, or one value, of CSS
	document                 // a document
)

// addressed is an attribute with addresses.
type addressed struct {
	form form
	kind Kind
}

// addresses lists the attributes that contain addresses. A key is "element attribute" for one
// element, or "attribute" for all other elements. IMAGE is another name of IMG in HTML, and an
// element of SVG. href stands for xlink:href too. LINK, META, PARAM and the animations of SVG have
// rules of their own.
var addresses = map[string]addressed{
	// HTML, section 4 and the table of attributes
	"href":        {one, Other},
	"a href":      {one, Page},
	"area href":   {one, Page},
	"src":         {one, Other},
	"img src":     {one, Image},
	"image src":   {one, Image},
	"input src":   {one, Image},
	"frame src":   {one, Frame},
	"iframe src":  {one, Frame},
	"embed src":   {one, Frame},
	"object data": {one, Frame},
	"srcdoc":      {document, Frame},
	"srcset":      {srcset, Image},
	"imagesrcset": {srcset, Image},
	"poster":      {one, Image},
	"action":      {one, Page},
	"formaction":  {one, Page},
	"cite":        {one, Page},
	"ping":        {list, Other},
	"style":       {css, Image},

	// obsolete attributes of HTML (HTML 16.2), and those of old browsers
	"background":        {one, Image},
	"longdesc":          {one, Page},
	"lowsrc":            {one, Image},
	"dynsrc":            {one, Image},
	"object archive":    {list, Other},
	"object classid":    {one, Other},
	"object codebase":   {one, Other},
	"applet archive":    {list, Other},
	"applet code":       {one, Other},
	"applet codebase":   {one, Other},
	"embed codebase":    {one, Other},
	"embed pluginspage": {one, Page},
	"html manifest":     {one, Other},

	// proposals that browsers have implemented
	"attributionsrc":  {list, Other},
	"portal src":      {one, Frame},
	"fencedframe src": {one, Frame},

	// SVG 2, section 3.2 and the table of presentation attributes
	"image href":         {one, Image},
	"feimage href":       {one, Image},
	"use href":           {one, Image},
	"font-face-uri href": {one, Font},
	"clip-path":          {css, Image},
	"color-profile":      {css, Image},
	"cursor":             {css, Image},
	"fill":               {css, Image},
	"filter":             {css, Image},
	"marker":             {css, Image},
	"marker-end":         {css, Image},
	"marker-mid":         {css, Image},
	"marker-start":       {css, Image},
	"mask":               {css, Image},
	"stroke":             {css, Image},
}

// tag changes the addresses in a tag.
func (r *rewriter) tag(t *tag) {
	changed := false
	for i := range t.attrs {
		a := &t.attrs[i]
		if value, ok := r.attribute(t, a.key, a.value); ok {
			a.set(value)
			changed = true
		}
	}
	if !changed || t.name != "link" && t.name != "script" {
		return
	}
	for i := range t.attrs {
		if t.attrs[i].key == "integrity" { // a digest of the content at the original address
			t.attrs[i].set("")
		}
	}
}

// attribute returns the new value of an attribute, or false if the value does not change.
func (r *rewriter) attribute(t *tag, key, value string) (string, bool) {
	key = strings.TrimPrefix(key, "xlink:")
	switch {
	case key == "xml:base", key == "href" && t.name == "base":
		r.rebase(t, value)
		return "", value != ""
	case key == "href" && t.name == "link":
		return r.link(t, value)
	case key == "content" && t.name == "meta":
		return r.meta(t, value)
	case key == "value" && t.name == "param":
		return r.param(t, value)
	case animates(t.name) && (key == "from" || key == "to" || key == "by" || key == "values"):
		return r.animation(t, value)
	}
	a, found := addresses[t.name+" "+key]
	if !found {
		a, found = addresses[key]
	}
	if !found {
		return "", false
	}
	switch a.form {
	case one:
		return r.single(value, a.kind)
	case list:
		return r.list(value, a.kind)
	case srcset:
		return r.srcset(value, a.kind)
	case css:
		sheet := r.css(value)
		return sheet, sheet != value
	}
	return r.srcdoc(value)
}

// rebase obeys a BASE element (HTML 4.2.3): the first one with an address is the base of all
// references after it. The caller empties its href, because the new addresses must not be relative
// to it.
func (r *rewriter) rebase(t *tag, value string) {
	if t.name != "base" || r.based {
		return
	}
	if address, _, what := r.base.resolve(value); what == web && len(address) <= maxBase {
		if u, ok := parse(address); ok {
			r.base, r.based = base{u}, true
		}
	}
}

// link returns the new href of a LINK, whatever its rel: browsers connect to the host of some even
// if its scheme is unknown.
func (r *rewriter) link(t *tag, value string) (string, bool) {
	if _, _, what := r.base.resolve(value); what == opaque || what == special {
		_, rest := cutScheme(strings.ReplaceAll(trimmed(value), `\`, "/"))
		if what == special || strings.HasPrefix(rest, "//") {
			return nothing, true
		}
	}
	return r.single(value, linkKind(t))
}

// linkKind returns what a LINK is for.
func linkKind(t *tag) Kind {
	kind := Other
	for _, rel := range strings.Fields(lower(t.get("rel"))) {
		switch rel {
		case "stylesheet":
			return Style
		case "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "image_src":
			kind = Image
		case "preload", "prefetch":
			kind = destination(lower(t.get("as")))
		case "alternate", "author", "canonical", "help", "license", "next", "prev", "search":
			kind = Page
		}
	}
	return kind
}

// destination returns the kind for the attribute as of a LINK.
func destination(as string) Kind {
	switch as {
	case "image":
		return Image
	case "style":
		return Style
	case "font":
		return Font
	case "document", "frame", "iframe", "embed", "object":
		return Frame
	}
	return Other
}

// meta returns the new content of META refresh.
func (r *rewriter) meta(t *tag, value string) (string, bool) {
	if !strings.EqualFold(strings.TrimSpace(t.get("http-equiv")), "refresh") {
		return "", false
	}
	at, ref := refresh(value)
	if at < 0 {
		return "", false
	}
	address, changed := r.single(ref, Page)
	return value[:at] + address, changed
}

// param returns the new value of a PARAM in which plugins expect an address.
func (r *rewriter) param(t *tag, value string) (string, bool) {
	switch lower(strings.TrimSpace(t.get("name"))) {
	case "archive", "code", "codebase", "data", "filename", "href", "movie", "src", "url":
		return r.single(value, Other)
	}
	return "", false
}

// animates reports whether an element of SVG changes the values of attributes.
func animates(name string) bool {
	switch name {
	case "animate", "animatecolor", "animatemotion", "animatetransform", "discard", "set":
		return true
	}
	return false
}

// animation returns new values for an attribute that is animated: addresses for href, and CSS for
// others. Semicolons separate values.
func (r *rewriter) animation(t *tag, value string) (string, bool) {
	if name := lower(strings.TrimSpace(t.get("attributename"))); name != "href" && name != "xlink:href" {
		sheet := r.css(value)
		return sheet, sheet != value
	}
	values, changed := strings.Split(value, ";"), false
	for i, v := range values {
		if r.err != nil {
			break
		}
		if address, ok := r.single(v, Image); ok {
			values[i], changed = strings.ReplaceAll(address, ";", "%3B"), true
		}
	}
	return strings.Join(values, ";"), changed
}
