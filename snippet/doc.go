// Package snippet cuts the few words of a page that a reader sees beside a search result.
//
// One pure builder: text, limits and query in, a Snippet out. It never exceeds a limit of the publisher (J01, J02, J05), keeps
// what must stand unmodified (X06), and else looks for the passage that a reader would like: the one with the words
// searched for, from the beginning of a sentence, cut between words.
//
//   - snippet.go: Build, and how passages are put together
//   - passage.go: which passage, and where it begins
//   - plain.go, room.go: what a text is made into before it is looked at
//   - measure.go, eight.go: characters, words, and what fits
//   - query.go, match.go: words of the query, and where they stand in a text
//   - known.go: what is remembered of words
//   - letters.go: what letters are and which are the same
//
// The text is plain: whoever shows it escapes it, and marks up what Marks names.
package snippet
