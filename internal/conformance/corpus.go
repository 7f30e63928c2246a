package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Sample is one case of a corpus: a question, the expected part of the answer, and the reason.
type Sample struct {
	File   string // path in the corpus without .txtar: the paragraph or reading that the case tests
	Name   string
	Reason string // why the expected answer is right
	Case   *Case
	Line   []byte         // the case in JSON for an engine in another program; without a line end
	Want   map[string]any // the expected part of the answer, for Compare

	Paragraph string // what the case tests, if the file name does not say so: P1 2.4.6, P1-2.4.6-03, F07
}

// ReadCorpus reads all .txtar files of fsys, at any depth, in the order of their paths and of the
// cases in them. In a file, a case NAME consists of NAME/case.json, files under NAME/web/,
// NAME/web.json, and NAME/want.json with its reason. Reading stops at the first malformed file,
// with an error that names file and case.
func ReadCorpus(fsys fs.FS) ([]Sample, error) {
	var out []Sample
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".txtar" {
			return err
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		samples, err := ParseCorpus(strings.TrimSuffix(name, ".txtar"), src)
		out = append(out, samples...)
		return err
	})
	return out, err
}

// ParseCorpus parses one file like ReadCorpus; file is its name without .txtar.
func ParseCorpus(file string, src []byte) ([]Sample, error) {
	return readSamples(file, txtar.Parse(src))
}

// readSamples returns the cases of one file in the order of their beginnings.
func readSamples(file string, a *txtar.Archive) ([]Sample, error) {
	var names []string
	byName := map[string]map[string][]byte{}
	for _, f := range a.Files {
		name, rest, _ := strings.Cut(f.Name, "/")
		if byName[name] == nil {
			byName[name] = map[string][]byte{}
			names = append(names, name)
		}
		if _, twice := byName[name][rest]; twice {
			return nil, fmt.Errorf("%s has %s twice", file, f.Name)
		}
		byName[name][rest] = f.Data
	}
	out := make([]Sample, 0, len(names))
	for _, name := range names {
		s, err := readSample(byName[name])
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", file, name, err)
		}
		s.File, s.Name = file, name
		out = append(out, s)
	}
	return out, nil
}

func readSample(parts map[string][]byte) (Sample, error) {
	var s Sample
	var raw map[string]any
	if err := json.Unmarshal(parts["case.json"], &raw); err != nil {
		return s, fmt.Errorf("case.json: %w", err)
	}
	if raw == nil {
		return s, errors.New("case.json is no object")
	}
	if err := json.Unmarshal(parts["want.json"], &s.Want); err != nil {
		return s, fmt.Errorf("want.json: %w", err)
	}
	s.Reason, _ = s.Want["#reason"].(string)
	if s.Reason == "" {
		return s, errors.New("the case gives no reason: write one under #reason in want.json")
	}
	delete(s.Want, "#reason")
	if len(s.Want) == 0 {
		return s, errors.New("no answer is expected: write in want.json what the answer must hold")
	}
	web, err := sampleWeb(parts)
	if err != nil {
		return s, err
	}
	raw["web"] = web
	if s.Line, err = marshal(raw); err != nil {
		return s, err
	}
	s.Case, err = ParseCase(s.Line)
	return s, err
}

// marshal returns JSON on one line. It does not escape < and >.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// sampleWeb builds the web of a case from web.json and from the files below web/, which are the
// bodies.
func sampleWeb(parts map[string][]byte) (map[string]any, error) {
	web := map[string]any{}
	for name, data := range parts {
		if at, ok := strings.CutPrefix(name, "web/"); ok {
			scheme, rest, _ := strings.Cut(at, "/")
			web[scheme+"://"+rest] = map[string]any{"body": string(data)}
		}
	}
	extra, ok := parts["web.json"]
	if !ok {
		return web, nil
	}
	var more map[string]map[string]any
	if err := json.Unmarshal(extra, &more); err != nil {
		return nil, fmt.Errorf("web.json: %w", err)
	}
	for u, r := range more {
		have, _ := web[u].(map[string]any)
		if have == nil {
			have = map[string]any{}
			web[u] = have
		}
		maps.Copy(have, r)
	}
	return web, nil
}

// Check decides the case with this program. It returns the differences from the expected answer,
// and the answer as JSON.
func (s *Sample) Check(ctx context.Context) (differences []string, answer []byte, err error) {
	a, err := Decide(ctx, s.Case)
	if err != nil {
		return nil, nil, err
	}
	answer, err = json.Marshal(a)
	if err != nil {
		return nil, nil, err
	}
	found, err := Compare(s.Want, answer)
	for _, d := range found {
		differences = append(differences, d.String())
	}
	return differences, answer, err
}

// Difference is one place where an answer differs from the expected one.
type Difference struct {
	At   string `json:"at"` // the keys that lead to the place, each preceded by a dot
	Want any    `json:"want"`
	Got  any    `json:"got"` // the value in the answer; nil if there is none
}

func (d Difference) String() string {
	if d.Want == absent {
		return fmt.Sprintf("%s is %v, wanted absent", d.At, d.Got)
	}
	if _, object := d.Want.(map[string]any); object {
		return fmt.Sprintf("%s is %v, wanted an object", d.At, d.Got)
	}
	return fmt.Sprintf("%s is %v, wanted %v", d.At, d.Got, d.Want)
}

// absent is the expected value that means that the key must be missing.
const absent = "<absent>"

// Compare returns the differences between a partial expected answer and an answer in JSON. It
// compares only the keys that the expected objects contain. Other values must be equal. "<absent>"
// requires that the key is missing.
func Compare(want map[string]any, answer []byte) ([]Difference, error) {
	var got any
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, err
	}
	return compare("", want, got), nil
}

func compare(at string, want, got any) []Difference {
	if want == absent {
		if got != nil {
			return []Difference{{at, want, got}}
		}
		return nil
	}
	w, ok := want.(map[string]any)
	if !ok {
		if !reflect.DeepEqual(want, got) {
			return []Difference{{at, want, got}}
		}
		return nil
	}
	g, _ := got.(map[string]any)
	if g == nil {
		return []Difference{{at, want, got}}
	}
	var out []Difference
	for _, k := range slices.Sorted(maps.Keys(w)) {
		out = append(out, compare(at+"."+k, w[k], g[k])...)
	}
	return out
}
