package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/conformance/course"
)

// acapcrawl violates no rule on the test site of conformance site, whatever its name, purposes and
// speed are. Each part of the site that tests a mandatory rule has a result.
func TestCourse(t *testing.T) {
	t.Parallel()
	// stations about requests that --refetch repeats
	refetched := []string{"rsl-once", "rsl-discarded", "rsl-many", "rsl-paid"}
	for name, tc := range map[string]struct {
		flags  string
		env    []string
		again  []string // flags of further crawls into the same data directory
		told   course.Told
		served bool // the server of the test site gets the same names and purposes as the function that judges
	}{
		"plain":         {flags: "--delay 0"},
		"another name":  {flags: "--delay 0 --crawler Gazette.Bot-2"},
		"several names": {flags: "--delay 0 --crawler lantern --crawler beacon"},
		"several names, told": {flags: "--delay 0 --crawler lantern --crawler beacon",
			told: course.Told{Crawler: []string{"lantern", "beacon"}}, served: true},
		"its second name": {flags: "--delay 0 --crawler lantern --crawler beacon",
			told: course.Told{Crawler: []string{"beacon", "lantern"}}, served: true},
		"a name like a pattern": {flags: "--delay 0 --crawler a$b|c"},
		"the name of another": {flags: "--delay 0 --crawler Googlebot",
			env: []string{"ACAPCRAWL_CONTACT=https://bot.example/"}},
		"a purpose": {flags: "--delay 0 --purpose news", told: course.Told{Purposes: []string{"news"}},
			served: true},
		"a purpose nobody knows": {flags: "--delay 0 --purpose a-purpose-of-others"},
		"two purposes": {flags: "--delay 0 --purpose news --purpose archive",
			told: course.Told{Purposes: []string{"news", "archive"}}, served: true},
		"purposes told to the judge": {flags: "--delay 0 --purpose news",
			told: course.Told{Purposes: []string{"news"}}},
		"no purposes": {flags: "--delay 0 --purpose="},
		"strict":      {flags: "--delay 0 --strict"},
		"a delay":     {flags: "--delay 20ms --crawler tortoise"},
		"in parallel": {flags: "--delay 0 --concurrency 16 --per-host 8"},
		"three times": {flags: "--delay 0", again: []string{"--refetch", ""}},
		"one by one":  {flags: "--delay 0 --concurrency 1 --per-host 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "plain" && name != "two purposes" {
				t.Skip("a crawl takes seconds")
			}
			t.Parallel()
			o := course.Options{}
			if tc.served {
				o.Crawler, o.Purposes = tc.told.Crawler, tc.told.Purposes
			}
			s, err := course.Serve(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			args := append([]string{"crawl", "--data", t.TempDir(), "--allow-private", "--sitemaps", "--requisites",
				"--canonical"}, strings.Fields(tc.flags)...)
			for _, o := range course.Seeds() {
				args = append(args, s.URL(o)+"/")
			}
			for _, more := range append([]string{""}, tc.again...) {
				c := &Command{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Env: tc.env}
				if status := c.Main(t.Context(), append(args, strings.Fields(more)...)); status != statusDone {
					t.Errorf("the crawl ended with status %d", status)
				}
			}
			visits := s.Visits()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := course.Judge(t.Context(), visits, tc.told)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Visitors) != 1 || r.Visitors[0].Unjudged != "" {
				t.Fatalf("visitors: %+v", r.Visitors)
			}
			if a := r.Visitors[0].ACAP; !a.Judged || a.Sign == "" {
				t.Errorf("it is not said to read ACAP: %+v", a)
			}
			for _, got := range r.Visitors[0].Results {
				switch {
				case got.Outcome == course.Kept || got.Outcome == course.Used:
				case got.Outcome == course.Untested && got.Level == course.May:
				case got.Outcome == course.Untested && len(o.Purposes) == 0 &&
					strings.HasPrefix(got.ID, "acap-purpose"):
				// the user asks for all pages and files again
				case len(tc.again) > 0 && slices.Contains(refetched, got.ID):
				// P1 2.3.3 (C16): another of the purposes may permit the fetch
				case got.Outcome == course.Untested && len(o.Purposes) > 1 && got.ID == "acap-purpose":
				default:
					t.Errorf("%s is %s: %s %v", got.ID, got.Outcome, got.Why, got.Evidence)
				}
			}
		})
	}
}

// If a log of requests breaks off, the complete lines are judged and the error is reported.
func TestJudgeUnfinished(t *testing.T) {
	visit := func(second, target string) string {
		return `{"time":"2026-06-01T12:00:` + second + `Z","open":1,"origin":"rules","method":"GET","target":"` +
			target + `","status":200,"agent":"samplebot/1.0","names":["samplebot"]}` + "\n"
	}
	var out, told strings.Builder
	c := &Command{Stdin: strings.NewReader(visit("00", "/robots.txt") + visit("01", "/plain/") +
		visit("02", "/plain/trap.html") + `{"time":"2026-`), Stdout: &out, Stderr: &told}
	if status := c.Main(t.Context(), []string{"conformance", "site", "--judge", "-"}); status != statusNothing ||
		!strings.Contains(out.String(), "violated: plain ") || !strings.Contains(told.String(), ":4 breaks off") {
		t.Errorf("status %d, %s\n%s", status, told.String(), out.String())
	}
}

// rotate is a crawler that sends a different User-Agent with each request, and never requests
// robots.txt.
func rotate() {
	for i, at := range os.Args[1:] {
		req, err := http.NewRequest(http.MethodGet, at, nil)
		if err != nil {
			panic(err)
		}
		req.Header.Set("User-Agent", fmt.Sprintf("sample%dbot/1", i))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
	}
}
