// Package present shows stored pages to readers: search results, copies, snippets and thumbnails.
// All stored content that is shown must pass through this package.
//
// At the moment of showing, the package checks the current policy of the origin, the statements of
// the page when it was last fetched, the current time, and the reader (H11, K15). The package makes
// no HTTP request; only Names sends DNS queries.
//
//	present.go  Presenter: checks the terms of a stored page for a reader
//	library.go  Library: the storage that a Presenter reads
//	search.go   Search: results that index, present-link and present-snippet permit
//	candidate.go  a hit of the index that may become a result
//	details.go  Details: why a result is shown as it is
//	filter.go   Filter: conditions of a search besides its words
//	version.go  one version that a reader requested, and its current terms
//	versions.go Versions: the versions of an address that may be shown
//	around.go   Around: a few of these versions near a time
//	closed.go   pages of which no version may be shown, whatever it contains
//	state.go    State: what a reader may learn about an address of which nothing may be shown
//	decide.go   Decide: the decisions about a stored page, for a reader
//	listed.go   Listed, Linkable: whether a reader may see a link to an address
//	listing.go  List: the versions of many addresses, for CDX and feeds
//	copy.go     Copy: a copy that preserve and present-currentcopy or present-oldcopy permit
//	passage.go  Snippet: a snippet that present-snippet or present-oldsnippet permits
//	original.go Original: where to send a reader, if present-original permits it
//	changes.go  how presentations modify a page, and presentations not made for that reason
//	country.go  Countries: the country of an IP address
//	names.go    Names: the verified DNS names of an IP address
//	entry.go    Entry: a version in a list of the archive; Totals
//	thumbnail.go  Thumbnail: a small picture that preserve and present-(old)thumbnail permit
package present
