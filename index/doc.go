// Package index makes the permitted text of pages searchable, and forgets it again.
//
// A Document is what may be found of one page. A Hit names a page by its URL. The index holds
// terms, but no text and no title: package present cuts what a reader sees of a hit from what may
// be presented. Where a page may not be preserved, its terms are stored without positions, so that
// the text cannot be restored from them.
//
// Every language has its own fields for titles, headings and text, and its own analyser. Pages of
// other languages, or of none, use the plain analyser. A query is tried in all fields in use. Where
// positions are stored, the form of each word is stored too, so that a phrase is found as it is
// written and not in other forms of its words.
//
// Scripts that are written without blanks (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese)
// are cut into characters and the breaks between them, in every field. A run of characters in a
// query must be found as it is written: character next to character, and a break where the query
// has one. Where no positions are stored, a page must have all characters.
//
// bleve keeps the segments, merges them and ships the analysers. Segments are built and read by
// package segment, which says why.
//
//   - index.go: opening, closing, putting and deleting
//   - document.go: documents as fields
//   - language.go: the analysers
//   - token.go: text as tokens, and folding
//   - words.go: a field of running text, and its analysis
//   - glossary.go: the terms of tokens that an analyser has met
//   - form.go: forms of words
//   - bounds.go: how much of a document is indexed
//   - query.go: the language of queries
//   - search.go: queries as runs of terms in fields
//   - match.go: the documents of a segment that match a query
//   - rank.go: scores
//   - written.go: preference for words as the query writes them
//   - results.go: the best results first
//   - matcher.go: the words of a text that a query asks for
//   - upkeep.go: compaction and verification
//   - backup.go: snapshots, and copies of them
//
// An Index is safe for concurrent use. One process at a time may have it open.
package index
