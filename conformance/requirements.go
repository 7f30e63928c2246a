package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Requirement is one statement of a document, or one reading, with the cases that show it. It has
// cases, or a test, or a reason why nobody outside the program can see it.
type Requirement struct {
	ID      string `json:"id"`
	Section string `json:"section"` // of a reading: what it is about
	// Level is must, should, may, grammar, example or note; of a reading what hangs on it: H much,
	// M some, L little, or X for a further decision.
	Level    string   `json:"level"`
	Says     string   `json:"says"`     // in our own words; the title of a reading
	Readings []string `json:"readings"` // of a statement: what settles it where the document leaves a choice

	Decides  []string `json:"decides"`  // names of cases that it decides
	Contrary []string `json:"contrary"` // of near neighbours, where it does not apply and something else comes out
	Test     string   `json:"test"`     // an ordinary Go test that shows it: its directory, a point, its name

	Unobservable string `json:"unobservable"` // why it cannot be seen from outside
}

// Document is one file of requirements.
type Document struct {
	Name, Title  string
	Requirements []Requirement
}

// documents are the files of requirements, in the order of the page.
var documents = []Document{
	{Name: "P1", Title: "ACAP 1.1, Part 1: robots.txt"},
	{Name: "P2", Title: "ACAP 1.1, Part 2: META tags and class attributes"},
	{Name: "PILOT", Title: "The pilot of 2007"},
	{Name: "REP", Title: "The Robots Exclusion Protocol as the search engines documented it in 2008"},
	{Name: "RTAG", Title: "The Robots-Tag header and META rules (draft of 2026)"},
	{Name: readings, Title: "Readings"},
}

// readings is the document of this project's own: how it reads the others where they leave a
// choice.
const readings = "readings"

// ReadRequirements reads NAME.jsonl of every document from fsys: one requirement a line. Its errors
// name file and line.
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
