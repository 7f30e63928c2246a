package page

import (
	"strings"

	"github.com/abadojack/whatlanggo"
	"golang.org/x/text/language"
)

// guessText is how much text a language is guessed from, in bytes. A guess costs as much as reading the page.
const guessText = 600

// Language is the language of the page as ISO 639-1 code: what HTML lang declares, else a guess from its text, "" where neither
// tells.
func (p *Page) Language() string { return p.language() }

func (p *Page) guessLanguage() string {
	if t := p.tree(); t.html != nil {
		for _, a := range t.html.Attr {
			if a.Key == "lang" || a.Key == "xml:lang" {
				if code := languageCode(a.Val); code != "" {
					return code
				}
			}
		}
	}
	text := p.Text(Cut{})
	if over := len(text) - guessText; over > 0 { // navigation stands first, and often in another language
		text = strings.ToValidUTF8(text[over/3:over/3+guessText], "")
	}
	info := whatlanggo.Detect(text)
	if !info.IsReliable() {
		return ""
	}
	return languageCode(info.Lang.Iso6391())
}

func languageCode(tag string) string {
	t, err := language.Parse(strings.TrimSpace(tag))
	if err != nil {
		return ""
	}
	if code, confidence := t.Base(); confidence == language.Exact && len(code.String()) == 2 {
		return code.String()
	}
	return ""
}
