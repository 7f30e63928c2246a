package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

const publishersPage = "docs/publishers.md"

var updatePublishers = flag.Bool("update-publishers", false, "write what the console blocks of docs/publishers.md "+
	"print into the page")

var fenced = regexp.MustCompile("(?ms)^```([a-z.]+)( [^\n]*)?\n(.*?)^```$")

// An example of docs/publishers.md consists of a robots.txt, pages and headers. Each of them is
// valid until the next heading, or until the next robots.txt, page or header. After these blocks
// the example shows decisions, or the output of a command. A line of a block "decide" is one of
//
// USAGE PATH [as CRAWLER] [for PURPOSE] [from COUNTRY] [on DATE] -> yes|no [line N] [by SOURCE]
// [because REASON] [LIMIT=VALUE];
//
// text PATH -> the text of the page that may be indexed;
//
// take-down|re-crawl PATH -> yes|no|not asked.
//
// The test sends these lines to acapcrawl decide. In all cases the page was first used on
// 2026-01-01. This is also the current date unless a line has another date.
func TestPublishersPage(t *testing.T) {
	text := read(t, publishersPage)
	for _, section := range regexp.MustCompile("(?m)^##+ .*$").Split(text, -1) {
		web := map[string]map[string]any{}
		var unused string
		files := map[string]string{}
		for _, m := range fenced.FindAllStringSubmatch(section, -1) {
			kind, name, body := m[1], strings.TrimSpace(m[2]), m[3]
			switch kind {
			case "robots.txt":
				if name == "" {
					name = "/robots.txt"
				}
				web[name] = map[string]any{"body": body}
				files[strings.TrimPrefix(name, "/")] = body
				unused = body
			case "html":
				if name == "" {
					name = "page"
				}
				if web[name] == nil {
					web[name] = map[string]any{}
				}
				web[name]["body"] = body
				files[strings.TrimPrefix(name, "/")] = body
				unused = body
			case "http":
				header := map[string][]string{}
				for line := range strings.Lines(body) {
					key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
					header[key] = append(header[key], value)
				}
				if web["page"] == nil {
					web["page"] = map[string]any{"body": "<p>A page.</p>"}
				}
				web["page"]["header"] = header
				unused = body
			case "decide":
				for line := range strings.Lines(body) {
					decides(t, web, strings.TrimSpace(line))
				}
				unused = ""
			case "console":
				t.Run("console", func(t *testing.T) {
					switch got := consoled(t, files, body); {
					case got == body:
					case *updatePublishers:
						text = strings.Replace(text, "```console\n"+body+"```", "```console\n"+got+"```", 1)
					default:
						t.Errorf("%s\nprints\n%s", body, got)
					}
				})
				unused = ""
			case "text", "mermaid":
			default:
				t.Errorf("nothing executes a block of %s", kind)
			}
		}
		if unused != "" {
			t.Errorf("nothing executes the example\n%s", unused)
		}
	}
	if *updatePublishers {
		if err := os.WriteFile(filepath.Join(root, publishersPage), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var expectation = regexp.MustCompile(`^(\S+) (/\S*)((?: (?:as|for|from|on) \S+)*) -> (.*)$`)

// decides sends a line of a block "decide" to acapcrawl decide, and compares the answer.
func decides(t *testing.T, web map[string]map[string]any, line string) {
	t.Helper()
	m := expectation.FindStringSubmatch(line)
	if m == nil {
		t.Errorf("%q is no expectation", line)
		return
	}
	asked, path, wanted := m[1], m[2], m[4]
	const site, today = "https://example.com", "2026-01-01"
	all := map[string]any{}
	for name, response := range web {
		if name == "page" {
			name = path
		}
		all[site+name] = response
	}
	facts := map[string]any{"now": today + "T12:00:00Z"}
	for _, use := range []string{"crawled", "indexed", "preserved", "presented"} {
		facts["first_"+use] = today + "T12:00:00Z"
	}
	c := map[string]any{"id": "x", "web": all, "url": site + path, "facts": facts}
	switch asked {
	case "text":
		c["want"] = []string{"text"}
	case acap.TakeDown, acap.ReCrawl:
		c["want"] = []string{"actions"}
	default:
		c["usages"] = []string{asked}
	}
	words := strings.Fields(m[3])
	for i := 0; i < len(words); i += 2 {
		switch words[i] {
		case "as":
			c["crawler"] = []string{words[i+1]}
		case "for":
			c["purposes"] = []string{words[i+1]}
		case "from":
			c["target"] = map[string]any{"country": words[i+1]}
		case "on":
			facts["now"] = words[i+1] + "T12:00:00Z"
		}
	}
	question, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	command := Command{Stdin: bytes.NewReader(question), Stdout: &out, Stderr: &said}
	if status := command.Main(t.Context(), []string{"decide"}); status != statusDone {
		t.Fatalf("%s: status %d: %s%s", line, status, &out, &said)
	}
	var answer struct {
		Text    string
		Actions []struct {
			Action, URL string
			Execute     bool
		}
		Decisions map[string]struct {
			Allowed bool
			Reason  string
			Because struct {
				Source string
				Line   int
			}
			Limits map[string]any
		}
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	switch asked {
	case "text":
		if answer.Text != wanted {
			t.Errorf("%s: the text is %q", line, answer.Text)
		}
		return
	case acap.TakeDown, acap.ReCrawl:
		got := "not asked"
		for _, a := range answer.Actions {
			if a.Action == asked && a.URL == site+path {
				got = map[bool]string{true: "yes", false: "no"}[a.Execute]
			}
		}
		if got != wanted {
			t.Errorf("%s: it is %s: %s", line, got, &out)
		}
		return
	}
	d := answer.Decisions[asked]
	got := map[bool]string{true: "yes", false: "no"}[d.Allowed]
	words = strings.Fields(strings.ReplaceAll(wanted, ",", ""))
	for i := 1; i < len(words); i++ {
		switch key, value, limit := strings.Cut(words[i], "="); {
		case limit && value != "":
			got += fmt.Sprintf(" %s=%v", key, strings.Trim(fmt.Sprint(d.Limits[key]), "[]"))
		case words[i] == "line":
			got += fmt.Sprint(" line ", d.Because.Line)
			i++
		case words[i] == "by":
			got += " by " + d.Because.Source
			i++
		case words[i] == "because":
			got += " because " + d.Reason
			i++
		default:
			t.Errorf("%s: %q is not understood", line, words[i])
		}
	}
	if want := strings.Join(words, " "); got != want {
		t.Errorf("%s: the answer is %s: %s", line, got, &out)
	}
}

// consoled runs the commands in a block of the document, in a directory with the files of the
// example. It returns the block with the actual output of the commands.
func consoled(t *testing.T, files map[string]string, block string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out strings.Builder
	for line := range strings.Lines(block) {
		args, found := strings.CutPrefix(line, "$ acapcrawl ")
		if !found {
			continue
		}
		out.WriteString(line)
		var printed bytes.Buffer
		c := Command{Stdin: strings.NewReader(""), Stdout: &printed, Stderr: &printed,
			Env: []string{"XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir}}
		c.Main(t.Context(), strings.Fields(args))
		out.Write(printed.Bytes())
	}
	return out.String()
}
