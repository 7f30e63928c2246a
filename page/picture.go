package page

import (
	"strings"

	"golang.org/x/net/html"
)

// Image returns the absolute address of the first IMG that locator names, or that is inside an
// element that locator names. It skips an IMG that c cuts, and returns "" if no IMG is left.
// Locators are the same as for Extract.
func (p *Page) Image(locator string, c Cut) (address string) {
	t := p.tree()
	s, b := t.scope(c), newBase(p.url, t)
	for _, found := range t.find(locator) {
		walk(found, func(n *html.Node) bool {
			src := strings.TrimSpace(attr(n.Attr, "src"))
			if address == "" && n.Type == html.ElementNode && n.Data == "img" && src != "" && s.at(n) {
				address, _ = b.resolve(src)
			}
			return address == ""
		}, func(*html.Node) {})
	}
	return address
}
