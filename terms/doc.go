// Package terms combines everything that decides what a resource may be used for: the policy of its
// origin, the statements of the page, and the substitutes and the required resources that the
// permissions name. Packages decide, explain, holdings, present and conformance all use it, so that
// these packages cannot disagree.
//
//	terms.go     Terms: decisions about usages, and which parts of the page a usage may use
//	holding.go   everything that decides what may be stored of a page, in one value
//	required.go  checks and fetches the resources that must-use-resource and must-include-resource name
//	kept.go      what is stored of a page so that it can be presented later without a request
//	fit.go       which of the stored data may be shown, or only stored, under today's policy
//	carry.go     which stored data stays if a resource cannot be fetched because of a failure
//	marks.go     elements with their own permissions, checked when the page itself is not available
//	redirect.go  a page together with the addresses that redirect to it
//	title.go     titles, and links made from something other than the page
//	picture.go   what a thumbnail may be made from
//	scene.go     what a thumbnail of the page itself may be drawn from
//	content.go   the text to index, the links to follow, the copy to store, the snippet
package terms
