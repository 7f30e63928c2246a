package holdings

import (
	"time"

	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// document is the index entry of pg, made of content. whole says that a copy is held with all that content says, so that the order of
// the words may be kept.
func document(pg *page.Page, content terms.Content, language string, fetched time.Time, whole bool) *index.Document {
	analysis := language
	if analysis == "" && !content.Other {
		analysis = pg.LikelyLanguage()
	}
	return &index.Document{URL: pg.URL().String(), Title: content.Title, Text: content.Text, Headings: content.Headings(), Language: language,
		Analysis: analysis, Host: pg.URL().Host, Type: pg.MIME(), Fetched: fetched, Positions: whole}
}
