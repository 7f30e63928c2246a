// Package page represents one fetched page: its redirect chain, its bytes and their decoded text,
// one HTML parse shared by all callers, the statements of the page about itself, and the text,
// links and copy that a usage may see.
//
// It makes no policy decisions. A caller that knows the policy passes a Cut, whose Keep decides
// about each part of the page by the class statements (marks) of that part (P2 2.2.5). Text,
// titles, extracts, links and copies leave out the prohibited parts.
//
//	page.go      Hop, Page: the value, and what is read from its response
//	charset.go   conversion of bytes to text and back
//	tree.go      the HTML parse, and what one walk over the tree finds
//	tame.go      limits for hostile markup; conversion of XHTML for the parser
//	own.go       META, class tokens and robots headers, with line and column
//	plus.go, xmp.go, xmp_rdf.go
//	             the licence that an image embeds
//	fragment.go  the ids that META tags name, a form of the ACAP pilot
//	keep.go      Cut, Keep and the marks in force for a node
//	text.go      Text and Title, and which parts of an element are text
//	writer.go    words, the white space between them, and their blocks
//	blocks.go    Blocks: headings, navigation and similar parts
//	hidden.go, styles.go
//	             elements that a reader does not see
//	read.go, read_xml.go, read_markdown.go
//	             documents that are not HTML
//	pdf_plain.go, pdf_glyphs.go, pdf_codes.go, read_pdf.go
//	             PDF: a file within limits, its characters, and their words
//	extract.go   Extract and Link: the locators of P1 2.5.3.2 and 2.5.5.6
//	links.go     Links: the addresses that the page links to
//	headers.go   Link and Refresh headers, META refresh
//	feed.go      the items of RSS and Atom
//	xml.go       a tolerant XML reader for feeds and sitemaps
//	requisites.go, css.go
//	             Requisites: the subresources of the page
//	canonical.go Canonical
//	resolve.go   relative references made absolute
//	rendered.go  the page as sent and the document that its scripts made
//	copy.go      Copy: the bytes that may be kept
//	drawable.go  Drawable: whether marks apply to a picture of the page
//	language.go  Language and LikelyLanguage
//
// The tree is that of the HTML parser (N29), with the content of NOSCRIPT parsed as markup.
// Running time and memory are linear in the size of the body.
package page
