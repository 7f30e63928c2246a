package index

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// croatian is a filter that removes the endings of Croatian words: those of declensions, of
// conjugations, and the syllables between these and the stem (brod-ov-im-a, put-ov-at-i, rad-il-a).
// The sounds of a stem that change between its forms stay as they are, so ruka does not find ruci.
// Some different words get one stem, as salata and sala do.
//
// The analyser of bleve for Croatian would compile more than 70 regular expressions whenever the
// program starts, which is a tenth of the time of a short command, and one of its filters has
// different results for one word, since it iterates over a map.
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

const (
	vowels   = "aeiou"
	syllabic = vowels + "r" // in brzo and prst, r is a vowel too
)

// croatianStem removes endings from word, which is in lower case, as long as a stem remains: three
// letters with a vowel, or a vowel and a consonant. It removes as many as it can, because then a
// form with a long ending has the same stem as one with a short ending.
func croatianStem(word []byte) []byte {
	for {
		stem := withoutCroatianEnding(word)
		switch n := utf8.RuneCount(stem); {
		case n >= 3 && bytes.ContainsAny(stem, syllabic):
		case n == 2 && bytes.IndexAny(stem, vowels) == 0 && bytes.LastIndexAny(stem, vowels) == 0: // An-a, ok-om
		default:
			return word
		}
		word = stem
	}
}

// withoutCroatianEnding removes one ending from word. It returns nil if word has none. The endings
// have no marks, so it does not matter whether word is written with its marks.
func withoutCroatianEnding(word []byte) []byte {
	stem := word
	for len(stem) > 0 {
		_, size := utf8.DecodeLastRune(stem)
		stem = stem[:len(stem)-size]
		switch string(word[len(stem):]) {
		case "a", "e", "i", "o", "u", // brod-a, mor-e, put-u
			"om", "em", "im", "am", "ih", "og", "eg", "oj", // brod-om, velik-ih, mor-em, čit-am
			"ov", "ev", "ij", // brod-ov-i, kralj-ev-i, nov-ij-i
			"aj", "uj", "at", "it", // čit-aj-u, put-uj-em, čit-at-i, rad-it-i
			"al", "il": // čit-al-a, rad-il-a
			return stem
		case "jet", "jel": // vid-jet-i, vid-jel-a, but not svijet
			if last, _ := utf8.DecodeLastRune(stem); !strings.ContainsRune(vowels, last) {
				return stem
			}
			return nil
		}
	}
	return nil
}
