package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
)

// hangingUp is the context of a client that disconnects as soon as the server begins to answer the
// request of the client.
type hangingUp struct {
	context.Context
	hangUp func()
}

func (h hangingUp) Deadline() (time.Time, bool) {
	h.hangUp()
	return h.Context.Deadline()
}

// If a client requests a take-down and disconnects, the take-down is executed completely
// nevertheless, and the loop of watch is started early.
func TestChannelHungUp(t *testing.T) {
	site, data := crawled(t, "/a.html")
	origin := strings.TrimSuffix(site.URL, "/")
	token := credential(t, data, origin)
	c := &Command{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
	cfg, err := config.Load(config.Input{Flags: map[string]any{"data": data}})
	if err != nil {
		t.Fatal(err)
	}
	ch := newChannel(t.Context(), c, cfg)
	defer ch.close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, err := ch.Answer(hangingUp{ctx, cancel}, actions.Call{Do: actions.DoSubmit, Token: token, Key: "k",
		Action: acap.TakeDown, URL: origin + "/a.html"})
	if err != nil || a.Request == nil || a.Request.State != actions.Done {
		t.Fatalf("%+v, %v", a, err)
	}
	if said := call(t.Context(), data, "show", origin+"/a.html"); said.status != statusNothing {
		t.Error(said)
	}
	if len(ch.wake) != 1 {
		t.Error("the watch is not woken")
	}
}

// The verb actions run, called with the flags only-soon and soon for an origin whose robots.txt was
// read just before, does not read it at once, but reports that it must be read again soon. It reads
// no other policy.
func TestReadLater(t *testing.T) {
	web, data := crawled(t, "/a.html")
	origin := strings.TrimSuffix(web.URL, "/")
	read := len(web.Requests())
	for _, soon := range []string{origin, "http://other.example"} {
		said := call(t.Context(), data, "actions", "run", "--json", "--"+onlyFlag, "--"+soonFlag, soon)
		var did site.RequestsRun
		if err := json.Unmarshal([]byte(said.stdout), &did); err != nil {
			t.Fatal(said, err)
		}
		if later := soon == origin; later != slices.Equal(did.Later, []string{origin}) ||
			later != did.Next.After(time.Now()) || time.Until(did.Next) > time.Minute {
			t.Errorf("%s: %+v", soon, did)
		}
	}
	if more := web.Requests()[read:]; len(more) > 0 {
		t.Errorf("requested: %v", more)
	}
}

func TestPause(t *testing.T) {
	synctest.Test(t, testPause) // synctest controls the clock
}

func testPause(t *testing.T) {
	soon := site.RequestsRun{Reread: site.Reread{Next: time.Now().Add(30 * time.Second)}}
	later := soon
	later.Later = []string{"https://quay.example"}
	for name, c := range map[string]struct {
		within, least, most time.Duration
		did                 site.RequestsRun
	}{
		"more to do":              {time.Hour, breathe, breathe, site.RequestsRun{More: true}},
		"usually":                 {time.Hour, 3 * time.Minute, 3 * time.Minute, soon},
		"a line is waited for":    {time.Hour, 30 * time.Second, 30 * time.Second, later},
		"only when woken":         {0, time.Hour, 1 << 62, soon},
		"a line, only when woken": {0, 30 * time.Second, 30 * time.Second, later},
		"something is left":       {0, leftOver, leftOver, site.RequestsRun{Left: true}},
	} {
		w := watcher{within: c.within}
		if got := w.pause(c.did); got < c.least || got > c.most && c.most != 1<<62 {
			t.Errorf("%s: %s", name, got)
		}
	}
}
