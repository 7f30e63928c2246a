package preference

import (
	"fmt"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// FuzzLine reads a value of Content-Usage and Content-Signal, in robots.txt and in a header.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{"train-ai=n, search=y", "/a*b$ ai-use=y", "use=reference,ai-train=no",
		"train-ai;a=\"?\";", "Train-AI=n", "\"", "/\t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		value = strings.NewReplacer("\r", " ", "\n", " ").Replace(value)
		p := policyOf("User-agent: *\nContent-Usage: "+value+"\nContent-Signal: "+value+"\n", nil, everyOne(t))
		p = p.Narrow(acap.Own{URL: home + "/a", Tags: []acap.Tag{
			{Source: acap.Header, Name: "Content-Usage", Content: value, Line: 1, Column: 1},
			{Source: acap.Header, Name: "Content-Signal", Content: value, Line: 1, Column: 1},
			{Source: acap.Header, Name: "TDM-Reservation", Content: value, Line: 1, Column: 1}}})
		explained(t, p)
	})
}

// explained checks that each refusal names the statement that decided.
func explained(t *testing.T, p *acap.Policy) {
	t.Helper()
	for _, path := range []string{"/", "/a", "/aXb"} {
		for _, u := range append(acap.Usages(), acap.NewerUsages()...) {
			if d := p.Decide(u, resource(path)); !d.Allowed && (d.Because == nil || d.Because.Line < 1) {
				t.Errorf("%s of %s: %s because of %v", u, path, d.Reason, d.Because)
			}
		}
	}
}

// FuzzTDMRep reads a tdmrep.json.
func FuzzTDMRep(f *testing.F) {
	for _, seed := range []string{`[{"location": "/", "tdm-reservation": 1, "tdm-policy": "/p"}]`,
		`[{"location": "a*$", "tdm-reservation": "0"}, 7]`, "[", "\ufeff[]", `[{"a": [{}]}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		explained(t, policyOf("User-agent: *\n", map[string]string{home + tdmPath: string(text)}, everyOne(t)))
	})
}

// FuzzLicence reads a licence document.
func FuzzLicence(f *testing.F) {
	for _, inside := range []string{"<permits type=\"usage\">all</permits>",
		"<prohibits type=\"usage\">ai-train,search</prohibits>",
		"<payment type=\"crawl\"><standard>https://a.example/</standard></payment>", "<reporting/>",
		"<x:y xmlns:x=\"z\"/>"} {
		f.Add([]byte("<rsl xmlns=\"" + rslSpace +
			"\" max-age=\"2\"><content url=\"/a\" server=\"https://s.example\"><license>" +
			inside + "</license></content></rsl>"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		explained(t, policyOf("License: "+home+"/l.xml\n", map[string]string{home + "/l.xml": string(text)},
			everyOne(t)))
	})
}

// web is the statements of a small site.
type web struct {
	usage, signal, locations, contents []string
}

func (w web) policy(t testing.TB) *acap.Policy {
	lines := []string{"User-agent: *", "License: " + home + "/l.xml"}
	for _, v := range w.usage {
		lines = append(lines, "Content-Usage: "+v)
	}
	for _, v := range w.signal {
		lines = append(lines, "Content-Signal: "+v)
	}
	return policyOf(strings.Join(lines, "\n"), map[string]string{
		home + tdmPath: "[" + strings.Join(w.locations, ",\n") + "]",
		home + "/l.xml": "<rsl xmlns=\"" + rslSpace + "\">" + strings.Join(w.contents, "\n") +
			"<content url=\"/nowhere\"><license/></content></rsl>"}, everyOne(t))
}

// FuzzNoMoreFreedom checks that a statement that prohibits a usage, added anywhere in any vocabulary,
// never allows that usage where it was not allowed.
func FuzzNoMoreFreedom(f *testing.F) {
	for i := range 40 {
		f.Add([]byte(strings.Repeat(fmt.Sprint(i*7919), 9)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		below := func(n int) int {
			if len(data) == 0 {
				return 0
			}
			b := int(data[0])
			data = data[1:]
			return b % n
		}
		var w web
		for range 1 + below(8) {
			w.add(below, below(2) == 0, below(4))
		}
		before := w.policy(t)
		usage := below(4)
		w.addAt(below, true, usage, below(4))
		after, u := w.policy(t), acap.NewerUsages()[usage]
		for _, path := range []string{"/", "/a", "/a/b", "/a/b.html"} {
			was, is := before.Decide(u, resource(path)), after.Decide(u, resource(path))
			if !was.Allowed && is.Allowed {
				t.Errorf("%s of %s was refused because of %v, and is allowed with one more prohibition:\n%+v", u, path,
					was.Because, w)
			}
		}
	})
}

// add adds a statement about a usage, chosen by below, to a vocabulary.
func (w *web) add(below func(int) int, prohibits bool, usage int) {
	w.addAt(below, prohibits, usage, below(4))
}

// addAt adds a statement about a usage to the vocabulary with the given number, at a place that below
// chooses.
func (w *web) addAt(below func(int) int, prohibits bool, usage, vocabulary int) {
	path := []string{"/", "/a", "/a/", "/*.html$", "/a/b"}[below(5)]
	at := func(list []string, s string) []string {
		i := below(len(list) + 1)
		return append(append(append([]string{}, list[:i]...), s), list[i:]...)
	}
	yes := 0
	if prohibits {
		yes = 1
	}
	label := []string{"train-ai", "ai-use", "x", "y"}[usage]
	key := []string{"ai-train", "ai-input", "x", "y"}[usage]
	token := []string{"ai-train", "ai-input", "ai-index", "all"}[usage]
	switch vocabulary {
	case 0:
		w.usage = at(w.usage, strings.TrimPrefix(path, "/a/b")+" "+label+"="+[]string{"y", "n"}[yes])
	case 1:
		w.signal = at(w.signal, key+"="+[]string{"yes", "no"}[yes])
	case 2:
		policy := []string{"", `, "tdm-policy": "https://p.example/"`}[below(2)]
		w.locations = at(w.locations, fmt.Sprintf(`{"location": %q, "tdm-reservation": %d%s}`, path, yes, policy))
	default:
		element := []string{"permits", "prohibits"}[yes]
		w.contents = at(w.contents, fmt.Sprintf(`<content url=%q><license><%s type="usage">%s</%s></license></content>`,
			path, element, token, element))
	}
}
