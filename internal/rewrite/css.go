package rewrite

import "strings"

// css returns a style sheet, or the value of a style attribute, with new addresses. Addresses are
// in url() and src() (CSS Values 4, 4.5), in @import (CSS Cascade 5, 2) and in image-set() and image()
// (CSS Images 4, 2.3 and 2.4). The names in @namespace and @document are not addresses. A string in
// a custom property is an address if it names a host, because image-set(var(--x)) may use it.
func (r *rewriter) css(css string) string {
	if !strings.ContainsAny(css, `(@"'`) {
		return css
	}
	s := sheet{r: r, lexer: lexer{css: css}}
	for {
		t := s.next()
		if t.kind == endOfSheet || r.err != nil {
			break
		}
		s.token(t)
	}
	if s.copied == 0 {
		return css
	}
	return s.out.String() + css[s.copied:]
}

// sheet is the state of css.
type sheet struct {
	lexer
	r      *rewriter
	out    strings.Builder
	copied int // bytes of the style sheet that are in out

	open   []block
	rule   string // at-rule whose prelude is read, without @; "" for none
	ruleAt int    // number of open blocks around the rule
	custom int    // number of open blocks around a custom property whose value is read, plus 1; 0 for none
	dashed bool   // the last token was an identifier that begins with --
}

// block is an open bracket or function.
type block struct {
	closing byte // the bracket that ends it
	strings bool // strings in it are addresses
	font    bool // it is in @font-face
}

func (s *sheet) top() block {
	if len(s.open) == 0 {
		return block{}
	}
	return s.open[len(s.open)-1]
}

// push opens a block.
func (s *sheet) push(closing byte, strings bool) {
	s.open = append(s.open, block{closing, strings, s.top().font})
}

// token notes a token, and changes the address in it.
func (s *sheet) token(t token) {
	text := s.css[t.start:t.end]
	dashed := false
	switch t.kind {
	case space, comment:
		return
	case name:
		dashed = strings.HasPrefix(unescape(text), "--")
	case atKeyword:
		s.rule, s.ruleAt = lower(unescape(text[1:])), len(s.open)
	case function:
		s.push(')', s.takesAddresses(lower(unescape(text[:len(text)-1]))))
	case opening:
		s.opening(text[0])
	case closing:
		s.closing(text[0])
	case stringToken:
		s.string(t)
	case urlToken:
		s.url(t)
	case delim:
		s.delim(text[0])
	}
	s.dashed = dashed
}

// takesAddresses reports whether strings in a function are addresses.
func (s *sheet) takesAddresses(function string) bool {
	switch function {
	case "url", "src":
		return !s.inert()
	case "image", "image-set", "-webkit-image-set":
		return true
	case "type", "format", "tech", "local", "layer", "supports":
		return false
	}
	return s.top().strings // such as var() in image-set()
}

// inert reports whether the addresses of the at-rule are only names.
func (s *sheet) inert() bool {
	switch s.rule {
	case "namespace", "document", "-moz-document":
		return true
	}
	return false
}

func (s *sheet) opening(bracket byte) {
	switch bracket {
	case '(':
		s.push(')', s.top().strings)
	case '[':
		s.push(']', s.top().strings)
	case '{':
		font := s.rule == "font-face" && len(s.open) == s.ruleAt || s.top().font
		s.open = append(s.open, block{closing: '}', font: font})
		if len(s.open)-1 == s.ruleAt {
			s.rule = ""
		}
	}
}

// closing ends a block. A bracket that does not fit is ignored (CSS Syntax 3, 5.4.8).
func (s *sheet) closing(bracket byte) {
	if len(s.open) == 0 || s.top().closing != bracket {
		return
	}
	s.open = s.open[:len(s.open)-1]
	if len(s.open) < s.ruleAt {
		s.rule, s.ruleAt = "", 0
	}
	if len(s.open)+1 < s.custom {
		s.custom = 0
	}
}

func (s *sheet) delim(c byte) {
	switch {
	case c == ';' && len(s.open) == s.ruleAt:
		s.rule = ""
	}
	switch {
	case c == ';' && len(s.open)+1 == s.custom:
		s.custom = 0
	case c == ':' && s.dashed && s.custom == 0:
		s.custom = len(s.open) + 1
	}
}

// string changes a string if it is an address.
func (s *sheet) string(t token) {
	text := s.css[t.start:t.end]
	ref := text[1:]
	if len(ref) > 0 && ref[len(ref)-1] == text[0] && !escaped(ref[:len(ref)-1]) {
		ref = ref[:len(ref)-1]
	}
	ref = unescape(ref)
	imports := s.rule == "import" && len(s.open) == s.ruleAt
	if imports || s.top().strings || s.custom > 0 && namesHost(ref) {
		s.change(t, ref, `"`, `"`)
	}
}

// escaped reports whether s ends with an odd number of backslashes: the quote after it is escaped.
func escaped(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

// url changes the address in url().
func (s *sheet) url(t token) {
	if s.inert() {
		return
	}
	_, ref, _ := strings.Cut(strings.TrimSuffix(s.css[t.start:t.end], ")"), "(")
	s.change(t, unescape(strings.Trim(ref, " \t\r\n\f")), `url("`, `")`)
}

// change writes the replacement of the address ref in place of a token, if there is one.
func (s *sheet) change(t token, ref, before, after string) {
	kind := Image
	switch {
	case s.rule == "import":
		kind, s.rule = Style, "imported"
	case s.top().font:
		kind = Font
	}
	if address, ok := s.r.single(ref, kind); ok {
		s.out.WriteString(s.css[s.copied:t.start] + before + address + after)
		s.copied = t.end
	}
}
