// Package terms puts together everything one resource may be used for: the policy of its origin,
// what the page says of itself, and the substitutes and required resources that its permissions
// name. Decide, explain, holdings, present and conformance all ask here, so that they cannot
// disagree.
//
//	terms.go     Terms: decisions under facts, and which parts of the page a usage may see
//	holding.go   all that decides what may be held of a page, in one value
//	required.go  must-use-resource and must-include-resource: whether they can be had, and what they hold
//	kept.go      what is kept of a page so that it can be presented later without a request
//	fit.go       what of that may be shown, or only held, by the policy of now
//	carry.go     what stays of it where a resource cannot be had for a failure
//	marks.go     elements with permissions of their own, told apart without the page
//	redirect.go  addresses that lead to a page, and the page
//	title.go     titles, and links that are made of something else
//	picture.go   what a thumbnail may be made from
//	content.go   the text that may be indexed, the links that may be followed, the copy that may be kept, the snippet
package terms
