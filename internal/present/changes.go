package present

import "github.com/acapcrawl/acapcrawl/acap"

// These are modifications of a page that only some presentations make. Those that every
// presentation of a usage makes are listed by acap.Usage.Changes.
const (
	less  = acap.ContentChange | acap.StructureChange // part of the page is missing from the copy
	marks = acap.StyleChange | acap.AnnotationChange  // the words of the query are highlighted
)

// marked reports whether d permits highlighting the words of the query.
func marked(d acap.Decision) bool { return d.Changing(marks, "words are marked").Allowed }

// Forgone returns one line for each way of presenting a page that d permits, but that is not used
// because it would modify the page in a way that d prohibits.
func Forgone(d acap.Decision) (lines []string) {
	switch d.Usage {
	case acap.PresentCurrentCopy, acap.PresentOldCopy:
		if d.Allowed && !d.Changing(less, "").Allowed {
			lines = append(lines, "an incomplete copy is not shown")
		}
	case acap.PresentSnippet, acap.PresentOldSnippet:
		if d.Allowed && !marked(d) {
			lines = append(lines, "words searched for are not marked")
		}
	}
	return lines
}
