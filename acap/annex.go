package acap

// Pair is a qualifier type and a usage type that it may qualify.
type Pair struct {
	Usage     Usage
	Qualifier string
}

// Annex returns the pairs in the table of P1 annex A, in the order of the table. location, which P2
// 2.2.9 adds for META tags, comes last.
func Annex() []Pair {
	var pairs []Pair
	for _, row := range qualifierTable {
		for k := range kinds {
			if row.usage.has(k) {
				pairs = append(pairs, Pair{k.usage(), row.name})
			}
		}
	}
	return pairs
}
