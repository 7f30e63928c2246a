package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// run works with two cases: one that notices the mutant and one that does not.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the engine")
	}
	const (
		robots = "/web/http/example.com/robots.txt --\nACAP-crawler: *\nACAP-disallow-index: /a\nACAP-allow-index: /*\n"
		kase   = "/case.json --\n{\"url\": \"http://example.com/a.html\", \"usages\": [\"index\"], \"facts\": " +
			"{\"now\": \"2026-01-05T12:00:00Z\"}}\n"
	)
	corpus := t.TempDir()
	write := func(name, want string) {
		src := "-- " + name + kase + "-- " + name + robots + "-- " + name +
			"/want.json --\n{\"#reason\": \"it is so\", " + want + "}\n"
		if err := os.WriteFile(filepath.Join(corpus, name+".txtar"), []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir("../../..")
	try := func() (bool, string) {
		var out strings.Builder
		bad, err := run(options{only: `compareScope: b\[i\] == '\*': flipped`, corpus: corpus, jobs: 1}, &out)
		if err != nil {
			t.Fatal(err)
		}
		return bad, out.String()
	}
	write("dull", `"links": "<absent>"`)
	if bad, out := try(); !bad || !strings.Contains(out, "survives: acap/pattern.go") ||
		!strings.Contains(out, "the answer changes, unnoticed: dull/dull") {
		t.Errorf("bad %v:\n%s", bad, out)
	}
	write("sharp", `"decisions": {"index": {"allowed": false, "reason": "prohibition"}}`)
	if bad, out := try(); bad || !strings.Contains(out, "1 caught") {
		t.Errorf("bad %v:\n%s", bad, out)
	}
	write("wrong", `"decisions": {"index": {"allowed": true}}`)
	if bad, out := try(); !bad || !strings.Contains(out, "fails without a mutant: wrong/wrong") {
		t.Errorf("bad %v:\n%s", bad, out)
	}
}
