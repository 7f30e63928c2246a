// Package explain says what one crawler may do with one URL, which lines decide, and which lines they
// overrule. It makes no request of its own: its caller supplies the policies and the page.
//
//	explain.go  Question, Explanation, and Of, which answers a question
//	pasted.go   Pasted: the answer by the text of a robots.txt that is not published
//	lines.go    the source lines behind fields
//	report.go   Report: an explanation as JSON
//	words.go    reasons and places in words, for terminals and pages
//	limits.go   limits in words
//	required.go what must be used or shown with a page, in words
package explain
