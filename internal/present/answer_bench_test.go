package present

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkAnswer measures one page of ten search results, for archived pages of 4 KB. In one case
// the results are shown for the first time. In the other cases they were shown before: without a
// policy, with limits, and under a policy of a thousand rules.
func BenchmarkAnswer(b *testing.B) {
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "ACAP-allow-present-snippet: /%d/ max-length=20-words\n", i)
	}
	for _, c := range []struct {
		name, robots string
		first        bool
	}{
		{"first", "", true},
		{"again", "", false},
		{"again, limits", "ACAP-allow-present: / " +
			"must-include-resource=the-acap:credit:text:Ada%20Quill\nACAP-allow-present-snippet: / max-length=20-words",
			false},
		{"again, many rules", many.String(), false},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := open(b)
			s.setRobots(c.robots)
			group := 0
			hold := func() {
				group++
				for i := range 10 {
					text := strings.Repeat(fmt.Sprintf("<p>The pilot waits for tide %d of boat%d at the quay.", i,
						group), 70)
					s.hold(fmt.Sprintf("/%d/%d", group, i), "<html lang=en><title>Low water</title>"+text)
				}
			}
			hold()
			for b.Loop() {
				if c.first {
					b.StopTimer()
					hold()
					b.StartTimer()
				}
				found, err := s.Search(context.Background(), Query{Text: fmt.Sprintf("boat%d", group), Limit: 10},
					Reader{})
				if err != nil || len(found.Results) != 10 || found.Results[0].Snippet == nil {
					b.Fatalf("%d results, %v", len(found.Results), err)
				}
			}
		})
	}
}
