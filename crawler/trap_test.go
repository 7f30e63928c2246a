package crawler

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// Real addresses, in testdata/addresses.txt, are not taken for traps.
func TestNoTrap(t *testing.T) {
	file, err := os.Open("testdata/addresses.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	n := 0
	for ; lines.Scan(); n++ {
		u, err := address.Parse(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		if why := trap(u); why != "" {
			t.Errorf("%s: %s", lines.Text(), why)
		}
	}
	if lines.Err() != nil || n < 100 {
		t.Errorf("%d addresses, %v", n, lines.Err())
	}
}

func TestTrap(t *testing.T) {
	for _, c := range []struct{ name, address string }{
		{"depth", "http://h/" + numbered("a", 31, "/")},
		{"a segment again and again", "http://h/news/about/about/about/"},
		{"to the end", "http://h/about/about/about"},
		{"two segments", "http://h/x/en/help/en/help/en/help"},
		{"five segments", "http://h/" + strings.Repeat("one/two/three/four/five/", 3)},
		{"a file with a path behind it", "http://h/index.php/index.php/index.php/login"},
		{"numbers too in the end", "http://h/1/1/1/1/1/1/"},
		{"slashes", "http://h/a" + strings.Repeat("/", 12) + "b"},
		{"one segment here and there", "http://h/shop/a/shop/b/shop/c/shop/d/shop/e"},
		{"a long query", "http://h/?q=" + strings.Repeat("ab", 1000)},
		{"the same parameter", "http://h/?page=2&sort=up&page=2&sort=up&page=2"},
		{"many of a name", "http://h/?" + numbered("f=", 26, "&")},
		{"many parameters", "http://h/?" + strings.ReplaceAll(numbered("f", 101, "&"), "&", "=1&")},
		{"address in address",
			"http://h/login?to=%2Flogin%3Fto%3D%252Flogin%253Fto%253D%25252Flogin%25253Fto%25253D%2525252Flogin"},
	} {
		u, err := address.Parse(c.address)
		if err != nil {
			t.Fatal(err)
		}
		if trap(u) == "" {
			t.Errorf("%s: %s is no trap", c.name, u)
		}
	}
}

func numbered(name string, n int, separator string) string {
	var parts []string
	for i := range n {
		parts = append(parts, name+strings.Repeat("x", i+1))
	}
	return strings.Join(parts, separator)
}

// Whatever its text is, a relative link that lengthens the path at each visit is soon taken for a
// trap.
func FuzzTrap(f *testing.F) {
	f.Add("en/help/")
	f.Add("1/")
	f.Add("/")
	f.Fuzz(func(t *testing.T, link string) {
		if !strings.HasSuffix(link, "/") || strings.Contains(link, ".") || len(link) > 100 ||
			strings.ContainsAny(link, "?#%:\\") {
			return
		}
		raw := "http://h/"
		for range maxSegments + 1 {
			raw += link
		}
		if u, err := address.Parse(raw); err == nil && u.Path != "/" && trap(u) == "" {
			t.Errorf("%s is no trap", u)
		}
	})
}

func BenchmarkTrap(b *testing.B) {
	for _, raw := range []string{"http://h/news/2026/11/21/ships-in-berth.html",
		"http://h/a/b/c/d/e/f/g/h/i/j/k/l?m=n&o=p&q=r"} {
		u, err := address.Parse(raw)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(u.Path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				trap(u)
			}
		})
	}
}
