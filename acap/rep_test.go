package acap

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The conventional groups are the same as in the file without its ACAP lines (RFC 9309 2.2.4, X79).
func TestConventionalLayerIgnoresACAP(t *testing.T) {
	conventional := []string{"User-agent: *", "User-agent: searchbot", "User-agent: newsbot", "Disallow: /a/",
		"Allow: /a/b", "Disallow:",
		"Crawl-delay: 3", "Sitemap: http://example.com/s.xml", "", "# a comment", "Mood: calm", "Allow =/a"}
	ofACAP := []string{"ACAP-crawler: *", "ACAP-crawler: searchbot", "ACAP-crawler:", "ACAP-allow-crawl: /a/",
		"ACAP-disallow-crawl: /b/",
		"ACAP-allow-index: /c/ time-limit=3-days", "ACAP-usage-purpose: news", "ACAP-version: 1.1",
		"ACAP-resource-set: s /a/", "ACAP-frobnicate: 1",
		"ACAP-qualified-usage: q index time-limit=1-days", "ACAP-permissions-reference: /more.txt",
		"ACAP-request-take-down: /x",
		"ACAP-allow-index /c/", "  acap-crawler : newsbot"}
	dice := rand.New(rand.NewPCG(79, 19))
	for range 5000 {
		var with, without []string
		for range 1 + dice.IntN(14) {
			line, plain := conventional[dice.IntN(len(conventional))], true
			if dice.IntN(2) == 0 {
				line, plain = ofACAP[dice.IntN(len(ofACAP))], false
			}
			with = append(with, line)
			if !plain {
				line = "" // an empty line, so that the other lines keep their numbers
			}
			without = append(without, line)
		}
		got, want := parseLines(with), parseLines(without)
		if !slices.EqualFunc(got.groups, want.groups, sameGroup) {
			t.Fatalf("the groups differ from those of the file without its ACAP lines:\n%s", strings.Join(with, "\n"))
		}
	}
}

func parseLines(lines []string) *File {
	return Parse("http://example.com/robots.txt", []byte(strings.Join(lines, "\n")))
}

func sameGroup(a, b *group) bool {
	return slices.Equal(a.agents, b.agents) && a.ruled == b.ruled && slices.Equal(a.delays, b.delays) &&
		slices.EqualFunc(a.rules, b.rules, func(x, y ruleLine) bool {
			return *x.field == *y.field &&
				x.allow == y.allow && x.value == y.value
		})
}
