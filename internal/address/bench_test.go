package address

import "testing"

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("https://www.example.com/news/2026/11/21/ships-in-berth.html?page=2&sort=date"); err != nil {
			b.Fatal(err)
		}
	}
}
