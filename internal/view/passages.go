package view

import (
	"strconv"
	"strings"
)

// passage is a part of a comparison: a paragraph, or a number of unchanged paragraphs that are not
// shown.
type passage struct {
	Skipped int
	Runs    []run
}

// run is a sequence of words of a paragraph. Exactly one field is set.
type run struct {
	Same, Removed, Added string
}

// counts are the numbers of a summary.
type counts struct {
	added, removed, changed  int // paragraphs
	addedWords, removedWords int
}

// comparePassages compares two lists of paragraphs, and the words of paragraphs that were replaced.
func comparePassages(a, b []string) (list []passage, n counts) {
	edits := diff(a, b)
	i, j := 0, 0
	for k, e := range edits {
		switch {
		case e.same == 0:
			list = append(list, replaced(a[i:i+e.removed], b[j:j+e.added], &n)...)
		default:
			list = append(list, unchanged(a[i:i+e.same], k > 0, k < len(edits)-1)...)
		}
		i, j = i+e.same+e.removed, j+e.same+e.added
	}
	return list, n
}

// unchanged returns unchanged paragraphs: the first one after a change, the last one before a
// change, and the number of the others.
func unchanged(texts []string, after, before bool) (list []passage) {
	if after {
		list = append(list, passage{Runs: []run{{Same: texts[0]}}})
		texts = texts[1:]
	}
	skipped := len(texts)
	if before && skipped > 0 {
		skipped--
	}
	if skipped > 0 {
		list = append(list, passage{Skipped: skipped})
	}
	if skipped < len(texts) {
		list = append(list, passage{Runs: []run{{Same: texts[len(texts)-1]}}})
	}
	return list
}

// replaced compares paragraphs that were replaced by others, in pairs. What has no counterpart was
// removed or added.
func replaced(a, b []string, n *counts) (list []passage) {
	for k := range max(len(a), len(b)) {
		var before, after string
		if k < len(a) {
			before = a[k]
		}
		if k < len(b) {
			after = b[k]
		}
		switch {
		case before == "":
			n.added++
		case after == "":
			n.removed++
		default:
			n.changed++
		}
		list = append(list, passage{Runs: compareWords(before, after, n)})
	}
	return list
}

// compareWords compares two paragraphs word by word. If less than a third of the words are the
// same, the whole paragraph counts as replaced.
func compareWords(before, after string, n *counts) (runs []run) {
	a, b := strings.Fields(before), strings.Fields(after)
	edits, same := diff(a, b), 0
	for _, e := range edits {
		same += e.same
	}
	if same*3 < max(len(a), len(b)) {
		edits = []edit{{removed: len(a), added: len(b)}}
	}
	i, j := 0, 0
	for _, e := range edits {
		for _, one := range []run{{Same: strings.Join(a[i:i+e.same], " ")},
			{Removed: strings.Join(a[i+e.same:i+e.same+e.removed], " ")},
			{Added: strings.Join(b[j+e.same:j+e.same+e.added], " ")}} {
			if one != (run{}) {
				runs = append(runs, one)
			}
		}
		n.removedWords, n.addedWords = n.removedWords+e.removed, n.addedWords+e.added
		i, j = i+e.same+e.removed, j+e.same+e.added
	}
	return runs
}

// summary returns sentences that say what changed. identical means that the bytes are the same.
func (n counts) summary(identical bool) []string {
	switch {
	case identical:
		return []string{"Both versions have the same bytes."}
	case n == counts{}:
		return []string{"The text is the same. Other parts of the page differ."}
	}
	return []string{
		"Paragraphs: " + strconv.Itoa(n.added) + " added, " + strconv.Itoa(n.removed) + " removed, " +
			strconv.Itoa(n.changed) + " changed.",
		"Words: " + strconv.Itoa(n.addedWords) + " added, " + strconv.Itoa(n.removedWords) + " removed.",
	}
}
