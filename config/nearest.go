package config

// Nearest returns the element of words that is most similar to the misspelled name, or "" if no
// element is similar.
func Nearest(name string, words []string) string {
	best, least := "", len(name)/3+1
	for _, w := range words {
		if d := distance(name, w); d < least || d == least && best == "" {
			best, least = w, d
		}
	}
	return best
}

// distance returns how many bytes must be inserted, deleted or replaced to turn the first string
// into the second (Levenshtein distance).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
