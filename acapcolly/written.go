package acapcolly

import (
	"slices"
	"strings"
	"unicode"

	"github.com/PuerkitoBio/goquery"
	whatwg "github.com/nlnwa/whatwg-url/url"

	"github.com/acapcrawl/acapcrawl/page"
)

// spelling parses addresses as Colly does, which spells some of them in another way than package page.
var spelling = whatwg.NewParser(whatwg.WithPercentEncodeSinglePercentSign())

// written is the value of an attribute that can be an address.
type written struct {
	key    linkKey
	marked bool // the element has rel=nofollow
	plain  bool // the value looks like an address; if not, it may as well be another word
}

// writtenIn returns all values of attributes in the markup of a page that can be addresses, resolved as Colly does.
func writtenIn(pg *page.Page) (list []written) {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(pg.Source()))
	if err != nil {
		return nil // reading from memory cannot fail
	}
	base := pg.URL().String()
	if href, found := doc.Find("base[href]").Attr("href"); found {
		if u, err := spelling.ParseRef(base, href); err == nil {
			base = u.Href(false)
		}
	}
	type value struct {
		text          string
		marked, plain bool
	}
	seen := map[value]bool{}
	doc.Find("*").Each(func(_ int, s *goquery.Selection) {
		rel := strings.Fields(strings.ToLower(s.AttrOr("rel", "")))
		v := value{marked: slices.Contains(rel, "nofollow")}
		for _, a := range s.Nodes[0].Attr {
			for _, v.text = range addressesIn(a.Key, a.Val) {
				v.plain = addressed(a.Key) || strings.Contains(v.text, "/")
				if seen[v] {
					continue
				}
				seen[v] = true
				if u, err := spelling.ParseRef(base, v.text); err == nil && strings.HasPrefix(u.Protocol(), "http") {
					list = append(list, written{keyOf(u.Href(true)), v.marked, v.plain})
				}
			}
		}
	})
	return list
}

// addressesIn returns what can be an address in an attribute: its value, and the addresses of a list such as that of
// srcset or ping.
func addressesIn(name, value string) []string {
	switch {
	case name == "class" || name == "id" || name == "rel": // names, not addresses
		return nil
	case strings.HasPrefix(value, "#") || strings.HasPrefix(value, "data:") || value == "" && !addressed(name):
		return nil
	}
	list := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	list = slices.DeleteFunc(list, func(part string) bool { return !strings.Contains(part, "/") })
	return append(list, value)
}

// addressed reports whether the value of an attribute is always an address.
func addressed(name string) bool {
	return name == "href" || name == "src" || name == "action" || name == "data"
}
