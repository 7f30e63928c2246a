package rewrite

// surroundings tracks where a browser may read the text of STYLE, SCRIPT and other elements as tags.
// The tokenizer reads it as text, because it builds no tree. Browsers read it as tags in SVG and
// MathML, and where the tree builder ignores the start tag: in SELECT, in FRAMESET, and after COL
// in TEMPLATE (HTML 13.2.6).
//
// It is certain that SVG and MathML have ended after as many end tags as start tags, or after the
// start tag of an element that breaks out of them, provided that no HTML began within them. After
// HTML within SVG, as in FOREIGNOBJECT, nothing is certain any more. Where a reading is not
// certain, ambiguous returns true; a text is then written so that both readings are the same.
type surroundings struct {
	seen     bool   // SVG or MathML has begun somewhere
	depth    int    // SVG and MATH elements that may be open
	root     string // svg or math: the outermost of them
	point    string // name of an open element in which HTML is allowed again; "" for none
	choosing bool   // SELECT is open
	template bool   // a TEMPLATE has begun somewhere
	stuck    bool   // nothing is certain any more
}

// ambiguous reports whether a browser may read the text of the next element as tags.
func (c *surroundings) ambiguous() bool { return c.depth > 0 || c.choosing || c.stuck }

// foreign reports whether the current element is probably one of SVG or MathML.
func (c *surroundings) foreign() bool { return c.depth > 0 && c.point == "" }

// start notes a start tag. slash says whether it ends with />.
func (c *surroundings) start(name string, slash bool) {
	switch name {
	case "select":
		c.choosing = true
	case "template":
		c.stuck = c.stuck || c.choosing
		c.template = true
	case "frameset":
		c.stuck = true
	case "col":
		c.stuck = c.stuck || c.template
	case "svg", "math":
		c.seen = true
	}
	switch {
	case c.point != "":
		c.stuck = true
	case name == "svg" || name == "math":
		if c.depth == 0 {
			c.root = name
		}
		if !slash {
			c.depth++
		}
	case c.depth == 0:
	case breaksOut(name):
		c.depth = 0
	case integrates(name) && !slash:
		c.point = name
	}
}

// end notes an end tag.
func (c *surroundings) end(name string) {
	switch {
	case name == "select":
		c.choosing = false
	case !c.seen:
	case name == "svg" || name == "math":
		c.stuck = c.stuck || c.depth > 0 && c.root != name // perhaps no element ends
		c.depth = max(0, c.depth-1)
		c.point = ""
	case name == c.point:
		c.point = ""
	}
}

// breaksOut reports whether the start tag of that name ends SVG and MathML (HTML 13.2.6.5).
func breaksOut(name string) bool {
	switch name {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2",
		"h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre",
		"ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var":
		return true
	}
	return false
}

// integrates reports whether an element of SVG or MathML may contain HTML (HTML 13.2.6).
func integrates(name string) bool {
	switch name {
	case "foreignobject", "desc", "title", "annotation-xml", "mi", "mo", "mn", "ms", "mtext":
		return true
	}
	return false
}
