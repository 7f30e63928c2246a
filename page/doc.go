// Package page holds one fetched page as a value: its redirect chain, its bytes and their decoded
// text, one HTML parse shared by all callers, what the page declares about itself, and the text,
// links and copy that a usage may see.
//
// It decides nothing. A caller that knows the policy passes a Cut, whose Keep decides on a part of
// the page by the class statements (marks) of that part (P2 2.2.5). Text, titles, extracts, links
// and copies leave out the other parts.
//
//	page.go      Hop, Page: the value and what is read from its response
//	charset.go   bytes to text and back
//	tree.go      the one parse, and what one walk over it finds
//	tame.go      bounds on hostile markup, and XHTML made readable
//	own.go       META, class tokens and robots headers, with line and column
//	plus.go, xmp.go, xmp_rdf.go
//	             the licence that an image embeds
//	fragment.go  the ids that META tags name, as the pilot wrote it
//	keep.go      Cut, Keep and the marks in force for a node
//	text.go      Text and Title, and what is text of an element
//	writer.go    words, the white space between them, and the blocks they make
//	blocks.go    Blocks: headings, navigation and the like
//	hidden.go, styles.go
//	             what a reader does not see
//	read.go, read_xml.go, read_markdown.go
//	             what is not HTML
//	pdf_plain.go, pdf_glyphs.go, pdf_codes.go, read_pdf.go
//	             PDF: a file within bounds, what is drawn, and the words that makes
//	extract.go   Extract and Link: the locators of P1 2.5.3.2 and 2.5.5.6
//	links.go     Links: what the page leads to
//	headers.go   Link and Refresh headers, META refresh
//	feed.go      the items of RSS and Atom
//	xml.go       XML as feeds and sitemaps have it
//	requisites.go, css.go
//	             Requisites: what the page is shown with
//	canonical.go Canonical
//	resolve.go   references made absolute
//	copy.go      Copy: the bytes that may be kept
//	drawable.go  Drawable: whether marks hold in a picture of the page
//	language.go  Language, and the likely one
//
// The tree is that of the HTML parser (N29), with the content of noscript read as markup inside it.
// Work and memory are linear in the size of the body.
package page
