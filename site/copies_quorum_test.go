package site

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/test/fakes3"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// A page whose key cannot be copied, because the servers of the cluster have no quorum at that moment, is not lost and
// not requested again, and the crawl goes on by itself.
func TestCopiesWithoutQuorum(t *testing.T) {
	setStoreKeys(t)
	servers := natstest.Start(t, 3)
	var mu sync.Mutex
	asked := map[string]int{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<title>home</title><a href=/one>one</a>`)
		case "/one":
			servers.Kill(1)
			servers.Kill(2)
			fmt.Fprint(w, `<title>one</title><a href=/two>two</a>`)
		case "/two":
			fmt.Fprint(w, `<title>two</title>`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	store := fakes3.Start(t)
	cfg, err := config.Load(config.Input{Flags: map[string]any{"data": t.TempDir(), "cluster": servers.URL(),
		"node": "a", "cluster_key_file": newClusterKey(t), "delay": "0", "depth": -1, "allow_private": true,
		"lease": "10m", "lease_margin": "2m", "index": false}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.S3 = fakeBucket(store)
	failed := &awaitedURL{url: web.URL + "/one", logged: make(chan struct{})}
	s, err := Open(cfg, Options{Create: true, Log: slog.New(failed)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	go func() {
		<-failed.logged
		servers.Restart(1)
		servers.Restart(2)
	}()
	sum, err := s.Crawl(t.Context(), CrawlOptions{Seeds: []string{web.URL + "/"}})
	if err != nil || sum.Stored != 3 {
		t.Errorf("%d pages are stored: %v", sum.Stored, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for path, n := range asked {
		if n != 1 && !strings.HasSuffix(path, ".txt") && !strings.HasSuffix(path, ".json") {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
}

// awaitedURL is a handler of log messages that tells when a warning about a URL is logged.
type awaitedURL struct {
	url    string
	logged chan struct{}
	once   sync.Once
}

func (a *awaitedURL) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (a *awaitedURL) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(f slog.Attr) bool {
		if f.Key == "url" && f.Value.String() == a.url {
			a.once.Do(func() { close(a.logged) })
		}
		return true
	})
	return nil
}

func (a *awaitedURL) WithAttrs([]slog.Attr) slog.Handler { return a }

func (a *awaitedURL) WithGroup(string) slog.Handler { return a }
