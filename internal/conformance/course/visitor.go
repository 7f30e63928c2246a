package course

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

var (
	productToken = regexp.MustCompile(`^[A-Za-z0-9!$%&'+.^_|~-]+$`)
	compatible   = regexp.MustCompile(`compatible; *([^;/() ]+)`)
	// matches the comment of (Applebot/0.1; +http://www.apple.com/go/applebot)
	introduced = regexp.MustCompile(`\(([^;/() ]+)(?:/[^;() ]*)?; *\+?https?:`)
)

// robotic and browsing match a User-Agent. They are compiled when needed, because they are large.
var (
	robotic = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)compatible;|bot|crawl|spider|headless|https?://|\+http|mailto:`)
	})
	browsing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^Mozilla/5\.0 \([^()]*(\([^()]*\)[^()]*)*\) .*(Chrome|Firefox|Safari|Edg|OPR)/`)
	})
)

// Name reports whether s can be a crawler's name in robots.txt and on pages of the course.
func Name(s string) bool {
	return len(s) <= 64 && productToken.MatchString(s) && strings.ContainsFunc(s, letter)
}

// platforms are product tokens, in lower case, that name a platform or an engine instead of a
// crawler.
var platforms = []string{"mozilla", "applewebkit", "khtml", "gecko", "chrome", "headlesschrome", "chromium", "safari",
	"version", "mobile", "compatible", "like"}

// Names returns the product tokens of a User-Agent, the most likely name first, at most eight. In a
// User-Agent that begins with Mozilla/, the tokens of comments that say "compatible" or give an
// address come first. The tokens outside comments follow. Tokens of browsers are left out.
func Names(agent string) []string {
	agent = cut(agent)
	var names []string
	add := func(token string) {
		token, _, _ = strings.Cut(strings.Trim(token, ",;"), "/")
		if Name(token) && !slices.Contains(platforms, strings.ToLower(token)) && !slices.Contains(names, token) &&
			len(names) < 8 {
			names = append(names, token)
		}
	}
	mozilla := strings.HasPrefix(agent, "Mozilla/")
	if mozilla {
		for _, m := range slices.Concat(compatible.FindAllStringSubmatch(agent, -1),
			introduced.FindAllStringSubmatch(agent, -1)) {
			add(m[1])
		}
	}
	for i, word := range strings.Fields(withoutComments(agent)) {
		// in a User-Agent such as "colly - https://…", words after the first blank describe the
		// program, except words with a version
		if mozilla || i == 0 || strings.Contains(word, "/") && !strings.Contains(word, "://") {
			add(word)
		}
	}
	return names
}

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// withoutComments returns a User-Agent without the comments in parentheses.
func withoutComments(agent string) string {
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

// isBrowser reports whether a User-Agent looks like a browser that a person uses.
func isBrowser(agent string) bool {
	return browsing().MatchString(agent) && !robotic().MatchString(agent)
}
