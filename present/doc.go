// Package present is the only door by which anything held is shown: search results and copies.
//
// Presentation happens after fetching, so it asks again: today's policy of the origin, narrowed by what the page said of itself
// at the last lawful fetch, under the clock and the reader of now (H11, K15). It makes no request; only Names asks DNS, for those who
// want it to.
//
//	present.go  Presenter: what stands between the holdings and a reader
//	search.go   Search: results, as far as index, present-link and present-snippet permit
//	copy.go     Copy: a preserved copy, as far as preserve and present-currentcopy or present-oldcopy permit
//	country.go  Countries: the country of an address
//	names.go    Names: the verified names of an address
//	thumbnail.go  Thumbnail: a small picture of it, as far as preserve and present-thumbnail or present-oldthumbnail permit
package present
