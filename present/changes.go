package present

import "github.com/acapcrawl/acapcrawl/acap"

// What is made of a page beside what its form is (acap.Usage.Changes), and only where it happens.
const (
	less  = acap.ContentChange | acap.StructureChange // of a copy something is missing
	marks = acap.StyleChange | acap.AnnotationChange  // the words searched for are marked
)

// marked says whether words of what d permits may be marked as those searched for.
func marked(d acap.Decision) bool { return d.Changing(marks, "words are marked").Allowed }

// Forgone tells, a line each, what is not done where d permits, for it would change what may not be
// changed.
func Forgone(d acap.Decision) (lines []string) {
	switch d.Usage {
	case acap.PresentCurrentCopy, acap.PresentOldCopy:
		if d.Allowed && !d.Changing(less, "").Allowed {
			lines = append(lines, "a copy of which something is missing is not shown")
		}
	case acap.PresentSnippet, acap.PresentOldSnippet:
		if d.Allowed && !marked(d) {
			lines = append(lines, "words searched for are not marked")
		}
	}
	return lines
}
