// Package second is a second, independent engine, for tests only. It consists of a slow and simple
// evaluator of the readings, written from the documents without looking at the main engine, a
// generator of random webs, and the comparison of both engines' answers.
//
// The second engine covers: decisions for the fourteen usages from robots.txt, references,
// definitions, META, class, headers, facts and targets; limits; required resources; policy.status;
// links and text of pages without a substitute.
//
// It does not cover: reasons and deciding lines, which are not compared; two substitutes at once;
// text if a substitute is required or if elements are permitted on a prohibited page; what class
// statements cut from pictures. The generator also leaves out: the pilot dialect, snippets, copies,
// thumbnails and actions, findings, binary bodies and PLUS terms, robots.txt above the size limit,
// redirected pages, scripts, and headers above the parsing limit.
package second

import (
	"bytes"
	"encoding/json"
	"time"
)

// A question is a case of decide, as conformance describes it in JSON.
type question struct {
	ID      string   `json:"id"`
	Crawler []string `json:"crawler,omitempty"`
	// purposes that the crawler declares; nil: it does not say what its purposes are
	Purposes *[]string           `json:"purposes,omitempty"`
	Cannot   []string            `json:"cannot,omitempty"`
	Strict   bool                `json:"strict,omitempty"`
	Web      map[string]response `json:"web"`
	URL      string              `json:"url"`
	Facts    facts               `json:"facts"`
	Target   *target             `json:"target,omitempty"`
	Want     []string            `json:"want,omitempty"`
}

type response struct {
	Status int                 `json:"status,omitempty"`
	Header map[string][]string `json:"header,omitempty"`
	Body   string              `json:"body,omitempty"`
	Error  string              `json:"error,omitempty"`
}

type facts struct {
	Now            time.Time  `json:"now"`
	FirstCrawled   *time.Time `json:"first_crawled,omitempty"`
	FirstIndexed   *time.Time `json:"first_indexed,omitempty"`
	FirstPreserved *time.Time `json:"first_preserved,omitempty"`
	FirstPresented *time.Time `json:"first_presented,omitempty"`
	Recrawled      bool       `json:"recrawled,omitempty"`
}

type target struct {
	IP      string `json:"ip,omitempty"`
	Domain  string `json:"domain,omitempty"`
	Country string `json:"country,omitempty"`
}

// answer holds the parts of an answer that are compared.
type answer struct {
	Decisions map[string]decision            `json:"decisions"`
	ByPurpose map[string]map[string]decision `json:"decisions_by_purpose,omitempty"`
	Text      *string                        `json:"text,omitempty"`
	Links     *[]string                      `json:"links,omitempty"`
	Policy    *policyAnswer                  `json:"policy,omitempty"`

	// for the second engine: whether its answer covers the text and the links of the page
	textModelled, linksModelled bool
}

type policyAnswer struct {
	Status string `json:"status"`
}

type decision struct {
	Allowed bool     `json:"allowed"`
	Reason  string   `json:"reason"`
	Because *because `json:"because,omitempty"`
	Limits  *limits  `json:"limits,omitempty"`
}

type because struct {
	Source string `json:"source"`
	Line   int    `json:"line"`
	Field  string `json:"field"`
}

type limits struct {
	Until                  *time.Time `json:"until,omitempty"`
	UntilRecrawled         bool       `json:"until_recrawled,omitempty"`
	MaxChars               *int       `json:"max_chars,omitempty"`
	MaxWords               *int       `json:"max_words,omitempty"`
	MustUse                []string   `json:"must_use,omitempty"`
	MustInclude            []string   `json:"must_include,omitempty"`
	ProhibitedModification []string   `json:"prohibited_modification,omitempty"`
	ProhibitedContext      []string   `json:"prohibited_context,omitempty"`
	RequiredContext        []string   `json:"required_context,omitempty"`
	Target                 []string   `json:"target,omitempty"`
	Location               []string   `json:"location,omitempty"`
	UsageRef               []string   `json:"usage_ref,omitempty"`
}

// usages lists the fourteen standard usage types.
func usages() []string {
	return []string{"crawl", "follow", "index", "preserve", "present", "present-original", "present-currentcopy",
		"present-oldcopy", "present-snippet", "present-thumbnail", "present-oldsnippet", "present-oldthumbnail",
		"present-link", "other"}
}

// text returns the JSON text of a value, on one line.
func text(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(b.Bytes()))
}
