// Package index makes the permitted text of pages searchable, and deletes it completely on request.
//
// A Document is the searchable content of one page. A Hit names a page by its URL. The index stores
// terms, but no text and no title: package present makes titles and snippets from the stored copy,
// as policy permits. If a page may not be preserved, its terms are stored without positions, so
// that the text cannot be restored from them.
//
// Every language has separate fields for titles, headings and text, and its own analyser. Pages in
// other languages, or in an unknown language, use the plain analyser. A query searches all fields
// in use. With positions, the form of each word is stored too, so that a phrase is found only as it
// is written, not in other forms of its words.
//
// Text in scripts without blanks (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) is divided
// into characters and the breaks between them, in every field. A run of characters in a query
// matches the same characters next to each other, with a break wherever the query has a break.
// Without positions, a page matches if it contains all characters.
//
// The library bleve stores and merges the segments, and contains most of the analysers. Package
// segment builds and reads the segments; its documentation gives the reasons.
//
//   - open.go: opening an index, and errors of bleve
//   - index.go: closing, putting and deleting
//   - document.go: documents as fields
//   - language.go: the analysers
//   - croatian.go: the stems of Croatian words
//   - token.go: text as tokens, and folding
//   - words.go: a field of running text, and its analysis
//   - glossary.go: a cache of the terms of tokens
//   - form.go: forms of words
//   - bounds.go: how much of a document is indexed
//   - query.go: the language of queries
//   - search.go: queries as runs of terms in fields
//   - match.go: the documents of a segment that match a query
//   - place.go: words next to each other
//   - late.go: texts that are compared with a phrase only if necessary
//   - rank.go: scores
//   - written.go: preference for words as the query writes them
//   - results.go: the best results first
//   - matcher.go: the words of a text that a query asks for
//   - upkeep.go: compaction and verification
//   - backup.go: snapshots, and copies of them
//
// An Index is safe for concurrent use. One process at a time may have it open.
package index
