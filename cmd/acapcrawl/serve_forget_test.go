package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
)

// A page that a publisher takes down over HTTP is soon contained in no file, even if no crawl runs
// and no robots.txt is read again.
func TestServeForgets(t *testing.T) {
	t.Parallel()
	for _, within := range []string{"1h", "0s"} {
		t.Run(within, func(t *testing.T) {
			site, data := crawled(t, "/a.html", "/big.html", "/shy.html")
			origin := strings.TrimSuffix(site.URL, "/")
			s, end := startServe(t, data, "--config", configured(t, "actions:\n  seen_within: "+within+"\n"))
			s.token = credential(t, data, origin)
			read := len(site.Requests())
			// take down two pages, because the first take-down may be executed by the initial work
			// of serve
			for _, path := range []string{"/a.html", "/big.html"} {
				status, got := s.ask(t, "POST", "/api/v1/requests", path, fmt.Sprintf(`{"action":"take-down","url":%q}`,
					origin+path))
				if status != 201 || got["state"] != "done" {
					t.Fatalf("%d %v", status, got)
				}
				awaitRequest(t, data, origin+path, func(r actions.Request) bool { return !r.Gone.IsZero() })
				if r := erased(t, data, origin+path); !r.Settled {
					t.Errorf("%+v", r)
				}
			}
			if where := holding(t, data, "A gull"); where != nil {
				t.Error(where)
			}
			again := fmt.Sprintf(`{"action":"re-crawl","url":%q}`, origin+"/shy.html")
			if status, got := s.ask(t, "POST", "/api/v1/requests", "again", again); status != 201 {
				t.Fatalf("%d %v", status, got)
			}
			awaitRequest(t, data, origin+"/shy.html", func(r actions.Request) bool { return r.State == actions.Done })
			if got := site.Requests()[read:]; within == "0s" && !slices.Equal(got, []string{"GET /shy.html"}) {
				t.Errorf("requested: %v", got)
			}
			if status := end(); status != statusDone {
				t.Errorf("serve ended with %d", status)
			}
		})
	}
}

// The operator forgets a page while another process uses the files: the command says when they are rewritten.
func TestForgetInUse(t *testing.T) {
	t.Parallel()
	for verb, want := range map[string]string{
		serveName:        "The files are rewritten within 1 h 0 min by the process that uses them.\n",
		"archive export": "acapcrawl archive compact rewrites them.\n",
	} {
		site, data := crawled(t, "/a.html")
		d, end := own(t, data, verb)
		d.serve()
		said := call(t.Context(), data, "archive", "forget", "--reason", "x", site.URL+"/a.html")
		if said.status != statusDone || !strings.HasSuffix(said.stdout, want) {
			t.Errorf("%s: %+v", verb, said)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

// configured writes a configuration file and returns its name.
func configured(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "acapcrawl.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// credential makes a credential for origins, and returns its token.
func credential(t *testing.T, data string, origins ...string) string {
	t.Helper()
	made := call(t.Context(), data, append([]string{"actions", "credentials", "add", "--name", rand.Text()},
		origins...)...)
	if made.status != statusDone {
		t.Fatal(made)
	}
	return strings.TrimSpace(made.stdout)
}

// awaitRequest waits until wanted returns true for the last request for a URL.
func awaitRequest(t *testing.T, data, url string, wanted func(actions.Request) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// polls slowly, because nothing can be written to the ledger while it is read
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		var list []actions.Request
		said := call(ctx, data, "actions", "ls", "--json", "--url", url)
		if json.Unmarshal([]byte(said.stdout), &list) == nil && len(list) > 0 && wanted(list[len(list)-1]) {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", url, said)
		}
	}
}

// A take-down that the operator submits is executed without a crawl, too.
func TestSubmitForgets(t *testing.T) {
	site, data := crawled(t, "/a.html")
	page := strings.TrimSuffix(site.URL, "/") + "/a.html"
	if said := call(t.Context(), data, "actions", "submit", "take-down", page); said.status != statusDone {
		t.Fatal(said)
	}
	if r := erased(t, data, page); !r.Verified || !r.Settled {
		t.Errorf("%+v", r)
	}
	var rows []struct{ Gone time.Time }
	if said := call(t.Context(), data, "actions", "ls", "--json"); json.Unmarshal([]byte(said.stdout), &rows) != nil ||
		len(rows) == 0 || rows[0].Gone.IsZero() {
		t.Error(said)
	}
}
