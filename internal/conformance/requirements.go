package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Requirement is one statement of a document, or one reading, with the cases that test it. It has
// cases, or a Go test, or a reason why it cannot be observed outside the program.
type Requirement struct {
	ID      string `json:"id"`
	Section string `json:"section"` // section of the document; for a reading its subject
	// Level is must, should, may, grammar, example or note. The level of a reading is its
	// importance: H high, M medium, L low, or X for a further decision.
	Level    string   `json:"level"`
	Says     string   `json:"says"`     // the requirement in our words; for a reading its title
	Readings []string `json:"readings"` // for a statement: the readings that apply where the document is ambiguous

	Decides []string `json:"decides"` // names of the cases that the requirement decides
	// names of similar cases to which the requirement does not apply, and which therefore have
	// another answer
	Contrary []string `json:"contrary"`
	Test     string   `json:"test"` // a Go test of the requirement: directory, dot, name

	Unobservable string `json:"unobservable"` // why the requirement cannot be observed from outside
}

// Document is one file of requirements.
type Document struct {
	Name, Title  string
	Newer        bool // the document is about newer preferences, which an engine need not know
	Requirements []Requirement
}

// documents are the files of requirements, in the order of the page.
var documents = []Document{
	{Name: "P1", Title: "ACAP 1.1, Part 1: robots.txt"},
	{Name: "P2", Title: "ACAP 1.1, Part 2: META tags and class attributes"},
	{Name: "PILOT", Title: "The pilot of 2007"},
	{Name: "REP", Title: "The Robots Exclusion Protocol as the search engines documented it in 2008"},
	{Name: "RTAG", Title: "The Robots-Tag header and META rules (draft of 2026)"},
	{Name: "AIPREF", Title: "AI preferences of the IETF: drafts vocab-08 and attach-05", Newer: true},
	{Name: "SIGNALS", Title: "Content Signals", Newer: true},
	{Name: "TDMREP", Title: "The TDM Reservation Protocol (report of 2024)", Newer: true},
	{Name: "RSL", Title: "Really Simple Licensing 1.0", Newer: true},
	{Name: "PREF", Title: "How newer preferences are combined; noai and PLUS", Newer: true},
	{Name: readings, Title: "Readings"},
}

// readings is the name of the project's own document, the document that says how the project
// interprets ambiguous parts of the other documents.
const readings = "readings"

// ReadRequirements reads NAME.jsonl of every document from fsys. Each line is one requirement.
// Errors name file and line.
func ReadRequirements(fsys fs.FS) ([]Document, error) {
	out := make([]Document, len(documents))
	for i, d := range documents {
		src, err := fs.ReadFile(fsys, d.Name+".jsonl")
		if err != nil {
			return nil, err
		}
		n := 0
		for line := range bytes.Lines(src) {
			n++
			r, err := readRequirement(line)
			if err != nil {
				return nil, fmt.Errorf("%s.jsonl:%d is no requirement: %w", d.Name, n, err)
			}
			d.Requirements = append(d.Requirements, r)
		}
		out[i] = d
	}
	return out, nil
}

func readRequirement(line []byte) (Requirement, error) {
	var r Requirement
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("something follows its closing brace")
	}
	return r, nil
}
