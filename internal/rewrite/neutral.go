package rewrite

import (
	"strings"

	"golang.org/x/net/html"
)

// plainCDATA returns a CDATA section as ordinary text. In HTML, a browser reads a section as a
// comment that ends at the first angle bracket; in SVG, as text.
func plainCDATA(p piece) string {
	if !p.foreign {
		return "" // a comment
	}
	return html.EscapeString(strings.TrimSuffix(strings.TrimPrefix(p.raw, "<![CDATA["), "]]>"))
}

// neutralScript returns the text of a SCRIPT, without angle brackets if a browser may read it as
// tags. Scripts never run.
func neutralScript(text string, ambiguous bool) string {
	if !ambiguous {
		return text
	}
	return strings.ReplaceAll(text, "<", `\u003c`)
}

// styleText returns the text of a STYLE element with new addresses. In SVG, character references
// and CDATA sections are read first.
func (r *rewriter) styleText(p piece) string {
	text := p.raw
	if !p.ambiguous || !strings.ContainsAny(text, "<&") {
		return r.css(text)
	}
	switch {
	case !p.foreign:
	case strings.Contains(text, "<![CDATA["):
		text = strings.NewReplacer("<![CDATA[", "", "]]>", "").Replace(text)
	default:
		text = html.UnescapeString(text)
	}
	return neutralCSS(r.css(text))
}

// neutralCSS returns a style sheet that means the same whether a browser reads it as text, or as
// tags and character references. It escapes the characters < and & in strings. Elsewhere in CSS
// they occur only in comparisons and nested selectors, where a blank after them changes nothing.
func neutralCSS(css string) string {
	if !strings.ContainsAny(css, "<&") {
		return css
	}
	var b strings.Builder
	escape := strings.NewReplacer("<", `\3c `, "&", `\26 `)
	again := strings.NewReplacer(`\<`, `\3c `, `\&`, `\26 `)
	apart := strings.NewReplacer("<!--", " ", "<", "< ", "&", "& ")
	for l := (lexer{css: css}); ; {
		t := l.next()
		text := css[t.start:t.end]
		switch t.kind {
		case endOfSheet:
			return b.String()
		case stringToken, urlToken:
			text = escape.Replace(text)
		case name, function, atKeyword, hash: // they contain neither, except escaped
			text = again.Replace(text)
		default:
			text = apart.Replace(text)
		}
		b.WriteString(text)
	}
}
