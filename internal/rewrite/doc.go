// Package rewrite changes the addresses in archived HTML and CSS, so that every link and every
// subresource points to the archive's own host. It is for pages whose terms permit modification. It
// also finds the elements of an unchanged page that make a browser contact another host in spite of
// a Content-Security-Policy. It has no network, no clock and no storage, and does not know the
// archive: the caller gives a function that returns the replacement of an address.
//
//	meter.go      limits on the work for one document
//	rewrite.go    HTML, CSS, Kind, Func
//	foreign.go    Foreign: what contacts other hosts in a page that must not be changed
//	scan.go       a page as a sequence of tags, texts of elements, and the rest
//	surroundings.go where browsers may read text as tags
//	neutral.go    text that is the same in both readings
//	tag.go        the attributes of a tag and their places
//	attributes.go which attributes have addresses, and of which kind
//	values.go     values with several addresses, or an address within other text
//	css.go        addresses in style sheets
//	lexer.go      the tokens of CSS
//	resolve.go    what a browser makes of a reference
//
// Input is UTF-8: the caller converts a page to UTF-8 and sends the result with charset=utf-8,
// which browsers obey before any META element. It must be sent as text/html, because XML is read by
// other rules. Pages are read as a browser reads them while scripts are disabled.
//
// After rewriting, the only addresses that are not replaced are those that make no browser contact
// another host: empty references, fragments, schemes such as data or mailto, and links to ftp and
// the like, which a browser follows only if the reader wants it. What a browser cannot read as an
// address becomes about:blank, and so does data as the address of a frame or style sheet, because a
// document in it may name other hosts.
//
// Everything that is not an address passes byte for byte, with these exceptions. The href of BASE
// and xml:base are emptied, and so is integrity where the address of the element changes, because
// the resource behind it may change too. A reference in CSS without a closing quote gets one. Where
// a browser may read the text of an element as tags (for example STYLE in SVG), the text is written
// so that both readings are the same.
//
// Work and memory are proportional to the size of the page: nothing recurses but srcdoc, to a depth
// of four, and no tag or text may be longer than 16 MiB.
package rewrite
