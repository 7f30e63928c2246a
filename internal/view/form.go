package view

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// searchForm is what a reader searches for.
type searchForm struct {
	Query string // as typed
	present.Filter
	For   []acap.Usage // the publisher must allow all these usages
	Page  int          // from 1
	Open  bool         // the filters are shown at first
	Wrong string       // the parameter whose value cannot be used; "" for none
}

// readSearch reads the parameters of a search. The error is a *Problem. The form then holds what could be
// read.
func readSearch(r *request) (searchForm, error) {
	f := searchForm{Query: r.query.Get("q"), Page: 1, Filter: present.Filter{
		Site: r.query.Get("site"), Language: r.query.Get("lang"), Type: r.query.Get("type"),
		Before: r.query.Get("before"), After: r.query.Get("after")}}
	for _, field := range []*string{&f.Site, &f.Language, &f.Type, &f.Before, &f.After} {
		*field = strings.TrimSpace(*field)
	}
	for _, name := range []string{"q", "site", "lang", "type", "before", "after", "page"} {
		if len(r.query[name]) > 1 {
			return f, badRequest("The parameter " + name + " may be given only once.")
		}
	}
	for value := range strings.SplitSeq(strings.Join(r.query["for"], ","), ",") {
		u := acap.Usage(strings.ToLower(strings.TrimSpace(value)))
		switch {
		case u == "" || slices.Contains(f.For, u):
		case !u.Newer():
			f.Wrong = "for"
			return f, badRequest(fmt.Sprintf("The parameter for must be train-ai, ai-use, ai-index or tdm, not %q.",
				clip(value)))
		default:
			f.For = append(f.For, u)
		}
	}
	if text := r.query.Get("page"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > lastPage {
			return f, badRequest(fmt.Sprintf("The parameter page must be a number from 1 to %d, not %q.", lastPage,
				clip(text)))
		}
		f.Page = n
	}
	return f, nil
}

// empty reports whether f has nothing to search for.
func (f searchForm) empty() bool {
	return strings.TrimSpace(f.Query) == "" && f.Filter == present.Filter{}
}

// query returns the query of f. The error wraps present.ErrQuery.
func (f searchForm) query() (q present.Query, err error) {
	q.For = f.For
	q.Text, err = f.Narrow(strings.TrimSpace(f.Query))
	return q, err
}

// address returns the normal form of the query if it is one whole address, otherwise "".
func (f searchForm) address() string {
	page, err := target(strings.TrimSpace(f.Query))
	if err != nil || len(strings.Fields(f.Query)) > 1 {
		return ""
	}
	return page
}

// Addresses returns the addresses that a reader may mean by the query: a whole address, or one without its scheme.
func (f searchForm) Addresses() (list []string) {
	text := strings.TrimSpace(f.Query)
	u, err := url.Parse("http://" + text)
	if page := f.address(); page != "" {
		return []string{page}
	}
	if err != nil || !strings.Contains(strings.Trim(u.Host, "."), ".") {
		return nil
	}
	for _, scheme := range []string{"https://", "http://"} {
		if page := (searchForm{Query: scheme + text}).address(); page != "" {
			list = append(list, page)
		}
	}
	return list
}

// explain returns the parameter that makes query fail with err, and a sentence for the reader.
func (f searchForm) explain(err error) (name, sentence string) {
	day := "a day, a month or a year, such as 2026-01-31, 2026-01 or 2026"
	for _, one := range []struct {
		name, label, value, takes string
		alone                     present.Filter
	}{
		{"site", "Site", f.Site, "the name of a host, such as example.org", present.Filter{Site: f.Site}},
		{"lang", "Language", f.Language, "the code of a language, such as de", present.Filter{Language: f.Language}},
		{"type", "Type", f.Type, "html, text, markdown, feed, pdf, image, or a media type such as application/pdf",
			present.Filter{Type: f.Type}},
		{"after", "Fetched since", f.After, day, present.Filter{After: f.After}},
		{"before", "Fetched before", f.Before, day, present.Filter{Before: f.Before}},
	} {
		if _, wrong := one.alone.Narrow(""); one.value != "" && wrong != nil {
			return one.name, fmt.Sprintf("“%s” takes %s, not “%s”.", one.label, one.takes, clip(one.value))
		}
	}
	return "q", "The search cannot be made: " + strings.TrimPrefix(err.Error(), present.ErrQuery.Error()+": ") + "."
}

// Mark returns the attributes of a field that connect it with the message about its value, if the value is wrong.
func (f searchForm) Mark(name string) template.HTMLAttr {
	if f.Wrong != name {
		return ""
	}
	return `aria-invalid="true" aria-describedby="wrong"`
}

// title is the title of the page of results.
func (f searchForm) title() string {
	if q := strings.TrimSpace(f.Query); q != "" {
		return clip(q)
	}
	return "Search"
}

// link returns the address of a page of the results of f.
func (f searchForm) link(page int) string {
	v := url.Values{}
	for _, p := range f.parameters() {
		v.Add(p.name, p.value)
	}
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	return "/search?" + v.Encode()
}

type searchParameter struct{ name, value string }

func (f searchForm) parameters() (list []searchParameter) {
	for _, p := range []searchParameter{{"q", f.Query}, {"site", f.Site}, {"lang", f.Language}, {"type", f.Type},
		{"before", f.Before}, {"after", f.After}, {"for", f.uses()}} {
		if p.value != "" {
			list = append(list, p)
		}
	}
	return list
}

// useOption is an entry of the list of usages that the publisher must allow.
type useOption struct {
	Value, Words string
	Chosen       bool
}

// Uses returns the list of usages. If several usages are chosen, they are an additional entry.
func (f searchForm) Uses() (list []useOption) {
	chosen := f.uses()
	for _, u := range []acap.Usage{acap.TrainAI, acap.AIUse, acap.AIIndex, acap.TDM} {
		list = append(list, useOption{string(u), "Pages that permit " + useWords(u), string(u) == chosen})
	}
	if len(f.For) > 1 {
		var words []string
		for _, u := range f.For {
			words = append(words, useWords(u))
		}
		list = append(list, useOption{chosen, "Pages that permit all of these: " + strings.Join(words, "; "), true})
	}
	return list
}

// uses returns the usages as one parameter.
func (f searchForm) uses() string {
	var names []string
	for _, u := range f.For {
		names = append(names, string(u))
	}
	return strings.Join(names, ",")
}

// Filtered reports whether f has filters.
func (f searchForm) Filtered() bool { return f.Filter != present.Filter{} || len(f.For) > 0 }

// Chips returns the filters of f, with links to the search without them.
func (f searchForm) Chips() []chip { return f.chips() }

// chip is a filter of a search.
type chip struct {
	Label   string
	Href    string // address of the search without this filter
	without searchForm
}

func (f searchForm) chips() (list []chip) {
	add := func(label string, without searchForm) {
		list = append(list, chip{label, without.link(1), without})
	}
	for _, one := range []struct {
		words string
		field func(*searchForm) *string
	}{
		{"site: ", (*searchForm).siteField},
		{"language: ", (*searchForm).languageField},
		{"type: ", (*searchForm).typeField},
		{"fetched before ", func(f *searchForm) *string { return &f.Before }},
		{"fetched since ", func(f *searchForm) *string { return &f.After }},
	} {
		if value := *one.field(&f); value != "" {
			without := f
			*one.field(&without) = ""
			add(one.words+value, without)
		}
	}
	for i, u := range f.For {
		without := f
		without.For = slices.Delete(slices.Clone(f.For), i, i+1)
		add("permitted use: "+useWords(u), without)
	}
	return list
}

func (f *searchForm) siteField() *string     { return &f.Site }
func (f *searchForm) languageField() *string { return &f.Language }
func (f *searchForm) typeField() *string     { return &f.Type }

// linkWith returns the address of the search f with one more filter: field returns the field of
// the form to set to value. linkWith returns "" if the search already has a filter of this kind.
func (f searchForm) linkWith(field func(*searchForm) *string, value string) string {
	at := field(&f)
	if *at != "" || value == "" {
		return ""
	}
	*at = value
	return f.link(1)
}
