package view

import (
	"regexp"
	"slices"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
)

// netBrowser is a Chromium that logs what it does in the network.
type netBrowser struct{ *pagecheck.NetBrowser }

func startBrowser(t *testing.T) netBrowser {
	t.Helper()
	return netBrowser{pagecheck.BrowseLogged(t)}
}

// open loads the page at path, and returns when its load event was fired, these requests, "STATUS PATH", were
// answered, and then another tab has loaded emptyPage: what the page starts after its load event takes fewer steps.
//
// It does not use Chromium's virtual time, which sometimes never ends if the page has many frames and the machine
// is busy.
func (b netBrowser) open(t *testing.T, r *recorder, path string, awaited ...string) {
	t.Helper()
	ctx, cancel := pagecheck.UntilDeadline(t, t.Context())
	defer cancel()
	b.Load(t, r.URL+path)
	for _, request := range awaited {
		select {
		case <-r.awaits(t, request):
		case <-ctx.Done():
			t.Fatalf("%s: %s did not happen; requests: %q", path, request, r.requested())
		}
	}
	b.LoadAside(t, r.URL+emptyPage)
}

// ownHosts are the replay domain of the tests and hosts below it.
var ownHosts = regexp.MustCompile(`([0-9]{14}h-[0-9a-f]{10}-quay-example\.)?replay\.localhost`)

// ownPaths are paths of this server with the address of a page in them.
var ownPaths = regexp.MustCompile(`/(raw|copy|versions|compare|thumbnail|timegate|timemap/[a-z]+)/[^"\s]*`)

// hosts ends Chromium, and returns the host names in its network log that end with .localhost, except those of the
// test's own server. Chromium resolves them itself.
func (b netBrowser) hosts(t *testing.T) (list []string) {
	t.Helper()
	text := ownHosts.ReplaceAll(ownPaths.ReplaceAll(b.Log(t), nil), nil)
	for _, name := range regexp.MustCompile(`[a-z0-9-]+\.localhost`).FindAll(text, -1) {
		if !slices.Contains(list, string(name)) {
			list = append(list, string(name))
		}
	}
	return list
}
