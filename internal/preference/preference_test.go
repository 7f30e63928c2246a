package preference

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

const home = "https://example.com"

// everyOne returns all vocabularies with the default settings.
func everyOne(t testing.TB) []acap.Vocabulary {
	t.Helper()
	list, err := Vocabularies(Names(), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// policyOf returns the policy of a robots.txt for a crawler that obeys the given vocabularies. files
// holds the other files of the web, by URL.
func policyOf(robots string, files map[string]string, newer []acap.Vocabulary) *acap.Policy {
	f, who := acap.Parse(home+"/robots.txt", []byte(robots)),
		acap.Crawler{Names: []string{"searchbot"}, Vocabularies: newer}
	refs := f.References(who)
	for i := range refs {
		text, ok := files[refs[i].URL]
		if refs[i].Text = []byte(text); !ok {
			refs[i].Err = errors.New("HTTP status 404")
		}
	}
	return f.Policy(who, refs...)
}

func resource(path string) acap.Resource {
	u, err := url.Parse(home + path)
	if err != nil {
		return acap.Resource{}
	}
	return acap.NewResource(u)
}

func codesOf(p *acap.Policy) (list []string) {
	for _, f := range p.Findings() {
		list = append(list, f.Code)
	}
	return list
}

func TestVocabularies(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  int
		fails bool
	}{{nil, 0, false}, {[]string{"none"}, 0, false}, {Names(), len(Names()), false}, {[]string{"noai"}, 1, false},
		{[]string{"none", "noai"}, 0, true}, {[]string{"llms.txt"}, 0, true}} {
		got, err := Vocabularies(c.names, Settings{})
		if len(got) != c.want || (err != nil) != c.fails {
			t.Errorf("%q: %d vocabularies, %v", c.names, len(got), err)
		}
	}
}

// The settings of a list of vocabularies can be read back, so that a data directory can record them,
// and settings that change a verdict change the key of the crawler.
func TestSettingsOf(t *testing.T) {
	keys := map[string]bool{}
	for _, s := range []Settings{{}, {UseOff: true}, {TDMOnly: true}, {OperatorKind: "education"},
		{OperatorCountry: "FR"}} {
		list, err := Vocabularies(Names(), s)
		if err != nil {
			t.Fatal(err)
		}
		if names, got := SettingsOf(list); got != s || !slices.Equal(names, Names()) {
			t.Errorf("%+v: got %+v of %q", s, got, names)
		}
		keys[acap.Crawler{Vocabularies: list}.Key()] = true
	}
	if len(keys) != 5 {
		t.Errorf("%d keys", len(keys))
	}
}

// Findings tell a publisher which statements have no effect, and why.
func TestFindings(t *testing.T) {
	const group = "User-agent: *\n"
	for name, c := range map[string]struct {
		robots string
		files  map[string]string
		want   []string
	}{
		"a good line":     {group + "Content-Usage: train-ai=n", nil, nil},
		"unknown label":   {group + "Content-Usage: x=n", nil, []string{"unknown-label"}},
		"retired label":   {group + "Content-Usage: bots=n", nil, []string{"retired-label"}},
		"no preference":   {group + "Content-Usage: train-ai=?0", nil, []string{"unknown-preference"}},
		"no dictionary":   {group + "Content-Usage: Train-AI=n", nil, []string{"malformed-preference"}},
		"a signal":        {group + "Content-Usage: ai-train=n", nil, []string{"other-vocabulary"}},
		"before a group":  {"Content-Usage: train-ai=n\n" + group, nil, []string{"orphan-field"}},
		"misspelt":        {group + "Content-Signals: ai-train=no", nil, []string{"misspelt-name"}},
		"signal and path": {group + "Content-Signal: /x ai-train=no", nil, []string{"path-in-signal"}},
		"unknown key":     {group + "Content-Signal: training=no", nil, []string{"unknown-label"}},
		"unknown value":   {group + "Content-Signal: ai-train=maybe", nil, []string{"unknown-preference"}},
		"unknown use":     {group + "Content-Signal: use=some", nil, []string{"unknown-preference"}},
		"a label":         {group + "Content-Signal: train-ai=n", nil, []string{"other-vocabulary"}},
		"no array": {group, map[string]string{home + tdmPath: `{"location": "/"}`},
			[]string{"malformed-json"}},
		"no JSON": {group, map[string]string{home + tdmPath: "<html>"}, []string{"malformed-json"}},
		"broken entries": {group, map[string]string{home + tdmPath: `[7, {"tdm-reservation": 1}, {"location": "/"},
			{"location": "", "tdm-reservation": 1}]`},
			[]string{"malformed-entry", "malformed-entry", "malformed-entry", "rule-without-slash"}},
		"no reservation": {group, map[string]string{home + tdmPath: `[{"location": "x", "tdm-reservation": "yes"}]`},
			[]string{"unknown-preference", "rule-without-slash"}},
		"no policy": {group, map[string]string{
			home + tdmPath: `[{"location": "/", "tdm-reservation": 1, "tdm-policy": "mailto:a@b"}]`},
			[]string{"malformed-preference"}},
		"a licence": {group + "License: " + home + "/l.xml", map[string]string{home + "/l.xml": "<rsl/>"},
			[]string{"unreadable-licence"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := codesOf(policyOf(c.robots, c.files, everyOne(t))); !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// The field that a finding is about has the line and column of its statement.
func TestPlaces(t *testing.T) {
	p := policyOf("License: "+home+"/l.xml\n", map[string]string{
		home + tdmPath: "[\n  {\"location\": \"/b\", \"tdm-reservation\": 1},\n  {\"location\": \"/\",\n" +
			" \"tdm-reservation\": 1}]",
		home + "/l.xml": "<rsl xmlns=\"" + rslSpace + "\">\n<content url=\"/\">\n <license>" +
			"<prohibits type=\"usage\">ai-input</prohibits></license></content></rsl>",
	}, everyOne(t))
	for u, want := range map[acap.Usage]string{acap.TDM: home + tdmPath + ":3:3", acap.AIUse: home + tdmPath + ":3:3"} {
		f := p.Decide(u, resource("/a")).Because
		if f == nil || fmt.Sprintf("%s:%d:%d", f.URL, f.Line, f.Column) != want {
			t.Errorf("%s: %v, want %s", u, f, want)
		}
	}
	for _, s := range p.Opinions(acap.AIUse, resource("/a")) {
		if f := s.Because; s.Vocabulary == "rsl" && (f.Line != 3 || f.Column != 11 || f.URL != home+"/l.xml") {
			t.Errorf("the licence is at %s:%d:%d", f.URL, f.Line, f.Column)
		}
	}
}

// Hostile input neither takes long nor says anything, and is reported.
func TestHostile(t *testing.T) {
	const group = "User-agent: *\n"
	content := "<content url=\"/\"><license/></content>"
	document := func(inside string) map[string]string {
		return map[string]string{home + "/l.xml": "<rsl xmlns=\"" + rslSpace + "\">" + inside + "</rsl>"}
	}
	licence := group + "License: " + home + "/l.xml\n"
	for name, c := range map[string]struct {
		robots string
		files  map[string]string
		usage  acap.Usage
		want   acap.Verdict
		code   string
	}{
		"lines": {group + strings.Repeat("Content-Usage: /a train-ai=y\n", 10_000), nil,
			acap.TrainAI, acap.Permits, ""},
		"keys": {group + "Content-Usage: " + keys(40_000), nil, acap.TrainAI, acap.Unknown, "unknown-label"},
		"signals": {group + "Content-Signal: " + strings.Repeat("a=b,", 100_000), nil,
			acap.TrainAI, acap.Unknown, "unknown-label"},
		"stars": {group + "Content-Usage: /" + strings.Repeat("*a", 100_000) + " train-ai=n", nil,
			acap.TrainAI, acap.Unknown, ""},
		"a long file": {group, map[string]string{home + tdmPath: "[" + strings.Repeat(" ", 10<<20) + "]"}, acap.TDM,
			acap.Unknown, "too-long"},
		"entries": {group, map[string]string{home + tdmPath: "[" + strings.Repeat("1,", 100_000) + "1]"},
			acap.TDM, acap.Unknown, "malformed-entry"},
		"deep JSON": {group, map[string]string{home + tdmPath: strings.Repeat("[", 200_000) +
			strings.Repeat("]", 200_000)}, acap.TDM, acap.Unknown, "malformed-json"},
		"contents": {licence, document(strings.Repeat(content, 100_000)),
			acap.TrainAI, acap.Agreement, "unreadable-licence"},
		"many contents": {licence, document(strings.Repeat(content, 8_000)), acap.TrainAI, acap.Permits, ""},
		"deep": {licence, document("<content url=\"/\">" + strings.Repeat("<license>", 1000)), acap.TrainAI,
			acap.Agreement, "unreadable-licence"},
		"deep elsewhere": {licence, document(strings.Repeat("<x:a xmlns:x=\"x\">", 20_000)), acap.TrainAI,
			acap.Agreement, "unreadable-licence"},
		"entities": {licence, map[string]string{home + "/l.xml": "<!DOCTYPE a [<!ENTITY b \"c\">]><rsl xmlns=\"" +
			rslSpace + "\">&b;</rsl>"}, acap.TrainAI, acap.Agreement, "unreadable-licence"},
	} {
		t.Run(name, func(t *testing.T) {
			p := policyOf(c.robots, c.files, everyOne(t))
			got := acap.Unknown
			for _, s := range p.Opinions(c.usage, resource("/a")) {
				got = max(got, s.Verdict)
			}
			if got != c.want || c.code != "" && !slices.Contains(codesOf(p), c.code) {
				t.Errorf("verdict %s, want %s; findings %q", got, c.want, codesOf(p)[:min(len(codesOf(p)), 3)])
			}
		})
	}
}

// keys returns a dictionary with n keys.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d=n,", i)
	}
	return strings.TrimSuffix(b.String(), ",")
}
