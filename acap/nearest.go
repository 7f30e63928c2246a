package acap

// nearest gives a hint that names the known word closest to s, or none where nothing is close.
func nearest(s string, known []string) string {
	best, distance := "", 1+len(s)/3
	for _, k := range known {
		if d := editDistance(s, k, distance); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// editDistance counts insertions, deletions and changes, up to limit.
func editDistance(a, b string, limit int) int {
	if len(a) > 64 || len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, change)
		}
	}
	return row[len(b)]
}
