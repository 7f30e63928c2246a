package conformance

import (
	"embed"
	"io/fs"
)

//go:embed corpus requirements
var embedded embed.FS

// Corpus gives the project's own cases, which stand in the program itself.
func Corpus() ([]Sample, error) {
	fsys, err := fs.Sub(embedded, "corpus")
	if err != nil {
		return nil, err
	}
	return ReadCorpus(fsys)
}

// Requirements gives what the documents demand, with the cases of the project's own corpus that show it.
func Requirements() ([]Document, error) {
	fsys, err := fs.Sub(embedded, "requirements")
	if err != nil {
		return nil, err
	}
	return ReadRequirements(fsys)
}
