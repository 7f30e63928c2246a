package check

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
)

var updateSites = flag.Bool("update-sites", false, "write what the examples of docs/findings.md that check of a URL "+
	"tells lead to into the page")

// ofURL is the text after the severities in a section of docs/findings.md, if the code of the
// section is reported only when check gets a URL.
const ofURL = ", reported by `check` of a URL"

// tinySite is the site of an example: a robots.txt, a page, and a line for each other address with
// its response: "/a 404", "/a 200 text/html", "/a 200 text/html X-Name: value", or "/a /b" for a
// redirect. Any other address returns a short text.
type tinySite struct {
	texts        map[string]string
	policies     *policy.Authority
	vocabularies []acap.Vocabulary // those that the crawler obeys; their files are texts, too
}

const tinyHost = "http://example.com"

func (s *tinySite) answer(rawurl string) page.Hop {
	path := strings.TrimPrefix(rawurl, tinyHost)
	h := page.Hop{URL: rawurl, Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/plain"}},
		Body: []byte("A short text.")}
	switch path {
	case "/robots.txt":
		h.Body = []byte(s.texts["robots.txt"])
	case "/page.html":
		h.Body, h.Header = []byte(s.texts["html"]), http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	}
	if file := map[string]string{"/.well-known/tdmrep.json": "tdmrep.json", "/licence.xml": "rsl"}[path]; file != "" {
		h.Body = []byte(s.texts[file])
		if s.texts[file] == "" {
			h.Status = http.StatusNotFound
		}
	}
	for line := range strings.Lines(s.texts["site"]) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2 || words[0] != path:
		case words[1][0] == '/' || strings.HasPrefix(words[1], "http"):
			h.Status, h.Header = http.StatusFound, http.Header{"Location": {words[1]}}
		default:
			h.Status, _ = strconv.Atoi(words[1])
			if len(words) > 2 {
				h.Header = http.Header{"Content-Type": {words[2]}}
			}
			if len(words) > 3 {
				name, value, _ := strings.Cut(strings.Join(words[3:], " "), ": ")
				h.Header.Set(name, value)
			}
		}
	}
	return h
}

func (s *tinySite) Page(ctx context.Context, rawurl string) (*page.Page, error) {
	var hops []page.Hop
	for len(hops) < 5 {
		u, err := url.Parse(rawurl)
		if err != nil {
			return nil, err
		}
		p, err := s.policies.Policy(ctx, u)
		if err != nil {
			return nil, err
		}
		if err := p.Decide(acap.Crawl, acap.NewResource(u)).Err(rawurl); err != nil {
			return nil, err
		}
		hops = append(hops, s.answer(rawurl))
		to := hops[len(hops)-1].Header.Get("Location")
		if to == "" {
			break
		}
		next, err := u.Parse(to)
		if err != nil {
			return nil, err
		}
		rawurl = next.String()
	}
	return page.New(hops), nil
}

func (s *tinySite) Fetch(ctx context.Context, rawurl string) (*page.Page, error) {
	return s.Page(ctx, rawurl)
}

type tinyFiles struct{ *tinySite }

func (s tinyFiles) Fetch(_ context.Context, rawurl string, _ http.Header) (policy.Response, error) {
	h := s.answer(rawurl)
	return policy.Response{URL: h.URL, Status: h.Status, Header: h.Header, Body: h.Body}, nil
}

// checked returns the report about the page of an example.
func (s *tinySite) checked(t testing.TB) *Report {
	t.Helper()
	who := acap.Crawler{Names: []string{"searchbot"}, Vocabularies: s.vocabularies}
	answers := &Answers{Fetcher: tinyFiles{s}}
	s.policies = policy.New(answers, who, policy.NewMemory(), policy.Options{})
	defer s.policies.Close()
	u, err := url.Parse(tinyHost + "/page.html")
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{}
	surface, err := r.Surface(t.Context(), u, Site{Who: who, Sender: who, Policies: s.policies, Answers: answers,
		Fetcher: s}, Options{Now: newYear, Vocabularies: s.vocabularies})
	if err != nil {
		t.Fatal(err)
	}
	surface.Page(t.Context(), u) // the report has a finding if the page could not be read
	return r
}

// TestSurfacePage tests that the examples of docs/findings.md for a URL produce the findings that
// the page shows, with the severities of their section. Every code that surface.go and its
// neighbours report has a section, and there are no other sections.
func TestSurfacePage(t *testing.T) {
	src, err := os.ReadFile(findingsPage)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(src), "\n")
	var out []string
	code, severities, documented := "", "", map[string]string{}
	texts := map[string]string{}
	shown := map[string][]string{}
	for i := 0; i < len(lines); i++ {
		if m := sectionText.FindStringSubmatch(lines[i]); m != nil {
			var is bool
			if severities, is = strings.CutSuffix(lines[i+2], ofURL); is {
				code, documented[m[1]] = m[1], severities
			} else {
				code = ""
			}
			texts = map[string]string{}
		}
		out = append(out, lines[i])
		name, fence := strings.CutPrefix(lines[i], "```")
		if !fence || code == "" {
			continue
		}
		end := i + 1 + slices.Index(lines[i+1:], "```")
		text := strings.Join(lines[i+1:end], "\n")
		if name != "finding" {
			texts[name] = text
			out = append(out, lines[i+1:end+1]...)
			i = end
			continue
		}
		r := (&tinySite{texts: texts}).checked(t)
		texts = map[string]string{}
		var got []string
		for _, f := range r.Findings {
			if f.Code != code {
				continue
			}
			shown[code] = append(shown[code], string(f.Severity))
			got = append(got, fmt.Sprintf("%s %d:%d+%d %s: %s", f.Source, f.Line, f.Column, f.Length, f.Severity,
				f.Message))
			if line := r.Line(f); line != "" {
				for _, l := range strings.Split(f.Excerpt(line), "\n") {
					got = append(got, strings.TrimRight("  "+l, " "))
				}
			}
			if f.Hint != "" {
				got = append(got, "hint: "+f.Hint)
			}
		}
		if got == nil {
			t.Errorf("%s:%d: the example does not lead to %s", findingsPage, i+1, code)
		} else if told := strings.Join(got, "\n"); told != text && !*updateSites {
			t.Errorf("%s:%d: %s: got\n%s\nwant\n%s", findingsPage, i+1, code, told, text)
		}
		out = append(append(out, got...), "```")
		i = end
	}
	for code, severities := range documented {
		slices.Sort(shown[code])
		if got := strings.Join(slices.Compact(shown[code]), ", "); got != severities {
			t.Errorf("%s: the section names the severities %s, its examples show %s", code, severities, got)
		}
	}
	if *updateSites {
		if err := os.WriteFile(findingsPage, []byte(strings.Join(out, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	call := regexp.MustCompile(`"([a-z]+(?:-[a-z]+)*)", (?:acap\.(?:Error|Warning|Notice)|severity),`)
	for _, name := range []string{"surface.go", "surface_page.go"} {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(src), -1) {
			if documented[m[1]] == "" && m[1] != "expired-permission" { // the linter reports expired-permission, too
				t.Errorf("%s is told and not documented", m[1])
			}
		}
	}
}
