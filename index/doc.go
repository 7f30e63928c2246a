// Package index makes the permitted text of pages searchable and forgets it again.
//
// Only a few words: a Document is what may be found of one page; a Hit names one by its URL. The index holds terms and
// no text, and no title: what a reader sees of a hit is cut elsewhere, from what may be presented. Where a page may not be
// preserved its terms are kept without their positions, so that the text cannot be put together again from them.
//
// Every language has fields of its own for titles, headings and text, filled by its own analyser; pages of other languages, or of
// none, go to the fields of the plain analyser. A query is tried in all fields in use. Where positions are kept, a number beside each
// says how the word is written, so that a phrase is found as it stands, and not in other forms of its words. Scripts that are written without
// blanks (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) are cut into characters in every field, and the breaks between them: a run
// of a query must be found as it stands, character beside character, a break where it has one; where no positions are kept, by all its
// characters.
//
//   - index.go: opening, closing, putting and deleting
//   - document.go: documents as fields
//   - language.go: the analysers
//   - token.go: how text is cut into tokens, and folding
//   - words.go: a field of running text, and its analysis
//   - glossary.go: what an analyser remembers of tokens it has met
//   - form.go: what tells the forms of a word apart
//   - segment.go: the builder of segments, in place of the library's
//   - chunks.go: how a list of documents is written
//   - spots.go: how it is written where a word stands
//   - query.go: the language of queries
//   - search.go: queries against fields
//   - match.go: what a segment has of a query, in place of the library's searchers
//   - lists.go: the lists of a segment, in place of the library's iterators
//   - numbers.go: the numbers of lists
//   - places.go: where in a document that stands, step by step
//   - rank.go: what comes first
//   - written.go: the forms of words as the query writes them
//   - results.go: the best of what was found, and then the others
//   - matcher.go: which words of a text a query asks for
//   - upkeep.go: compaction and verification
//   - backup.go: snapshots, and copies of them
//
// An Index is safe for concurrent use; one process at a time may have it open.
package index
