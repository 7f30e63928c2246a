package holdings

import (
	"time"

	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// document is the index entry of pg, made of content. whole says that a copy is held with all that
// content says, so that the order of the words may be kept. cut says what of a large page is left
// out, "" where nothing is.
func document(pg *page.Page, content terms.Content, language string, fetched time.Time,
	whole bool) (d *index.Document, cut string) {
	analysis := language
	if analysis == "" && !content.Other {
		analysis = pg.LikelyLanguage()
	}
	d = &index.Document{URL: pg.URL().String(), Title: content.Title, Text: parted(content),
		Headings: content.Headings(), Language: language,
		Analysis: analysis, Host: pg.URL().Host, Type: pg.MIME(), Feed: pg.Feed(), Fetched: fetched, Positions: whole}
	return d, d.Bound()
}

// largeText is a number of bytes. A caller that stores a page with more text waits until the page
// is indexed, so that few such texts wait in memory.
const largeText = 1 << 20

// parted is the text with a form feed where a block of it begins.
func parted(content terms.Content) string {
	text := []byte(content.Text)
	for _, b := range content.Blocks {
		if b.Start > 0 && text[b.Start-1] == ' ' {
			text[b.Start-1] = '\f'
		}
	}
	return string(text)
}
