package check

import (
	"cmp"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

const (
	home        = "https://github.com/acapcrawl/acapcrawl"
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
)

// The objects of SARIF 2.1.0 that a report contains. The comment of each type is the number of its
// section.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct { // SARIF 2.1.0, section 3.14
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Artifacts   []sarifArtifact   `json:"artifacts"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct { // SARIF 2.1.0, section 3.18
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct { // SARIF 2.1.0, section 3.19
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		URI     string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct { // SARIF 2.1.0, section 3.49
		ID      string       `json:"id"`
		Short   sarifMessage `json:"shortDescription"`
		Full    sarifMessage `json:"fullDescription"`
		HelpURI string       `json:"helpUri"`
		Help    sarifMessage `json:"help"`
	}
	sarifMessage struct { // SARIF 2.1.0, section 3.11
		Text string `json:"text"`
	}
	sarifInvocation struct { // SARIF 2.1.0, section 3.20
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct { // SARIF 2.1.0, section 3.58
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifArtifact struct { // SARIF 2.1.0, section 3.24
		Location sarifPlace `json:"location"`
	}
	sarifPlace struct { // SARIF 2.1.0, section 3.4
		URI   string `json:"uri"`
		Index *int   `json:"index,omitempty"`
	}
	sarifResult struct { // SARIF 2.1.0, section 3.27
		Rule      string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
		Fixes     []sarifFix      `json:"fixes,omitempty"`
	}
	sarifLocation struct { // SARIF 2.1.0, section 3.28
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct { // SARIF 2.1.0, section 3.29
		Artifact sarifPlace  `json:"artifactLocation"`
		Region   sarifRegion `json:"region"`
	}
	sarifRegion struct { // SARIF 2.1.0, section 3.30
		StartLine   int           `json:"startLine"`
		StartColumn int           `json:"startColumn"`
		EndLine     int           `json:"endLine,omitempty"`
		EndColumn   int           `json:"endColumn"`
		Snippet     *sarifMessage `json:"snippet,omitempty"`
	}
	sarifFix struct { // SARIF 2.1.0, section 3.55
		Description sarifMessage  `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct { // SARIF 2.1.0, section 3.56
		Artifact     sarifPlace         `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct { // SARIF 2.1.0, section 3.57
		Deleted  sarifRegion   `json:"deletedRegion"`
		Inserted *sarifMessage `json:"insertedContent,omitempty"`
	}
)

var sarifLevels = map[acap.Severity]string{acap.Error: "error", acap.Warning: "warning", acap.Notice: "note"}

// WriteSARIF writes the report as a SARIF 2.1.0 log. version is the version of this program.
func (r *Report) WriteSARIF(w io.Writer, version string) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Artifacts: []sarifArtifact{}, Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "acapcrawl", Version: version, URI: home, Rules: []sarifRule{}}
	rules, artifacts, fixes := map[string]int{}, map[string]int{}, map[acap.Finding]sarifFix{}
	for _, t := range r.Texts {
		artifacts[t.Name] = len(run.Artifacts)
		run.Artifacts = append(run.Artifacts, sarifArtifact{sarifPlace{URI: uriOf(t.Name)}})
		words, moves := Fixes(t.Source, r.About(t.Name))
		for _, f := range append(words, moves...) {
			fixes[f.Finding] = f.sarif(t)
		}
	}
	for _, f := range r.Findings {
		if _, known := rules[f.Code]; !known {
			rules[f.Code] = len(rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, ruleOf(f.Code))
		}
		at := sarifPlace{URI: uriOf(f.URL)}
		if i, known := artifacts[f.URL]; known {
			at.Index = &i
		}
		region := sarifRegion{StartLine: f.Line, StartColumn: f.Column, EndColumn: f.Column + f.Length}
		if line := r.Line(f); line != "" {
			region.Snippet = &sarifMessage{line}
		}
		result := sarifResult{Rule: f.Code, RuleIndex: rules[f.Code], Level: sarifLevels[f.Severity],
			Message:   sarifText(withHint(f)),
			Locations: []sarifLocation{{sarifPhysical{at, region}}}}
		if fix, known := fixes[f]; known {
			result.Fixes = []sarifFix{fix}
		}
		run.Results = append(run.Results, result)
	}
	told := sarifInvocation{Successful: true}
	for _, note := range r.Notes {
		told.Notifications = append(told.Notifications, sarifNotification{"note", sarifText(note)})
	}
	run.Invocations = []sarifInvocation{told}
	return run.write(w)
}

// write writes a SARIF log that contains only this run.
func (r sarifRun) write(w io.Writer) error {
	e := display.Encoder(w)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{r}})
}

// sarif returns the fix f of the text t as a SARIF object.
func (f Fix) sarif(t Text) sarifFix {
	src := newSource(t.Source)
	var list []sarifReplacement
	for _, e := range f.Edits {
		var r sarifReplacement
		r.Deleted.StartLine, r.Deleted.StartColumn = src.position(e.From)
		r.Deleted.EndLine, r.Deleted.EndColumn = src.position(e.To)
		if e.Text != "" {
			r.Inserted = &sarifMessage{e.Text}
		}
		list = append(list, r)
	}
	return sarifFix{sarifText(cmp.Or(f.Finding.Hint, f.Finding.Message)),
		[]sarifChange{{sarifPlace{URI: uriOf(t.Name)}, list}}}
}

func ruleOf(code string) sarifRule {
	return sarifRule{ID: code, Short: sarifText(strings.ReplaceAll(code, "-", " ")),
		Full: sarifText("Based on " + strings.Join(Behind(code), ", ") + "."), HelpURI: Help(code),
		Help: sarifText("See " + Help(code))}
}

// sarifText returns a message with the given text, in which nothing is read as a placeholder or a
// link (SARIF 3.11.5, 3.11.6).
func sarifText(text string) sarifMessage {
	return sarifMessage{strings.NewReplacer("{", "{{", "}", "}}", "](", "] (").Replace(text)}
}

// uriOf returns the URI reference of a text. name is a file name or an address.
func uriOf(name string) string {
	if u, err := url.Parse(name); err == nil && u.Host != "" {
		return u.String()
	}
	u := url.URL{Path: filepath.ToSlash(name)}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
	}
	return u.String()
}
