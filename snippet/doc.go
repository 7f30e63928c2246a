// Package snippet makes the short text of a page that is shown with a search result.
//
// Build is a pure function that makes a Snippet from a text, the publisher's limits and a query. It
// never exceeds a limit (J01, J02, J05), and does not change required extracts (X06). Within the
// limits it prefers the passage that helps a reader most: one with the words of the query, from the
// beginning of a sentence, cut between words.
//
//   - snippet.go: Build, and joining of passages
//   - passage.go: selection of a passage and of its beginning
//   - plain.go, room.go: preparation of a text
//   - measure.go: counting of characters and words
//   - query.go, match.go: words of the query, and their places in a text
//   - letters.go: classes of letters, and folding
//
// The text of a Snippet is plain: the caller escapes it, and marks up the ranges in Marks.
package snippet
