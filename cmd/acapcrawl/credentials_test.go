package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
)

// A crawl sends credentials and cookies to the sites that they are for, and to no other site. Neither the data
// directory nor an export has them.
func TestCredentials(t *testing.T) {
	var mu sync.Mutex
	leaked := ""
	other := testweb.NewPages(t)
	other.Handle(testweb.AnyPath, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		leaked += r.Header.Get("Authorization") + r.Header.Get("Cookie") + r.Header.Get("X-Key")
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>other")
	})
	members := testweb.NewPages(t)
	for path, text := range map[string]string{"/robots.txt": "",
		"/": "<p>members <a href=/away>away</a> <a href=/in>in</a>", "/in": "<p>inside"} {
		members.Handle(path, func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			if user != "reader" || password != "sesame-lock" || r.Header.Get("X-Key") != "sesame-key" ||
				!strings.Contains(r.Header.Get("Cookie"), "visit=sesame-cookie") {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, text)
		})
	}
	members.Redirect("/away", other.URL+"/there")
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	credentials := write("c.yaml", members.URL+":\n  user: reader\n  password: sesame-lock\n"+
		"  headers: {X-Key: sesame-key}\n")
	// a cookie for a host is for all of its ports, so the other site gets it, too
	cookies := write("c.txt", "127.0.0.1\tFALSE\t/\tFALSE\t0\tvisit\tsesame-cookie\n"+
		"127.0.0.1\tFALSE\t/\tFALSE\t1\told\tx\n")
	p := &polled{t: t, data: filepath.Join(dir, "d")}
	said := call(t.Context(), p.data, "crawl", "--delay", "0", "--scope", "any", "--allow-private", "--credentials",
		credentials, "--cookies", cookies, members.URL+"/")
	if said.status != statusDone || !strings.Contains(said.stderr, cookies+": 1 of its cookies have expired") {
		t.Errorf("%+v", said)
	}
	if members.Asked("/in") != 1 || other.Asked("/there") != 1 {
		t.Errorf("the sites were asked for %v and %v", members.Requests(), other.Requests())
	}
	mu.Lock()
	if leaked = strings.ReplaceAll(leaked, "visit=sesame-cookie", ""); leaked != "" {
		t.Errorf("the other site got %q", leaked)
	}
	mu.Unlock()
	out := p.verb(0, "archive", "export", "-o", filepath.Join(dir, "x.warc.gz"), "--json")
	if !strings.Contains(out, `"captures":3`) {
		t.Error(out)
	}
	text := unzipped(t, filepath.Join(dir, "x.warc.gz"))
	if strings.Contains(text, "sesame-") || strings.Contains(text, "cmVhZGVy") || strings.Contains(text, "Basic ") ||
		strings.Count(text, "Authorization: redacted\r\n") != 3 {
		t.Errorf("the export has\n%s", text)
	}
	p.data = filepath.Join(dir, "e")
	p.verb(statusUsage, "crawl", "--credentials", write("w.yaml", "members: {user: a}"), members.URL+"/")
	p.verb(statusUsage, "crawl", "--cookies", write("w.txt", "no cookie"), members.URL+"/")
	p.verb(statusUsage, "crawl", "--credentials", filepath.Join(dir, "none"), members.URL+"/")
}

func unzipped(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
