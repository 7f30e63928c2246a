package segment

// Form distinguishes the words that an analyser maps to the same term, so that a phrase is found as
// it is written. It is 0 for a word that is written as its term. Otherwise its lowest WordBits bits
// are a number for the word, and the bits above a number for an article that the analyser removes;
// both are hashes.
type Form uint32

const (
	WordBits    = 14
	ArticleBits = 7
	formBits    = ArticleBits + WordBits
)

// Matches reports whether a word of form f is written as a query asks with want. For the first word
// of a phrase the query may leave out the article.
func (f Form) Matches(want Form, first bool) bool {
	const article = ^Form(1<<WordBits - 1)
	return f&^article == want&^article && (f&article == want&article || first && want&article == 0)
}
