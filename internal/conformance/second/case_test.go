// Package second is a second, independent engine, for tests only. It consists of a slow and simple
// evaluator of the readings, written from the documents without looking at the main engine, a
// generator of random webs, and the comparison of both engines' answers.
//
// The second engine covers: decisions for the fourteen usages from robots.txt, references,
// definitions, META, class, headers, facts and targets; limits; required resources; policy.status;
// links and text of pages without a substitute; newer vocabularies with their reasons, lines and
// terms, for all usages, and for held copies.
//
// It does not cover: reasons and deciding lines of ACAP, which are not compared; two substitutes at once;
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
	Usages   []string            `json:"usages,omitempty"` // nil: the fourteen of ACAP
	Facts    facts               `json:"facts"`
	Target   *target             `json:"target,omitempty"`
	Want     []string            `json:"want,omitempty"`

	Preferences      *[]string `json:"preferences,omitempty"` // the newer vocabularies in force; nil: all
	OperatorKind     string    `json:"operator_kind,omitempty"`
	OperatorCountry  string    `json:"operator_country,omitempty"`
	TDMRepCoversAI   *bool     `json:"tdmrep_covers_ai,omitempty"`
	ContentSignalUse *bool     `json:"content_signal_use,omitempty"`
	Held             *held     `json:"held,omitempty"`
}

// held is the web at the fetch of a held copy.
type held struct {
	Web map[string]response `json:"web"`
}

type response struct {
	Status int                 `json:"status,omitempty"`
	Header map[string][]string `json:"header,omitempty"`
	Body   string              `json:"body,omitempty"`
	Base64 []byte              `json:"body_base64,omitempty"`
	Error  string              `json:"error,omitempty"`
}

// bytes returns the body of a response.
func (r response) bytes() string {
	if r.Base64 != nil {
		return string(r.Base64)
	}
	return r.Body
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
	// what newer vocabularies say of the four newer usages and of search
	Preferences map[string]preference `json:"preferences,omitempty"`

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
	Terms   string   `json:"terms,omitempty"`
	Limits  *limits  `json:"limits,omitempty"`

	// for the second engine: what decided if the reason is preference or agreement
	by *opinion
}

// preference is the joint verdict of all vocabularies on a usage.
type preference struct {
	Verdict string           `json:"verdict"`
	By      map[string]voice `json:"by"`
}

// voice is the verdict of one vocabulary.
type voice struct {
	Verdict string   `json:"verdict"`
	Because *because `json:"because,omitempty"`
	Terms   string   `json:"terms,omitempty"`

	by *opinion // for the second engine
}

type because struct {
	Source string `json:"source"`
	URL    string `json:"url,omitempty"`
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

// newer lists the four usages that newer vocabularies add.
func newer() []string { return []string{"train-ai", "ai-use", "ai-index", "tdm"} }

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
