package index

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/ar"
	"github.com/blevesearch/bleve/v2/analysis/lang/ckb"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fa"
	"github.com/blevesearch/bleve/v2/analysis/lang/fi"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/hi"
	"github.com/blevesearch/bleve/v2/analysis/lang/hu"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/no"
	"github.com/blevesearch/bleve/v2/analysis/lang/pl"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/ro"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/analysis/lang/tr"
	"github.com/blevesearch/bleve/v2/analysis/token/elision"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/stop"
	"github.com/blevesearch/bleve/v2/registry"
)

// plain is the name of the analyser for all languages without their own analyser. For Chinese,
// Japanese and Korean it is sufficient.
const plain = "any"

// languages maps ISO 639-1 codes (for Sorani: ISO 639-3) to the analysers of bleve, or to our own. The Polish
// stemmer is loaded only when needed.
var languages = map[string]registry.AnalyzerConstructor{
	"ar": ar.AnalyzerConstructor, "ckb": ckb.AnalyzerConstructor, "da": da.AnalyzerConstructor,
	"de": de.AnalyzerConstructor, "en": en.AnalyzerConstructor, "es": es.AnalyzerConstructor,
	"fa": fa.AnalyzerConstructor, "fi": fi.AnalyzerConstructor, "fr": fr.AnalyzerConstructor,
	"hi": hi.AnalyzerConstructor, "hr": ownAnalyser(croatian{}), "hu": hu.AnalyzerConstructor,
	"it": it.AnalyzerConstructor, "nl": nl.AnalyzerConstructor, "no": no.AnalyzerConstructor,
	"pl": ownAnalyser(polish{}), "pt": pt.AnalyzerConstructor, "ro": ro.AnalyzerConstructor,
	"ru": ru.AnalyzerConstructor, "sv": sv.AnalyzerConstructor, "tr": tr.AnalyzerConstructor,
	"vi": ownAnalyser(vietnamese{}),
}

// analysers returns one analyser per language, and the plain one. They are safe for concurrent use.
func analysers() (map[string]*analyser, error) {
	all := map[string]*analyser{
		plain: {chain: &analysis.DefaultAnalyzer{Tokenizer: tokenizer{},
			TokenFilters: []analysis.TokenFilter{lowercase.NewLowerCaseFilter(), fold{}}}},
	}
	cache := registry.NewCache()
	for code, construct := range languages {
		built, err := construct(nil, cache)
		if err != nil {
			return nil, fmt.Errorf("index: the analyser for language %s cannot be built: %w", code, err)
		}
		shipped, ok := built.(*analysis.DefaultAnalyzer)
		if !ok {
			return nil, fmt.Errorf("index: the analyser for language %s is a %T, not a chain of filters", code, built)
		}
		chain := adapted(shipped)
		switch code {
		case "tr":
			chain.TokenFilters = slices.Insert(chain.TokenFilters, 0, analysis.TokenFilter(turkish{}))
		case "ru":
			chain.TokenFilters = slices.Insert(chain.TokenFilters, 0, analysis.TokenFilter(russian{}))
		}
		all[code] = &analyser{chain: chain, elision: elisionOf(chain), both: code == "pl" || code == "vi",
			plain: all[plain]}
	}
	all["vi"].alternatives = withoutMarks
	return all, nil
}

// ownAnalyser returns the constructor of an analyser with a filter of this package.
func ownAnalyser(filter analysis.TokenFilter) registry.AnalyzerConstructor {
	return func(map[string]any, *registry.Cache) (analysis.Analyzer, error) {
		return &analysis.DefaultAnalyzer{TokenFilters: []analysis.TokenFilter{lowercase.NewLowerCaseFilter(), filter}}, nil
	}
}

// vietnamese is a filter that keeps the accents and other marks of letters. For each word with
// marks, it adds a term without marks. In Vietnamese, marks distinguish words: ma, má, mà, mả, mã
// and mạ are six words.
type vietnamese struct{}

// unmarked is the prefix of a term from which marks were removed. No word begins with it.
const unmarked = " "

// Filter implements analysis.TokenFilter.
func (vietnamese) Filter(in analysis.TokenStream) analysis.TokenStream {
	var out analysis.TokenStream
	for _, t := range in {
		if bare := foldTerm(t.Term); !bytes.Equal(bare, t.Term) {
			added := *t
			added.Term = append([]byte(unmarked), bare...)
			out = append(out, &added)
		}
		out = append(out, t)
	}
	return out
}

// withoutMarks returns the terms for a Vietnamese word of a query: the term for words with other
// marks, the word without marks, and last the word as it is written. Many people omit the marks
// when they search.
func withoutMarks(terms []string) []string {
	written := terms[len(terms)-1]
	bare := string(foldTerm([]byte(written)))
	out := []string{unmarked + bare}
	if bare != written {
		out = append(out, bare)
	}
	return append(out, written)
}

// polish is a filter that adds the stems of words. It looks up the stems in a table.
type polish struct{}

// polishStemmer loads a table of two megabytes when the first Polish word is analysed.
var polishStemmer = sync.OnceValues(pl.NewPolishStemmerFilter)

// Filter implements analysis.TokenFilter. The table is incomplete, and the words in the table have
// accents, so the filter also keeps each word as it is written.
func (polish) Filter(in analysis.TokenStream) analysis.TokenStream {
	stemmer, err := polishStemmer()
	if err != nil {
		return in
	}
	var out analysis.TokenStream
	for _, t := range in {
		written := *t
		written.Term = slices.Clone(t.Term)
		if !t.KeyWord {
			stemmer.Filter(analysis.TokenStream{t})
			if len(t.Term) > 0 && !bytes.Equal(foldTerm(t.Term), foldTerm(written.Term)) {
				out = append(out, t)
			}
		}
		out = append(out, &written)
	}
	return out
}

// turkish is a filter that converts capitals to lower case by Turkish rules. The Turkish stemmer
// needs the correct vowels, ı or i.
type turkish struct{}

// Filter implements analysis.TokenFilter.
func (turkish) Filter(in analysis.TokenStream) analysis.TokenStream {
	for _, t := range in {
		t.Term = bytes.Map(func(r rune) rune {
			switch r {
			case 'I':
				return 'ı'
			case 'İ':
				return 'i'
			case '\u0307': // the dot of a capital İ
				return -1
			}
			return r
		}, t.Term)
	}
	return in
}

// russian is a filter that replaces ё with е. It runs before the stemmer, which does not know ё.
type russian struct{}

// Filter implements analysis.TokenFilter.
func (russian) Filter(in analysis.TokenStream) analysis.TokenStream {
	for _, t := range in {
		t.Term = bytes.ReplaceAll(bytes.ReplaceAll(t.Term, []byte("ё"), []byte("е")), []byte("Ё"), []byte("Е"))
	}
	return in
}

// adapted returns an analyser of bleve with the tokenizer and folding of this package. It keeps
// stop words, so that "The Who" can be found.
func adapted(shipped *analysis.DefaultAnalyzer) *analysis.DefaultAnalyzer {
	a := &analysis.DefaultAnalyzer{Tokenizer: tokenizer{}}
	for _, f := range shipped.TokenFilters {
		switch f.(type) {
		case vietnamese:
			a.TokenFilters = append(a.TokenFilters, f)
			return a
		case *stop.StopTokensFilter:
		default:
			a.TokenFilters = append(a.TokenFilters, f)
		}
	}
	a.TokenFilters = append(a.TokenFilters, fold{})
	return a
}

// elisionOf returns the filter of an analyser that removes articles, nil if there is none.
func elisionOf(chain *analysis.DefaultAnalyzer) analysis.TokenFilter {
	for _, f := range chain.TokenFilters {
		if _, ok := f.(*elision.ElisionFilter); ok {
			return f
		}
	}
	return nil
}

// primary returns the primary subtag of a language tag in lower case. For both Norwegian languages
// it returns "no".
func primary(tag string) string {
	tag, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
	tag, _, _ = strings.Cut(tag, "_")
	switch tag {
	case "nb", "nn":
		return "no"
	}
	return tag
}

// analyserFor returns the name of the analyser for a language tag.
func analyserFor(tag string) string {
	if code := primary(tag); languages[code] != nil {
		return code
	}
	return plain
}
