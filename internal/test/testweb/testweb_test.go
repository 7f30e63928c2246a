package testweb_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
)

func TestSite(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html": "front",
		"robots.txt": "User-agent: *\n",
		testweb.RulesFile: `{"/old": {"status": 301, "location": "/"}, "/gone": {"status": 410, "body": "no"},
			"/cut": {"error": "close"}, "/tag": {"file": "index.html", "header": {"robots-tag": ["*; noindex"]}},
			"/q?b=1&a=2": {"body": "query"}, "/wait": {"hold": true, "body": "at last"}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	site, err := testweb.Start(dir, "127.0.0.1", &log)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(target string) (int, http.Header, string) {
		res, err := client.Get(site.URL + target)
		if err != nil {
			return 0, nil, err.Error()
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return res.StatusCode, res.Header, string(body)
	}
	for _, c := range []struct {
		target string
		status int
		body   string
	}{
		{"/", 200, "front"}, {"/robots.txt", 200, "User-agent: *\n"}, {"/old", 301, ""}, {"/gone", 410, "no"},
		{"/none", 404, "not found\n"}, {"/" + testweb.RulesFile, 404, "not found\n"}, {"/q?b=1&a=2", 200, "query"},
		{"/tag", 200, "front"},
	} {
		status, header, body := get(c.target)
		if status != c.status || body != c.body {
			t.Errorf("%s: %d %q", c.target, status, body)
		}
		if c.target == "/tag" && header.Get("Robots-Tag") != "*; noindex" || c.target == "/old" &&
			header.Get("Location") != "/" {
			t.Errorf("%s: %v", c.target, header)
		}
	}
	if status, _, _ := get("/cut"); status != 0 {
		t.Errorf("/cut answered %d", status)
	}

	held := make(chan string)
	go func() {
		_, _, body := get("/wait")
		held <- body
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := site.Await(ctx, func(line string) bool { return line == "GET /wait" }, 1); err != nil {
		t.Fatal(err)
	}
	site.Release()
	if body := <-held; body != "at last" {
		t.Errorf("held request got %q", body)
	}
	if !slices.Contains(site.Requests(), "GET /q?b=1&a=2") || !bytes.Contains(log.Bytes(), []byte("GET /q?b=1&a=2\n")) {
		t.Error("the log does not hold the query as sent")
	}
}
