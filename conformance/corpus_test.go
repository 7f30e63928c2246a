package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestCorpus asks every case of corpus/ and compares the answer with what is wanted. A file is named by the paragraph or reading
// it shows; a case NAME is made of NAME/case.json, files under NAME/web/, NAME/web.json, and NAME/want.json with its reason.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("corpus/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names, byName := splitCases(txtar.Parse(src))
		for _, name := range names {
			cases++
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+name, func(t *testing.T) { runCase(t, byName[name]) })
		}
	}
	if cases < 150 {
		t.Errorf("the corpus has %d cases, at least 150 are required", cases)
	}
}

func splitCases(a *txtar.Archive) (names []string, byName map[string]map[string][]byte) {
	byName = map[string]map[string][]byte{}
	for _, f := range a.Files {
		name, rest, _ := strings.Cut(f.Name, "/")
		if byName[name] == nil {
			byName[name] = map[string][]byte{}
			names = append(names, name)
		}
		byName[name][rest] = f.Data
	}
	return names, byName
}

func runCase(t *testing.T, files map[string][]byte) {
	var raw, want map[string]any
	if err := json.Unmarshal(files["case.json"], &raw); err != nil {
		t.Fatalf("case.json: %v", err)
	}
	if err := json.Unmarshal(files["want.json"], &want); err != nil {
		t.Fatalf("want.json: %v", err)
	}
	reason, _ := want["#reason"].(string)
	if reason == "" {
		t.Error("the case gives no reason")
	}
	delete(want, "#reason")
	web := map[string]any{}
	for name, data := range files {
		if path, ok := strings.CutPrefix(name, "web/"); ok {
			scheme, rest, _ := strings.Cut(path, "/")
			web[scheme+"://"+rest] = map[string]any{"body": string(data)}
		}
	}
	if extra, ok := files["web.json"]; ok {
		var more map[string]map[string]any
		if err := json.Unmarshal(extra, &more); err != nil {
			t.Fatalf("web.json: %v", err)
		}
		for u, r := range more {
			have, _ := web[u].(map[string]any)
			if have == nil {
				have = map[string]any{}
				web[u] = have
			}
			for k, v := range r {
				have[k] = v
			}
		}
	}
	raw["web"] = web
	line, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCase(line)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := Decide(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, d := range compare("", want, got) {
		t.Errorf("%s\n\treason: %s", d, reason)
	}
	if t.Failed() {
		t.Logf("answer: %s", out)
	}
}

// compare gives the differences between a partial expectation and an answer.
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
	for k, v := range w {
		out = append(out, compare(at+"."+k, v, g[k])...)
	}
	return out
}
