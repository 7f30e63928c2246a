package view

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// tricks returns the pages in testdata/tricks.txt, one in each line, in which NAME is a host of its own. They
// hide addresses of other hosts from a program that reads them differently than browsers do: what a browser
// contacts in spite of every policy, such as the host of LINK preconnect, and all other addresses. Control
// characters are written as their symbols, such as U+240A for the end of a line.
func tricks(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/tricks.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		page := strings.Map(func(c rune) rune {
			if c >= 0x2400 && c < 0x2420 {
				return c - 0x2400
			}
			return c
		}, strings.TrimSuffix(line, "\n"))
		name := fmt.Sprint("trick", len(out)+1)
		out[name] = strings.ReplaceAll(page, "NAME", name+".localhost")
	}
	return out
}

// TestTricks checks in Chromium that no trick makes a copy contact another host, rewritten or not. The number of a
// trick is its line.
func TestTricks(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	for name, robots := range map[string]string{"rewritten": "",
		"unmodified": "ACAP-allow-present: / prohibited-modification=any"} {
		t.Run(name, func(t *testing.T) {
			s, h := stocked(t)
			all, parts, awaited := "", tricks(t), []string(nil)
			for part, body := range parts {
				s.Hold("/"+part, "<!doctype html>"+body, noon)
				all += `<iframe src="` + at("/raw/", "/"+part) + `"></iframe>`
				awaited = append(awaited, "200 "+at("/raw/", "/"+part))
			}
			s.SetRobots(robots)
			server := record(t, h, map[string]string{"/frames": all})
			b := startBrowser(t)
			b.open(t, server, "/frames", awaited...)
			if hosts := b.hosts(t); len(hosts) > 0 {
				t.Errorf("Chromium contacts %v", hosts)
			}
		})
	}
}
