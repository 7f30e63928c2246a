// Package present is the only door by which anything held is shown: search results and copies.
//
// Presentation happens after fetching, so it asks again: today's policy of the origin, narrowed by
// what the page said of itself at the last lawful fetch, under the clock and the reader of now
// (H11, K15). It makes no request; only Names asks DNS, for those who want it to.
//
//	present.go  Presenter: what stands between the holdings and a reader
//	library.go  Library: what a Presenter reads, and the one on this machine
//	search.go   Search: results, as far as index, present-link and present-snippet permit
//	version.go  one version, as a reader asks for it, and the terms of now
//	copy.go     Copy: a preserved copy, as far as preserve and present-currentcopy or present-oldcopy permit
//	passage.go  Snippet: a snippet of one version, as far as present-snippet or present-oldsnippet permit
//	original.go Original: where a reader is led, as far as present-original permits
//	changes.go  what showing makes of a page, and what is left undone for it
//	country.go  Countries: the country of an address
//	names.go    Names: the verified names of an address
//	thumbnail.go  Thumbnail: a small picture, if preserve and present-(old)thumbnail permit it
package present
