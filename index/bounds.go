package index

import (
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/text/unicode/norm"
)

// Limits on what is indexed of one document. Analysing a word for the first time takes ten
// microseconds.
const (
	maxWords    = 1_000_000
	maxDistinct = 100_000   // distinct words
	maxHeadings = 256 << 10 // bytes of headings
	// bytes of text that are kept without counting words, so that an ordinary page is not read
	// twice
	fewWords    = 1 << 20
	wordsAtOnce = 64 << 10 // bytes of text whose words are counted in one step
)

// Bound shortens the text and the headings of d to the limits for one document. It returns a
// sentence about what was cut, "" if nothing was.
func (d *Document) Bound() (why string) {
	if len(d.Headings) > maxHeadings {
		d.Headings = d.Headings[:blankBefore(d.Headings, maxHeadings)]
		why = fmt.Sprintf("only the first %d KiB of its headings are indexed as such", maxHeadings>>10)
	}
	if len(d.Text) <= fewWords {
		return why
	}
	seed, words, seen := maphash.MakeSeed(), 0, map[uint64]struct{}{}
	for start := 0; start < len(d.Text); {
		end := start + wordsAtOnce
		if end = min(end, len(d.Text)); end < len(d.Text) {
			end = start + blankBefore(d.Text[start:], wordsAtOnce)
		}
		tokenise(norm.NFKC.Bytes([]byte(d.Text[start:end])), func(token []byte, _ analysis.TokenType, _ int) {
			words++
			seen[maphash.Bytes(seed, token)] = struct{}{}
		})
		if words > maxWords || len(seen) > maxDistinct {
			d.Text = d.Text[:start]
			return fmt.Sprintf("only the first %d bytes of its text are indexed: "+
				"at most %d words of a page are, %d of them different",
				start, maxWords, maxDistinct)
		}
		start = end
	}
	return why
}

// blankBefore returns the end of the last whole word in the first n bytes of s, or n if there is
// none. It never splits a character.
func blankBefore(s string, n int) int {
	if i := strings.LastIndexAny(s[:n], " \n\f"); i > 0 {
		return i
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return n
}
