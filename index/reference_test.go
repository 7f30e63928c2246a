package index

import (
	"cmp"
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"
	bleveindex "github.com/blevesearch/bleve_index_api"
	zap "github.com/blevesearch/zapx/v17"
	"golang.org/x/text/unicode/norm"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// reference is an index of plain bleve with bleve's segment builder, searchers and collector. It
// shares only the analysers with the index under test. For phrases, which must be found as they are
// written, it has additional fields with unstemmed words instead of forms.
type reference struct {
	held      bleve.Index
	analysers map[string]*analyser
}

func newReference(t *testing.T, analysers map[string]*analyser) *reference {
	t.Helper()
	segment.Register() // register only once, before other formats are registered
	scorch.RegisterSegmentPlugin(&zap.ZapPlugin{}, true)
	defer scorch.RegisterSegmentPlugin(segment.NewFormat(), true)
	nothing := mapping.NewIndexMapping()
	nothing.DefaultMapping = mapping.NewDocumentDisabledMapping()
	dir := filepath.Join(t.TempDir(), "reference")
	held, err := bleve.NewUsing(dir, nothing, scorch.Name, scorch.Name, map[string]any{"unsafe_batch": true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { held.Close() })
	return &reference{held, analysers}
}

// chainOf is the analyser of a language as a bleve analyser for a whole text.
type chainOf struct{ *analyser }

func (a chainOf) Analyze(text []byte) analysis.TokenStream {
	return a.chain.Analyze(norm.NFKC.Bytes(text))
}

// asWritten adds to each term the folded word and its article: "l|ecoles|ecol". A second token
// matches the word with any article: "*|ecoles|ecol".
type asWritten struct{ *analyser }

func (a asWritten) Analyze(text []byte) (out analysis.TokenStream) {
	tokenise(norm.NFKC.Bytes(text), func(word []byte, kind analysis.TokenType, position int) {
		article, written := a.split(word)
		terms, _ := a.terms(word, kind)
		for _, term := range terms {
			for _, article := range []string{article, "*"} {
				out = append(out, newToken([]byte(article+"|"+written+"|"+term), kind, position))
			}
		}
	})
	return out
}

func (a asWritten) split(word []byte) (article, written string) {
	lower := lowercase.NewLowerCaseFilter().Filter(analysis.TokenStream{newToken([]byte(string(word)),
		analysis.AlphaNumeric, 1)})
	whole := string(lower[0].Term)
	if a.elision != nil {
		lower = a.elision.Filter(lower)
	}
	bare := string(lower[0].Term)
	return strings.TrimRight(string(foldTerm([]byte(strings.TrimSuffix(whole, bare)))), "'"),
		string(foldTerm([]byte(bare)))
}

var partsOfPage = []part{title, headings, body}

func writtenField(p part, code string) string { return string(p) + "/" + code + "/written" }

func (r *reference) put(t *testing.T, docs ...Document) {
	t.Helper()
	batch := r.held.NewBatch()
	for _, d := range docs {
		doc := document.NewDocument(d.URL)
		code := analyserFor(cmp.Or(d.Analysis, d.Language))
		a := r.analysers[code]
		for i, text := range []string{d.Title, strings.ReplaceAll(d.Headings, "\n", "\f"), d.Text} {
			if text == "" {
				continue
			}
			p := partsOfPage[i]
			if !d.Positions {
				doc.AddField(document.NewTextFieldCustom(field{p, code, bare}.name(), nil, []byte(text),
					bleveindex.IndexField, chainOf{a}))
				continue
			}
			const options = bleveindex.IndexField | bleveindex.IncludeTermVectors
			doc.AddField(document.NewTextFieldCustom(field{p, code, placed}.name(), nil, []byte(text), options,
				chainOf{a}))
			doc.AddField(document.NewTextFieldCustom(writtenField(p, code), nil, []byte(text), options, asWritten{a}))
		}
		label := func(name, value string) {
			doc.AddField(document.NewTextFieldCustom(name, nil, []byte(value),
				bleveindex.IndexField|bleveindex.SkipFreqNorm, nil))
		}
		if u, err := url.Parse(d.URL); err == nil {
			for _, h := range hostsAbove(u.Host) {
				label(hostField, h)
			}
		}
		label(languageField, primary(d.Language))
		for _, media := range types(d.Type, d.Feed) {
			label(typeField, media)
		}
		label(dayField, d.Fetched.UTC().Format("2006-01-02"))
		if err := batch.IndexAdvanced(doc); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.held.Batch(batch); err != nil {
		t.Fatal(err)
	}
}

func (r *reference) remove(t *testing.T, urls ...string) {
	t.Helper()
	batch := r.held.NewBatch()
	for _, u := range urls {
		batch.Delete(u)
	}
	if err := r.held.Batch(batch); err != nil {
		t.Fatal(err)
	}
}

// search returns the URLs of the hits, ordered by URL.
func (r *reference) search(t *testing.T, clauses []clause) []string {
	t.Helper()
	all := query.NewBooleanQuery(nil, nil, nil)
	for _, c := range clauses {
		if q := r.query(c); c.not {
			all.AddMustNot(q)
		} else {
			all.AddMust(q)
		}
	}
	request := bleve.NewSearchRequestOptions(all, 100_000, 0, false)
	request.SortBy([]string{"_id"})
	found, err := r.held.SearchInContext(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, h := range found.Hits {
		out = append(out, h.ID)
	}
	return out
}

// query converts a clause to a query of bleve.
func (r *reference) query(c clause) query.Query {
	switch c.kind {
	case site:
		return termIn(hostField, c.text)
	case lang:
		return termIn(languageField, c.text)
	case mime:
		return termIn(typeField, c.text)
	case before, after:
		from, to := c.text, ""
		if c.kind == before {
			from, to = "", c.text
		}
		yes, no := true, false
		q := query.NewTermRangeInclusiveQuery(from, to, &yes, &no)
		q.SetField(dayField)
		return q
	}
	any := query.NewDisjunctionQuery(nil)
	for code, a := range r.analysers {
		for _, text := range spellings(c.text) {
			for _, p := range partsOfPage {
				if c.kind == word {
					any.AddQuery(r.word(a, text, field{p, code, placed}), r.word(a, text, field{p, code, bare}))
				} else {
					any.AddQuery(r.phrase(a, text, p, code), r.single(a, text, field{p, code, bare}))
				}
			}
		}
	}
	return any
}

func termIn(field, term string) query.Query {
	q := query.NewTermQuery(term)
	q.SetField(field)
	return q
}

// anyOf returns a query for any of the terms of a token.
func anyOf(field string, terms []string) query.Query {
	any := query.NewDisjunctionQuery(nil)
	for _, term := range terms {
		any.AddQuery(termIn(field, term))
	}
	return any
}

// word returns a query for the tokens of a word next to each other, or in a field without positions
// for all of them.
func (r *reference) word(a *analyser, text string, f field) query.Query {
	tokens := a.query(text)
	switch {
	case len(tokens) == 0:
		return query.NewMatchNoneQuery()
	case f.kept == placed && len(tokens) > 1:
		return inOrder(f.name(), tokens)
	}
	all := query.NewConjunctionQuery(nil)
	for _, t := range tokens {
		if !t.isBreak() {
			all.AddQuery(anyOf(f.name(), t.terms))
		}
	}
	return all
}

func inOrder(field string, tokens []token) query.Query {
	steps := make([][]string, len(tokens))
	for i, t := range tokens {
		steps[i] = t.terms
	}
	return query.NewMultiPhraseQuery(steps, field)
}

// phrase returns a query for words next to each other as they are written. In the text, the first
// word may have an article that the query omits.
func (r *reference) phrase(a *analyser, text string, p part, code string) query.Query {
	tokens := a.query(text)
	if len(tokens) == 0 {
		return query.NewMatchNoneQuery()
	}
	i := 0
	tokenise(norm.NFKC.Bytes([]byte(text)), func(word []byte, kind analysis.TokenType, position int) {
		if i == len(tokens) || tokens[i].position != position || kind == joined {
			return
		}
		article, written := asWritten{a}.split(word)
		if i == 0 && article == "" {
			article = "*"
		}
		for k, term := range tokens[i].terms {
			tokens[i].terms[k] = article + "|" + written + "|" + term
		}
		i++
	})
	return inOrder(writtenField(p, code), tokens)
}

// single returns a query for a phrase of one word in a field without positions, if the term shows
// how the word is written.
func (r *reference) single(a *analyser, text string, f field) query.Query {
	tokens := a.query(text)
	if len(tokens) != 1 || f.language != plain && tokens[0].kind == analysis.AlphaNumeric {
		return query.NewMatchNoneQuery()
	}
	return anyOf(f.name(), tokens[0].terms)
}
