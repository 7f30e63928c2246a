package check

import (
	"io"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Problems holds results of a check outside package check, to be written as SARIF.
type Problems struct {
	Rules []ProblemRule // the rules in the order of the report; every Problem names one of them
	List  []Problem
	Notes []string // sentences about the whole run
}

// ProblemRule is a requirement that a problem violates.
type ProblemRule struct {
	ID, Says, Rests, Help string // Help is the address of a page about the rule
}

// Problem is a place where a requirement is violated.
type Problem struct {
	Rule     string // the ID of the violated rule
	Severity acap.Severity
	Message  string
	File     string // a file name, or an address
	Line     int    // counted from 1
}

// WriteSARIF writes the problems as a SARIF 2.1.0 log. version is the version of this program.
func (p *Problems) WriteSARIF(w io.Writer, version string) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Artifacts: []sarifArtifact{}, Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "acapcrawl", Version: version, URI: home, Rules: []sarifRule{}}
	rules := map[string]int{}
	for i, r := range p.Rules {
		rules[r.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules,
			sarifRule{ID: r.ID, Short: sarifText(r.Says), Full: sarifText("Based on " + r.Rests + "."),
				HelpURI: r.Help, Help: sarifText("See " + r.Help)})
	}
	for _, one := range p.List {
		at := sarifPhysical{sarifPlace{URI: uriOf(one.File)},
			sarifRegion{StartLine: one.Line, StartColumn: 1, EndColumn: 1}}
		run.Results = append(run.Results, sarifResult{Rule: one.Rule, RuleIndex: rules[one.Rule],
			Level:   sarifLevels[one.Severity],
			Message: sarifText(one.Message), Locations: []sarifLocation{{at}}})
	}
	told := sarifInvocation{Successful: true}
	for _, note := range p.Notes {
		told.Notifications = append(told.Notifications, sarifNotification{"note", sarifText(note)})
	}
	run.Invocations = []sarifInvocation{told}
	return run.write(w)
}
