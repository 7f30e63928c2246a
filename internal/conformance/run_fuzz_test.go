package conformance

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// Whatever an engine prints, no case has more than one result, and the kept output is bounded and
// can be written as JSON.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"id": "c0", "decisions": {"index": {"allowed": true}}}` + "\n" +
			`{"decisions": {"index": {"allowed": false}}}`,
		`{"id": "c1"}` + "\n" + `{"id": "c1"}` + "\n" + `{"id": "c9"}`,
		"Traceback\n\n{\"id\": 7}\nnull\n[]\n\"\x1b[31m\"\n\xff\xfe",
		`{"id": "c0", "error": "no"}` + "\n" + `{"id": "c1", "error": null}` + "\n" + `{"error": "x", "decisions": 4}`,
		`{"decisions": {"index": {"allowed": "true"}}}` + "\n" + `{"decisions": []}` + "\n" + strings.Repeat("[",
			20000),
	} {
		f.Add([]byte(seed), false)
	}
	f.Add([]byte(`{"decisions": {"index": {"allowed": true}}, "decisions": null}`), true)
	f.Fuzz(func(t *testing.T, printed []byte, decisions bool) {
		samples := some(t, 3)
		r := runner{options: RunOptions{Decisions: decisions}, results: make([]Result, len(samples))}
		questions, _, err := r.questions(samples)
		if err != nil {
			t.Fatal(err)
		}
		replies := map[int]int{}
		s := session{engine: &Command{}, questions: questions, last: len(questions) - 1, open: map[string]int{},
			reply: func(i int, a Reply) {
				replies[i]++
				r.reply(&r.results[i], a)
			}}
		for i, q := range questions {
			s.open[q.ID] = i
		}
		lines, taken := bytes.Split(printed, []byte("\n")), 0
		for _, line := range lines {
			if s.take(line, 0) {
				taken++
			}
		}
		for i, n := range replies {
			if n > 1 {
				t.Errorf("case %d has %d results", i, n)
			}
		}
		if taken != len(replies) || taken+s.trouble.Stray > len(lines) || len(s.open) != len(samples)-taken ||
			len(s.trouble.Lines) > maxLines {
			t.Errorf("%d taken, %d replies, %d open, %+v", taken, len(replies), len(s.open), s.trouble)
		}
		report := NewReport("", nil, r.results, s.trouble)
		if _, err := json.Marshal(report); err != nil {
			t.Error(err)
		}
		if err := report.Tests().WriteJUnit(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
	})
}

// If a corpus can be read, it can be written and read again.
func FuzzReadCases(f *testing.F) {
	for _, seed := range []string{
		`{"case": {"id": "a", "web": {}, "url": "http://a/"}, ` +
			`"want": {"text": "x"}, "reason": "r", "paragraph": "P1 2.4"}`,
		"\ufeff\n" + `{"case": {"web": {}, "url": "http://a/"}, "want": {"text": "<absent>"}}` + "\n\n",
		`{"case": 1, "want": {}}`, `{"case": null, "want": {"a": 1}}`, `[`,
		`{"case": {"ID": "a", "web": {}, "url": "http://a/"}, "want": {"text": {"": [1e999]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		samples, err := ReadCases("a", bytes.NewReader(src))
		if err != nil && !strings.HasPrefix(err.Error(), "a:") {
			t.Errorf("the error names no line: %v", err)
		}
		var out bytes.Buffer
		for _, s := range samples {
			if err := s.WriteCase(&out); err != nil {
				t.Fatal(err)
			}
		}
		again, err := ReadCases("a", &out)
		if err != nil || len(again) != len(samples) {
			t.Errorf("%d of %d cases, %v", len(again), len(samples), err)
		}
	})
}
