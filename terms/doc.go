// Package terms puts together everything one resource may be used for: the policy of its origin, what the page says of itself,
// and the substitutes and required resources that its permissions name. Decide, explain, holdings, present and conformance all
// ask here, so that they cannot disagree.
//
//	terms.go     Terms: decisions under facts, and which parts of the page a usage may see
//	required.go  must-use-resource and must-include-resource: whether they can be had, and what they hold
//	kept.go      what is kept of a page so that it can be presented later without a request
//	content.go   the text that may be indexed, the links that may be followed, the copy that may be kept, the snippet
package terms
