package segment

// Form distinguishes words that an analyser maps to the same term, so that a phrase is found as it
// is written. It is 0 for a word that equals its term. Otherwise its lowest WordBits bits are a
// hash of the word, and the bits above are a hash of the article that the analyser removes.
type Form uint32

const (
	WordBits    = 14
	ArticleBits = 7
	formBits    = ArticleBits + WordBits
)

// Matches reports whether a word of a text, with the form f, is written like a word of a query,
// with the form want. If first is true, the word is the first of a phrase, and the query may omit
// its article.
func (f Form) Matches(want Form, first bool) bool {
	const article = ^Form(1<<WordBits - 1)
	return f&^article == want&^article && (f&article == want&article || first && want&article == 0)
}
