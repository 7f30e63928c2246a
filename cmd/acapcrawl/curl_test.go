package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The curl examples of docs/actions.md are run in order against a server (acapcrawl serve). Each
// answer is as the text documents. Together the examples use every HTTP route for publishers.
func TestCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	const page = "/news/ferry.html"
	mine := newPublisher(t, "/", page)
	data := t.TempDir()
	visit(t, data, []string{"/", page}, mine)

	dir := t.TempDir()
	config := receiptConfig(t, dir)
	s, end := startServe(t, data, "--config", config)
	defer end()
	token := credential(t, data, mine.origin)

	var answers []string
	used := map[string]bool{}
	run := func(block string) {
		text := strings.NewReplacer("http://127.0.0.1:8080", s.at, "https://example.com", mine.origin).Replace(block)
		c := exec.CommandContext(t.Context(), "sh", "-e", "-c", text)
		c.Dir, c.Env = dir, append(os.Environ(), "TOKEN="+token, "HOME="+dir, "NO_PROXY=*")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%v: %s", block, err, out)
		}
		answers = append(answers, string(out))
	}
	method := regexp.MustCompile(`-X ([A-Z]+)`)
	route := regexp.MustCompile(`8080(/api/v1/[a-z]+(?:/1)?(?:/receipt)?)`)
	for _, block := range blocks(read(t, "docs/actions.md"), "bash") {
		for _, command := range strings.SplitAfter(strings.ReplaceAll(block, "\\\n", " "), "\n") {
			verb := "GET"
			if m := method.FindStringSubmatch(command); m != nil {
				verb = m[1]
			}
			if m := route.FindStringSubmatch(command); m != nil {
				used[verb+" "+m[1]] = true
				if verb == "POST" && !strings.Contains(command, "-H 'Content-Type: application/json'") {
					t.Errorf("without its type: %s", command)
				}
			}
		}
		run(block)
	}
	for _, want := range []string{"POST /api/v1/requests", "GET /api/v1/requests", "GET /api/v1/requests/1",
		"GET /api/v1/requests/1/receipt", "DELETE /api/v1/requests/1", "GET /api/v1/key"} {
		if !used[want] {
			t.Errorf("docs/actions.md has no example of %s", want)
		}
	}

	receipt, err := os.ReadFile(filepath.Join(dir, "receipt.json"))
	if err != nil || !json.Valid(receipt) {
		t.Errorf("the receipt: %s, %v", receipt, err)
	}
	for i, want := range []string{`"state":"done"`, `"action":"re-crawl"`, `"id":1`, `"id":1`, `"standing":false`,
		`"kty":"OKP"`} {
		if i >= len(answers) || !strings.Contains(answers[i], want) {
			t.Errorf("example %d of %d is not answered with %s: %q", i+1, len(answers), want, answers)
		}
	}
	if held := mine.holds(t, data); len(held) != 1 || held[0] != "/" {
		t.Errorf("after the take-down, %q are held", held)
	}
}
