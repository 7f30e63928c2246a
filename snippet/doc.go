// Package snippet cuts the few words of a page that a reader sees with a search result.
//
// Build is a pure function: text, limits and query in, a Snippet out. It never exceeds a limit of
// the publisher (J01, J02, J05), and keeps unmodified what must be unmodified (X06). Within these
// limits it looks for the passage that a reader would like: the one with the words searched for,
// from the beginning of a sentence, cut between words.
//
//   - snippet.go: Build, and how passages are joined
//   - passage.go: which passage, and where it begins
//   - plain.go, room.go: how a text is prepared
//   - measure.go: characters, words, and what fits
//   - query.go, match.go: words of the query, and their places in a text
//   - letters.go: classes of letters, and folding
//
// The text of a Snippet is plain: the caller escapes it, and marks up the ranges in Marks.
package snippet
