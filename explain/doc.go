// Package explain says what one crawler may do with one URL, which lines decide, and what lost against
// them. It makes no request of its own: its caller supplies the policies and the page.
//
//	explain.go  Question, Explanation, and Of, which answers a question
//	pasted.go   Pasted: the answer by the text of a robots.txt that is not published
//	lines.go    the source lines behind fields
//	report.go   Report: an explanation as JSON
//	words.go    reasons, limits and places in words, for terminals and pages
//	required.go what must be used or shown with a page, in words
package explain
