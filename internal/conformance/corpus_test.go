package conformance

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func corpus(t *testing.T) []Sample {
	t.Helper()
	samples, err := ReadCorpus(os.DirFS("corpus"))
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

// TestCorpus decides every case of corpus/ and compares the answer with the expected one.
func TestCorpus(t *testing.T) {
	samples := corpus(t)
	for _, s := range samples {
		t.Run(s.File+"/"+s.Name, func(t *testing.T) {
			differences, answer, err := s.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range differences {
				t.Errorf("%s\n\treason: %s", d, s.Reason)
			}
			if t.Failed() {
				t.Logf("answer: %s", answer)
			}
		})
	}
	if len(samples) < 1200 {
		t.Errorf("the corpus has %d cases, there were 1200", len(samples))
	}
}

// No two cases have the same name, so that a name identifies a case.
func TestCorpusNames(t *testing.T) {
	files := map[string]string{}
	for _, s := range corpus(t) {
		if other, twice := files[s.Name]; twice {
			t.Errorf("%s stands in %s and in %s", s.Name, other, s.File)
		}
		if s.Case.ID != s.Name {
			t.Errorf("%s/%s has the id %q", s.File, s.Name, s.Case.ID)
		}
		if s.Case.Facts.Now == nil {
			t.Errorf("%s/%s does not give the time", s.File, s.Name)
		}
		files[s.Name] = s.File
	}
}

func TestReadCorpus(t *testing.T) {
	const (
		kase = "-- a/case.json --\n{\"id\": \"a\", \"url\": \"http://example.com/x?q\", \"usages\": [\"index\"], " +
			"\"facts\": {\"now\": \"2026-01-05T12:00:00Z\"}}\n"
		web  = "-- a/web/http/example.com/robots.txt --\nACAP-crawler: *\nACAP-disallow-index: /x\n"
		more = "-- a/web.json --\n{\"http://example.com/robots.txt\": {\"status\": 404}}\n"
		want = "-- a/want.json --\n{\"#reason\": \"it is prohibited\", \"decisions\": {\"index\": {\"allowed\": " +
			"false, \"limits\": \"<absent>\"}}}\n"
	)
	read := func(src string) ([]Sample, error) {
		return ReadCorpus(fstest.MapFS{"deep/er/A01.txtar": {Data: []byte(src)},
			"deep/README.md": {Data: []byte("not a case")}})
	}
	samples, err := read("a comment\n" + kase + web + want)
	if err != nil || len(samples) != 1 {
		t.Fatalf("%d cases, %v", len(samples), err)
	}
	s := samples[0]
	if s.File != "deep/er/A01" || s.Name != "a" || s.Reason != "it is prohibited" || s.Want["#reason"] != nil {
		t.Errorf("the case is %+v", s)
	}
	if d, answer, err := s.Check(t.Context()); len(d) != 0 || err != nil ||
		!strings.Contains(string(answer), `"prohibition"`) {
		t.Errorf("differences %v, answer %s, %v", d, answer, err)
	}

	samples, err = read(kase + web + more + want)
	if err != nil {
		t.Fatal(err)
	}
	if d, _, err := samples[0].Check(t.Context()); len(d) != 2 ||
		!strings.HasPrefix(d[0], ".decisions.index.allowed is true") || err != nil {
		t.Errorf("with status 404 the differences are %q, %v", d, err)
	}

	for name, src := range map[string]string{
		"no case":        web + want,
		"null":           "-- a/case.json --\nnull\n" + web + want,
		"no expectation": kase + web,
		"no reason":      kase + web + "-- a/want.json --\n{\"decisions\": {}}\n",
		"nothing wanted": kase + web + "-- a/want.json --\n{\"#reason\": \"because\"}\n",
		"twice":          kase + web + web + want,
		"a bad web":      kase + web + want + "-- a/web.json --\n[]\n",
		"an unknown key": strings.Replace(kase, "\"url\"", "\"uri\"", 1) + web + want,
	} {
		if _, err := read(src); err == nil || !strings.Contains(err.Error(), "A01") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
