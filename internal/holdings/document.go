package holdings

import (
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// document returns the index entry of pg, made from content. whole reports that a copy is stored
// that contains all of content, so that word positions may be indexed. cut says what was left out
// because the page is too large; "" if nothing.
func document(pg *page.Page, content terms.Content, language string, fetched time.Time,
	whole bool) (d *index.Document, cut string) {
	analysis := language
	if analysis == "" && !content.Other {
		analysis = pg.LikelyLanguage()
	}
	d = &index.Document{URL: pg.URL().String(), Title: content.Title, Text: markBlocks(content),
		Headings: content.Headings(), Language: language,
		Analysis: analysis, Host: pg.URL().Host, Type: pg.MIME(), Feed: pg.Feed(), Fetched: fetched, Positions: whole}
	return d, d.Bound()
}

// largeText is a text length in bytes. A caller that stores a page with a longer text waits until
// the page is indexed, so that few such texts wait in memory.
const largeText = 1 << 20

// markBlocks returns the text with a form feed before each block.
func markBlocks(content terms.Content) string {
	var out strings.Builder
	out.Grow(len(content.Text))
	last := 0
	for _, b := range content.Blocks {
		if at := b.Start - 1; at >= last && content.Text[at] == ' ' {
			out.WriteString(content.Text[last:at])
			out.WriteByte('\f')
			last = b.Start
		}
	}
	out.WriteString(content.Text[last:])
	return out.String()
}
