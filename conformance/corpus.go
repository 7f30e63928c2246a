package conformance

import (
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

// Sample is one case of a corpus: a question, the part of the answer that is wanted, and why.
type Sample struct {
	File   string // path in the corpus, without .txtar: the paragraph or reading it shows
	Name   string
	Reason string // why this is the answer
	Case   *Case
	Want   map[string]any // a partial answer, as Check compares it
}

// ReadCorpus reads all .txtar files of fsys, at any depth, in the order of their paths and of the cases in them. In a file, a case
// NAME is made of NAME/case.json, files under NAME/web/, NAME/web.json, and NAME/want.json with its reason. The first file that
// is not so ends it with an error that names file and case.
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
		samples, err := readSamples(strings.TrimSuffix(name, ".txtar"), txtar.Parse(src))
		out = append(out, samples...)
		return err
	})
	return out, err
}

// readSamples gives the cases of one file, in the order in which they begin.
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
	if err := json.Unmarshal(parts["want.json"], &s.Want); err != nil {
		return s, fmt.Errorf("want.json: %w", err)
	}
	s.Reason, _ = s.Want["#reason"].(string)
	if s.Reason == "" {
		return s, errors.New("the case gives no reason: write one under #reason in want.json")
	}
	delete(s.Want, "#reason")
	if len(s.Want) == 0 {
		return s, errors.New("nothing is wanted: say in want.json what the answer must hold")
	}
	web, err := sampleWeb(parts)
	if err != nil {
		return s, err
	}
	raw["web"] = web
	line, err := json.Marshal(raw)
	if err != nil {
		return s, err
	}
	s.Case, err = ParseCase(line)
	return s, err
}

// sampleWeb lays web.json over the bodies that stand under web/.
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

// Check decides the case and compares. It gives the differences between what is wanted and the answer, none where they agree,
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
	var got any
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, nil, err
	}
	return compare("", s.Want, got), answer, nil
}

// compare gives the differences between a partial expectation and an answer: objects are compared by the keys of the expectation,
// everything else must be equal, "<absent>" demands that nothing is there.
func compare(at string, want, got any) []string {
	if want == "<absent>" {
		if got != nil {
			return []string{fmt.Sprintf("%s is %v, wanted absent", at, got)}
		}
		return nil
	}
	w, ok := want.(map[string]any)
	if !ok {
		if !reflect.DeepEqual(want, got) {
			return []string{fmt.Sprintf("%s is %v, wanted %v", at, got, want)}
		}
		return nil
	}
	g, _ := got.(map[string]any)
	if g == nil {
		return []string{fmt.Sprintf("%s is %v, wanted an object", at, got)}
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(w)) {
		out = append(out, compare(at+"."+k, w[k], g[k])...)
	}
	return out
}
