package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Case is one question to the oracle: pages and files, a crawler, and a URL to decide about.
type Case struct {
	ID      string   `json:"id"`
	Crawler []string `json:"crawler"`
	// purposes that the crawler declares; nil: it does not say what its purposes are
	Purposes *[]string           `json:"purposes"`
	Cannot   []string            `json:"cannot"`
	Strict   bool                `json:"strict"`
	Dialect  string              `json:"dialect"` // "1.1" or "pilot"; "" means "1.1"
	Web      map[string]Response `json:"web"`
	URL      string              `json:"url"`
	Usages   []acap.Usage        `json:"usages"`
	Facts    Facts               `json:"facts"`
	Target   Target              `json:"target"`
	Query    string              `json:"query"`
	Want     []string            `json:"want"`

	// names of the newer vocabularies in force; nil: all
	Preferences      *[]string `json:"preferences"`
	TDMRepCoversAI   *bool     `json:"tdmrep_covers_ai"`   // nil: true
	ContentSignalUse *bool     `json:"content_signal_use"` // nil: true
	OperatorKind     string    `json:"operator_kind"`
	OperatorCountry  string    `json:"operator_country"`
	// Held makes the case a question about a held copy. Web is then the web of today.
	Held *Held `json:"held"`
}

// Held describes the fetch of a held copy.
type Held struct {
	Web map[string]Response `json:"web"` // the web at the time of the fetch
}

// Response is the answer to a request for one URL of a case.
type Response struct {
	Status     *int                `json:"status"`
	Header     map[string][]string `json:"header"`
	Body       *string             `json:"body"`
	BodyBase64 []byte              `json:"body_base64"`
	Error      string              `json:"error"` // timeout, refused or dns if there is no HTTP response
}

// Facts are the current time of a case and what is known about earlier visits of the page.
type Facts struct {
	Now            *time.Time `json:"now"`
	FirstCrawled   *time.Time `json:"first_crawled"`
	FirstIndexed   *time.Time `json:"first_indexed"`
	FirstPreserved *time.Time `json:"first_preserved"`
	FirstPresented *time.Time `json:"first_presented"`
	Recrawled      bool       `json:"recrawled"`
}

// Target describes the reader to whom a page is shown in a case.
type Target struct {
	IP      string `json:"ip"`
	Domain  string `json:"domain"`
	Country string `json:"country"`
}

// Answer is the answer of the oracle. A part is missing if the case did not request it, or if no
// permission allows it.
type Answer struct {
	ID        string                             `json:"id"`
	Decisions map[acap.Usage]Decision            `json:"decisions,omitempty"`
	ByPurpose map[string]map[acap.Usage]Decision `json:"decisions_by_purpose,omitempty"`
	Text      *string                            `json:"text,omitempty"`
	CopyText  *string                            `json:"copy_text,omitempty"`
	Snippet   *Snippet                           `json:"snippet,omitempty"`
	Links     *[]string                          `json:"links,omitempty"`
	Policy    *Policy                            `json:"policy,omitempty"`
	Actions   *[]Action                          `json:"actions,omitempty"`
	// what newer vocabularies say, by newer usage and for search
	Preferences map[string]Preference `json:"preferences,omitempty"`
	Findings    []Finding             `json:"findings"`
}

// Preference is the joint verdict of all vocabularies on a usage.
type Preference struct {
	Verdict string             `json:"verdict"` // prohibit, agreement, permit or unknown
	By      map[string]Opinion `json:"by"`      // by name of the vocabulary, without those that say nothing
}

// Opinion is the verdict of one vocabulary.
type Opinion struct {
	Verdict string   `json:"verdict"`
	Because *Because `json:"because,omitempty"`
	Terms   string   `json:"terms,omitempty"` // where the terms of an agreement are
}

// Decision is one decision in an answer.
type Decision struct {
	Allowed bool         `json:"allowed"`
	Reason  acap.Reason  `json:"reason"`
	Because *Because     `json:"because,omitempty"`
	Note    string       `json:"note,omitempty"`  // set only if the case requests the part explain
	Terms   string       `json:"terms,omitempty"` // where the terms of an agreement are
	Limits  *acap.Limits `json:"limits,omitempty"`
}

// Because is the field that decided.
type Because struct {
	Source acap.Source `json:"source"`
	URL    string      `json:"url"`
	Line   int         `json:"line"`
	Field  string      `json:"field"`
}

// Snippet is a snippet in an answer.
type Snippet struct {
	Text    string            `json:"text"`
	Include []snippet.Include `json:"include"`
}

// Policy is the state of the origin's policy.
type Policy struct {
	Version            string `json:"version,omitempty"`
	IgnoreConventional bool   `json:"ignore_conventional"`
	Status             string `json:"status"`
}

// Finding is one finding in an answer.
type Finding struct {
	Code     string        `json:"code"`
	Severity acap.Severity `json:"severity"`
	Source   acap.Source   `json:"source"`
	URL      string        `json:"url,omitempty"`
	Line     int           `json:"line"`
	Column   int           `json:"column"`
	Length   int           `json:"length"`
	Message  string        `json:"message"`
	Hint     string        `json:"hint,omitempty"`
}

// Action is one action request in an answer.
type Action struct {
	Action  string `json:"action"`
	URL     string `json:"url"`
	Line    int    `json:"line"`
	Execute bool   `json:"execute"`
}

// ParseCase parses one case. Unknown keys, usages and parts are errors.
func ParseCase(line []byte) (*Case, error) {
	if err := exactKeys(line); err != nil {
		return nil, fmt.Errorf("the case is malformed: %w", err)
	}
	var c Case
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return nil, fmt.Errorf("the case is malformed: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the case is malformed: something follows its closing brace")
	}
	return &c, c.check()
}

// exactKeys returns an error for keys in a different letter case, because package json would accept
// such keys.
func exactKeys(line []byte) error {
	var top map[string]json.RawMessage
	if json.Unmarshal(line, &top) != nil {
		return nil // the line is no JSON object: the decoder that reads it next reports that
	}
	var held map[string]json.RawMessage
	json.Unmarshal(top["held"], &held) // the decoder reports this error, and that below, too
	parts := []json.RawMessage{line, top["facts"], top["target"], top["held"]}
	for _, pages := range []json.RawMessage{top["web"], held["web"]} {
		var web map[string]json.RawMessage
		json.Unmarshal(pages, &web)
		parts = slices.AppendSeq(parts, maps.Values(web))
	}
	for _, part := range parts {
		if err := lowerKeys(part); err != nil {
			return err
		}
	}
	return nil
}

func lowerKeys(object []byte) error {
	var keys map[string]json.RawMessage
	if json.Unmarshal(object, &keys) != nil {
		return nil
	}
	for k := range keys {
		if k != strings.ToLower(k) {
			return fmt.Errorf("unknown key %q", k)
		}
	}
	return nil
}

// check returns an error that says what is wrong in the case.
func (c *Case) check() error {
	if c.Web == nil {
		return errors.New("the case is malformed: it has no web")
	}
	if !isWebAddress(c.URL) {
		return fmt.Errorf("the case is malformed: url %q is not an absolute http or https URL", c.URL)
	}
	if !dialects[c.Dialect] {
		return fmt.Errorf("the case is malformed: there is no dialect %q; write 1.1 or pilot", c.Dialect)
	}
	for _, usage := range c.Usages {
		if !usage.Standard() && !usage.Newer() {
			return fmt.Errorf("the case is malformed: %q is not a standard usage type", usage)
		}
	}
	for _, part := range c.Want {
		if !wanted[part] {
			return fmt.Errorf("the case is malformed: %q cannot be wanted", part)
		}
	}
	if c.Target.IP != "" {
		if _, err := netip.ParseAddr(c.Target.IP); err != nil {
			return fmt.Errorf("the case is malformed: target ip %q is not an address", c.Target.IP)
		}
	}
	if _, err := c.vocabularies(); err != nil {
		return fmt.Errorf("the case is malformed: %w", err)
	}
	if c.Held != nil {
		if c.Held.Web == nil {
			return errors.New("the case is malformed: held has no web")
		}
		if err := checkWeb(c.Held.Web); err != nil {
			return err
		}
	}
	return checkWeb(c.Web)
}

// checkWeb returns an error if the pages and files that a case defines are not valid.
func checkWeb(web map[string]Response) error {
	for key, r := range web {
		switch {
		case !isWebAddress(key):
			return fmt.Errorf("the case is malformed: web has %q, which is not an absolute http or https URL", key)
		case r.Body != nil && r.BodyBase64 != nil:
			return fmt.Errorf("the case is malformed: %s has two bodies", key)
		case r.Error != "" && !wireErrors[r.Error]:
			return fmt.Errorf("the case is malformed: %s has the unknown error %q", key, r.Error)
		}
	}
	return nil
}

// isWebAddress reports whether text is an absolute http or https URL.
func isWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

var (
	wanted = map[string]bool{"decision": true, "text": true, "snippet": true, "links": true, "policy": true,
		"actions": true, "copy": true, "by_purpose": true, "preferences": true}
	dialects   = map[string]bool{"": true, "1.1": true, "pilot": true}
	wireErrors = map[string]bool{"timeout": true, "refused": true, "dns": true}
)

// Wants reports whether the case requests a part of the answer. A case that names no parts requests
// only the decisions.
func (c *Case) Wants(part string) bool {
	if len(c.Want) == 0 {
		return part == "decision"
	}
	for _, w := range c.Want {
		if w == part {
			return true
		}
	}
	return false
}

func (c *Case) crawler() acap.Crawler {
	who := acap.Crawler{Names: c.Crawler, Cannot: c.Cannot, Strict: c.Strict, Pilot: c.Dialect == "pilot"}
	if c.Crawler == nil {
		who.Names = []string{"acapcrawl"}
	}
	if c.Purposes != nil {
		who.Purposes = append([]string{}, *c.Purposes...)
	}
	who.Vocabularies, _ = c.vocabularies() // check has reported the error
	return who
}

// vocabularies returns the newer vocabularies that the crawler of the case obeys.
func (c *Case) vocabularies() ([]acap.Vocabulary, error) {
	names := preference.Names()
	if c.Preferences != nil {
		names = *c.Preferences
	}
	off := func(b *bool) bool { return b != nil && !*b }
	return preference.Vocabularies(names, preference.Settings{UseOff: off(c.ContentSignalUse),
		TDMOnly: off(c.TDMRepCoversAI), OperatorKind: c.OperatorKind, OperatorCountry: c.OperatorCountry})
}

func (c *Case) facts() acap.Facts {
	f := acap.Facts{Now: time.Now().UTC(), Recrawled: c.Facts.Recrawled,
		Target: acap.Target{Country: c.Target.Country}}
	f.Target.IP, _ = netip.ParseAddr(c.Target.IP)
	if c.Target.Domain != "" {
		f.Target.Domains = []string{c.Target.Domain}
	}
	for _, d := range []struct {
		from *time.Time
		to   *time.Time
	}{{c.Facts.Now, &f.Now}, {c.Facts.FirstCrawled, &f.FirstCrawled}, {c.Facts.FirstIndexed, &f.FirstIndexed},
		{c.Facts.FirstPreserved, &f.FirstPreserved}, {c.Facts.FirstPresented, &f.FirstPresented}} {
		if d.from != nil {
			*d.to = d.from.UTC()
		}
	}
	return f
}
