package conformance

import (
	"embed"
	"io/fs"
)

//go:embed corpus requirements
var embedded embed.FS

// Corpus returns the cases of this project, which are embedded in the program.
func Corpus() ([]Sample, error) {
	fsys, err := fs.Sub(embedded, "corpus")
	if err != nil {
		return nil, err
	}
	return ReadCorpus(fsys)
}

// Requirements returns the requirements of the documents with the cases that test them.
func Requirements() ([]Document, error) {
	fsys, err := fs.Sub(embedded, "requirements")
	if err != nil {
		return nil, err
	}
	return ReadRequirements(fsys)
}
