package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

var randomCases = flag.Int("cases", 2_000, "how many random cases TestRandomCases asks")

// dice makes random cases. The same seed gives the same cases.
type dice struct{ *rand.Rand }

func (d dice) of(words ...string) string { return words[d.IntN(len(words))] }

// some calls the function make a random number of times, at most most times, and joins the results.
func (d dice) some(most int, make func() string) string {
	var b strings.Builder
	for range d.IntN(most + 1) {
		b.WriteString(make())
	}
	return b.String()
}

func (d dice) usage() string {
	return d.of("crawl", "follow", "index", "preserve", "present", "present-original", "present-currentcopy",
		"present-oldcopy", "present-snippet",
		"present-thumbnail", "present-oldsnippet", "present-oldthumbnail", "present-link", "other", "index",
		"present-snippet", "(brief)", "(both)", "print", "(gone)")
}

func (d dice) qualifier() string {
	return " " + d.of("time-limit=3-days", "time-limit=until-2026-01-07", "time-limit=until-recrawled",
		"time-limit=0-days", "time-limit=plus-terms", "time-limit=soon",
		"must-use-resource=the-acap:extract:id:lead", "must-use-resource=/short.txt",
		"must-use-resource=the-acap:text:a%20few%20words", "must-use-resource=/gone",
		"max-length=4-words", "max-length=20-chars", "max-length = 6-words", "max-length=0-words",
		"must-include-resource=the-acap:credit:text:Harbour%20Post",
		"must-include-resource=the-acap:license-link:/terms", "must-include-resource=the-acap:extract:class:sum",
		"prohibited-modification=translation",
		"prohibited-modification=any", "prohibited-context=within-user-frame", "required-context=within-original-frame",
		"target-condition=permittedcountrylist:be,fr",
		"target-condition=prohibitedipaddressrange:192.0.2.0-192.0.2.255", "usage-ref=/ask", "colour=red", "=",
		"time-limit=")
}

func (d dice) pattern() string {
	return d.of("/", "/news/", "/news/*.html", "*.html", "/news/today.html", "/news/today.html$", "/*day", "/NEWS/",
		"the-acap:resource-set:set", "the-acap:resource-set:none",
		"/a$b", "news/", "/news/../news/", "/%6Eews/", "$", "", "/old/")
}

func (d dice) field() string {
	switch d.IntN(12) {
	case 0:
		return d.of("ACAP-crawler: *", "ACAP-crawler: searchbot", "ACAP-crawler: otherbot", "ACAP-crawler:",
			"ACAP-usage-purpose: news", "ACAP-usage-purpose: *",
			"ACAP-version: 1.1", "ACAP-ignore-conventional-records", "ACAP-permissions-reference: /more.txt",
			"ACAP-request-take-down: /old/x.html",
			"ACAP-request-re-crawl: /news/today.html", "acap-allow-indx: /", "Crawl-delay: 2", "# a comment",
			"ACAP-resource-set: set /news/ *.gif",
			"ACAP-qualified-usage: brief present-snippet max-length=5-words",
			"ACAP-composite-usage: both index (brief)") + "\n"
	case 1:
		return d.of("User-agent: *", "User-agent: searchbot", "Disallow: /news/", "Allow: /news/today", "Disallow:",
			"Sitemap: http://example.com/map.xml", "Content-Usage: "+d.usages(), "Content-Usage: /news/ "+d.usages(),
			"Content-Signal: search=no, ai-train=yes, use=reference", "License: https://example.com/l.xml") + "\n"
	case 2, 3, 4, 5:
		return "ACAP-disallow-" + d.usage() + ": " + d.pattern() + "\n"
	}
	return "ACAP-allow-" + d.usage() + ": " + d.pattern() + d.some(2, d.qualifier) + "\n"
}

// usages returns a dictionary of AIPREF, which may be malformed.
func (d dice) usages() string {
	return d.of("train-ai=n", "train-ai=y, search=n", "ai-use=n;x", "Train-AI=n", "search=y, train-ai=n,", "")
}

// licence returns a licence document of RSL, which may be malformed.
func (d dice) licence() string {
	return `<rsl xmlns="https://rslstandard.org/rsl">` + d.some(2, func() string {
		return "<content url=" + d.of(`"/"`, `"/news/"`, `""`, `"/" server="https://licences.example/"`) +
			"><license>" +
			d.of("", `<permits type="usage">search ai-index</permits>`) +
			d.of("", `<prohibits type="usage">ai-train</prohibits>`) + d.of("", `<payment type="use"/>`) +
			"</license></content>"
	}) + "</rsl>"
}

func (d dice) robots() string {
	head := d.of("", "ACAP-version: 1.1\n", "ACAP-version: 1.1\n", "##ACAP version=1.1\n")
	return head + d.some(3, func() string {
		return d.of("ACAP-crawler: *\n", "ACAP-crawler: searchbot\n") +
			d.some(5, d.field)
	})
}

func (d dice) page() string {
	token := func() string { return "the-acap:" + d.of("allow-", "disallow-") + d.usage() }
	tag := func() string {
		return fmt.Sprintf("<meta name=%q content=%q>\n", d.of("robots", "searchbot", "otherbot", "Robots"),
			d.of("ACAP "+d.of("allow-", "disallow-")+d.usage()+d.some(1, d.qualifier),
				"noindex", "nofollow, noarchive", "max-snippet:12", "ACAP version 1.1", "ACAP news disallow-index",
				"unavailable_after: 2026-01-04", "nondex"))
	}
	return "<html lang=en><head><title>Tides</title>\n" + d.some(3, tag) + "</head><body>\n" +
		fmt.Sprintf("<p id=lead class=%q>The harbour opens at six.</p>\n<div class=%q><p class=%q>Boats may <a "+
			"href=/news/b.html>enter</a> then.</p></div>\n<p class=sum>In short.</p>\n</body></html>\n",
			d.of("", token()), d.of("", token()), d.of("", "", token()+" "+token()))
}

// oneCase returns a random case as JSON.
func (d dice) oneCase(id int) []byte {
	web := map[string]any{
		"http://example.com/robots.txt": map[string]any{"body": d.robots()},
		"http://example.com/more.txt": map[string]any{"body": d.robots(),
			"header": map[string]any{"Content-Type": []string{"text/plain"}}, "status": []int{200, 200, 200, 404,
				503}[d.IntN(5)]},
		"http://example.com/short.txt": map[string]any{"body": "The harbour in short.",
			"header": map[string]any{"Content-Type": []string{"text/plain"}}},
		"http://example.com/news/today.html": map[string]any{"body": d.page(),
			"header": map[string]any{"X-Robots-Tag": []string{d.of("noindex", "all", "otherbot: noindex", "nosnippet",
				"noai")}, "Content-Usage": []string{d.usages()}, "TDM-Reservation": []string{d.of("0", "1", "x")},
				"Link": []string{d.of("", `<https://example.com/m.xml>; rel="license"; type="application/rsl+xml"`)}}},
		"http://example.com/.well-known/tdmrep.json": map[string]any{
			"body": d.of("[]", `[{"location": "/news/", "tdm-reservation": 1}]`,
				`[{"location": "*", "tdm-reservation": 1, "tdm-policy": "https://example.com/p"}, 7]`, "{}")},
		"https://example.com/l.xml": map[string]any{"body": d.licence()},
		"https://example.com/m.xml": map[string]any{"body": d.licence()},
	}
	if d.IntN(2) == 0 {
		delete(web["http://example.com/news/today.html"].(map[string]any), "header")
	}
	c := map[string]any{
		"id": fmt.Sprint(id), "crawler": []string{d.of("searchbot", "searchbot", "thirdbot")}, "web": web,
		"strict": d.IntN(8) == 0, "query": d.of("", "harbour", "short"),
		"url": d.of("http://example.com/news/today.html", "http://example.com/news/today.html",
			"http://example.com/news/", "http://example.com/", "http://example.com/old/x.html"),
		"want": []string{"decision", "text", "snippet", "links", "policy", "actions", "copy", "by_purpose",
			"preferences"},
		"facts": map[string]any{"now": "2026-01-05T12:00:00Z", "first_crawled": "2026-01-01T00:00:00Z",
			"first_indexed": d.of("2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"), "recrawled": d.IntN(3) == 0},
		"target": map[string]any{"ip": d.of("192.0.2.7", "198.51.100.1", ""), "country": d.of("BE", "US", "")},
	}
	if d.IntN(2) == 0 {
		c["usages"] = append(acap.Usages(), acap.NewerUsages()...)
	}
	switch d.IntN(4) {
	case 0:
		c["purposes"] = []string{"news"}
	case 1:
		c["purposes"] = []string{"news", "web"}
	case 2:
		c["cannot"] = []string{d.of("max-length", "present-snippet", "index", "element-level", "time-limit")}
	}
	line, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return line
}

// TestRandomCases checks that the same case always has the same answer, byte for byte, and that no
// answer contradicts itself. The flag -cases sets the number of cases.
func TestRandomCases(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(2026, 11))}
	start := time.Now()
	allowed, refused := 0, 0
	for i := range *randomCases {
		line := d.oneCase(i)
		var answers [2][]byte
		var a *Answer
		for j := range answers {
			c, err := ParseCase(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if a, err = Decide(context.Background(), c); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if answers[j], err = json.Marshal(a); err != nil {
				t.Fatal(err)
			}
			if i%10 > 0 { // decide every tenth case twice
				break
			}
		}
		if answers[1] != nil && !bytes.Equal(answers[0], answers[1]) {
			t.Fatalf("%s\n%s\n%s", line, answers[0], answers[1])
		}
		for u, got := range a.Decisions {
			switch {
			// P1 2.5.6 (L03, X38): the limits say where to request permission
			case u == "other" && got.Reason == "unfulfillable" && got.Limits != nil:
			case got.Allowed != (got.Limits != nil), got.Reason == "", !got.Allowed && got.Because == nil &&
				got.Reason != "unavailable",
				got.Allowed && got.Because == nil && got.Reason != "default",
				got.Terms != "" && got.Reason != acap.ByAgreement:
				t.Fatalf("%s\n%s: %s", line, u, answers[0])
			}
			if got.Allowed {
				allowed++
			} else {
				refused++
			}
		}
		if s := a.Snippet; s != nil && !a.Decisions["present-snippet"].Allowed &&
			!strings.Contains(string(line), "the-acap:allow") {
			t.Fatalf("%s\na snippet is shown: %s", line, answers[0])
		}
	}
	t.Logf("%d cases in %v: %d decisions permit, %d refuse", *randomCases, time.Since(start).Round(time.Millisecond),
		allowed, refused)
	if allowed < refused/10 || refused < allowed/10 {
		t.Errorf("%d decisions permit, %d refuse: the cases say little", allowed, refused)
	}
}
