package index

import (
	"bytes"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// croatian is a filter that removes the endings of Croatian words: those of declensions, of
// conjugations, and the syllables between these and the stem (brod-ov-im-a, put-ov-at-i, rad-il-a).
// The sounds of a stem that change between its forms stay as they are, so ruka does not find ruci.
//
// The analyser of bleve for Croatian would compile 75 regular expressions whenever the program
// starts, which is a tenth of the time of a short command, and one of its filters has different
// results for one word, since it iterates over a map.
type croatian struct{}

// Filter implements analysis.TokenFilter.
func (croatian) Filter(in analysis.TokenStream) analysis.TokenStream {
	for _, t := range in {
		if !t.KeyWord {
			t.Term = croatianStem(t.Term)
		}
	}
	return in
}

// croatianStem removes endings from word, which is in lower case, as long as three letters and one
// vowel remain. Each form of a word loses all its endings, so that all have the same stem.
func croatianStem(word []byte) []byte {
	for {
		stem := withoutCroatianEnding(word)
		if utf8.RuneCount(stem) < 3 || !bytes.ContainsAny(stem, "aeiour") { // brzo, prst: r is a vowel too
			return word
		}
		word = stem
	}
}

// withoutCroatianEnding removes one ending from word. It returns nil if word has none.
func withoutCroatianEnding(word []byte) []byte {
	stem := word
	for len(stem) > 0 {
		_, size := utf8.DecodeLastRune(stem)
		stem = stem[:len(stem)-size]
		switch string(word[len(stem):]) {
		case "a", "e", "i", "o", "u", // brod-a, mor-e, put-u
			"om", "em", "im", "am", "ih", "og", "eg", "oj", // brod-om, velik-ih, mor-em, čit-am
			"ov", "ev", "ij", // brod-ov-i, kralj-ev-i, nov-ij-i
			"iš", "eš", "aš", "aj", "uj", "at", "it", "jet", // rad-iš, čit-aj-u, put-uj-em, vid-jet-i
			"al", "il", "jel": // čit-al-a, rad-il-a, vid-jel-a
			return stem
		}
	}
	return nil
}
