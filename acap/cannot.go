package acap

// ElementLevel in Crawler.Cannot means that a crawler cannot treat parts of a page separately (P2
// 2.2.6).
const ElementLevel = "element-level"

// Capabilities returns the words that Crawler.Cannot may contain: the standard usage types, the
// qualifier types of P1 annex A, and ElementLevel.
func Capabilities() []string {
	var names []string
	for _, u := range usageNames {
		names = append(names, string(u))
	}
	return append(append(names, qualifierNames()...), ElementLevel)
}
