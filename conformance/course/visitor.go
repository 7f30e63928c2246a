package course

import (
	"regexp"
	"slices"
	"strings"
)

var (
	productToken = regexp.MustCompile(`^[A-Za-z0-9!$%&'+.^_|~-]{1,64}$`)
	compatible   = regexp.MustCompile(`compatible; *([^;/() ]+)`)
	introduced   = regexp.MustCompile(`\(([^;/() ]+)(?:/[^;() ]*)?; *\+?https?:`) // (Applebot/0.1; +http://www.apple.com/go/applebot)
	robotic      = regexp.MustCompile(`(?i)compatible;|bot|crawl|spider|headless|https?://|\+http|mailto:`)
	browsing     = regexp.MustCompile(`^Mozilla/5\.0 \([^()]*(\([^()]*\)[^()]*)*\) .*(Chrome|Firefox|Safari|Edg|OPR)/`)
)

// Name reports whether a crawler can be called so in robots.txt and on pages of the course.
func Name(s string) bool { return productToken.MatchString(s) && strings.ContainsFunc(s, letter) }

// platforms are product tokens that say what a program is like, not what it is.
var platforms = []string{"mozilla", "applewebkit", "khtml", "gecko", "chrome", "headlesschrome", "chromium", "safari", "version", "mobile", "compatible", "like"}

// Names gives the product tokens of a User-Agent, the likeliest first: what calls itself compatible or gives an address, then those outside
// comments, without those of browsers.
func Names(agent string) []string {
	agent = cut(agent)
	var names []string
	add := func(token string) {
		token, _, _ = strings.Cut(strings.Trim(token, ",;"), "/")
		if Name(token) && !slices.Contains(platforms, strings.ToLower(token)) && !slices.Contains(names, token) && len(names) < 8 {
			names = append(names, token)
		}
	}
	mozilla := strings.HasPrefix(agent, "Mozilla/")
	if mozilla {
		for _, m := range slices.Concat(compatible.FindAllStringSubmatch(agent, -1), introduced.FindAllStringSubmatch(agent, -1)) {
			add(m[1])
		}
	}
	for i, word := range strings.Fields(outside(agent)) {
		// "colly - https://…": what follows the first blank describes it, unless it has a version.
		if mozilla || i == 0 || strings.Contains(word, "/") && !strings.Contains(word, "://") {
			add(word)
		}
	}
	return names
}

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// outside gives a User-Agent without its comments.
func outside(agent string) string {
	depth := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r == '(':
			depth++
		case r == ')' && depth > 0:
			depth--
		case depth == 0:
			return r
		}
		return -1
	}, agent)
}

// browser reports whether a User-Agent is that of a browser with a person before it.
func browser(agent string) bool { return browsing.MatchString(agent) && !robotic.MatchString(agent) }
