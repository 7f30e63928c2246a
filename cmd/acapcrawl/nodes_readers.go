package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

const (
	headWithin = 5 * time.Second  // for the beginning of a node's answer to a reader
	leaveOut   = 10 * time.Second // how long a node is not asked after it did not answer
	maxHeader  = 64 << 10         // bytes of the header of an answer
)

// nodeReaders answers readers from all nodes of a cluster. Requests about one page, or one site, are passed on to all
// nodes, and one answer is chosen. All other requests are answered here, from what the nodes have found.
type nodeReaders struct {
	nodes *nodes
	view  *view.Handler

	mu    sync.Mutex
	peers map[string]*peer // by name
}

// peer is a node that answers readers.
type peer struct {
	transport *http.Transport
	failed    time.Time // when it last did not answer
}

// ServeHTTP implements http.Handler.
func (n *nodeReaders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, is := aboutPage(r)
	if !is || r.Method != http.MethodGet && r.Method != http.MethodHead {
		w := &shardsWriter{ResponseWriter: w}
		n.view.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), shardsKey{}, w)))
		if !w.begun { // the answer is empty
			w.WriteHeader(http.StatusOK)
		}
		return
	}
	if err := n.pass(w, r, host); err != nil {
		n.view.Refuse(w, r, silent(err))
	}
}

// silent is the problem if no node answers.
func silent(err error) *view.Problem {
	return &view.Problem{Status: http.StatusServiceUnavailable, Code: "closed",
		Title: "This archive cannot be read now", Detail: "None of its nodes answers: " +
			strings.TrimSuffix(err.Error(), ".") + ".", Retry: headWithin}
}

// close ends the connections to the nodes.
func (n *nodeReaders) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.peers {
		p.transport.CloseIdleConnections()
	}
}

// pagePaths are the prefixes of paths that contain the address of a page, after numbers and slashes.
var pagePaths = strings.Fields("/versions/ /timegate/ /timemap/link/ /timemap/json/ /copy/ /raw/ /thumbnail/ /compare/")

// pageQueries are the paths that have the address of a page in the parameter url.
var pageQueries = strings.Fields("/explain /versions /compare /feed.atom /api/v1/show /api/v1/explain")

// aboutPage reports whether a request is about one page or one site, and returns the host, "" if it is unknown.
func aboutPage(r *http.Request) (host string, is bool) {
	if view.VisitorOf(r.Context()).Label != "" {
		return "", true
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	for _, prefix := range pagePaths {
		if rest, found := strings.CutPrefix(r.RequestURI, prefix); found {
			for rest != "" && (rest[0] >= '0' && rest[0] <= '9' || rest[0] == '/') {
				rest = rest[1:]
			}
			return hostOf(rest), true
		}
	}
	if rest, found := strings.CutPrefix(path, "/sites/"); found {
		return rest, true
	}
	values, err := url.ParseQuery(query)
	switch {
	case err != nil:
		return "", false
	case slices.Contains(pageQueries, path) && values.Get("url") != "":
		return hostOf(values.Get("url")), true
	case path == "/api/v1/sites" && values.Get("host") != "":
		return values.Get("host"), true
	}
	return "", false
}

func hostOf(page string) string {
	normal, err := address.Normal(page)
	if err != nil {
		return ""
	}
	host, err := address.Host(normal)
	if err != nil {
		return ""
	}
	return host
}

// peersFor returns the nodes to ask: first the one that crawls the host. missing are those that did not answer a
// moment ago.
func (n *nodeReaders) peersFor(ctx context.Context, host string) (list []string, missing int, err error) {
	members, err := n.nodes.caller.Members(ctx)
	if err != nil {
		return nil, 0, err
	}
	owner := ""
	if host != "" {
		if owner, err = n.nodes.caller.Owner(host); err != nil {
			return nil, 0, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range members {
		p := n.peers[m.Node]
		if p == nil {
			p = &peer{transport: n.transport(m.Node)}
			n.peers[m.Node] = p
		}
		if time.Since(p.failed) < leaveOut {
			missing++
			continue
		}
		list = append(list, m.Node)
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(notFirst(a, owner), notFirst(b, owner)) })
	return list, missing, nil
}

func notFirst(node, owner string) int {
	if node == owner {
		return 0
	}
	return 1
}

func (n *nodeReaders) transport(node string) *http.Transport {
	return &http.Transport{MaxConnsPerHost: maxReaderConns, MaxIdleConnsPerHost: maxReaderConns,
		IdleConnTimeout: 10 * time.Second, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return n.nodes.httpConn(ctx, node) }}
}

// peerAnswer is the beginning of the answer of a node to a reader.
type peerAnswer struct {
	*http.Response
	node   string
	first  bool // the node crawls the host, or is the first one asked
	cancel func()
	err    error
}

// get passes a request on to a node, and returns when its answer begins.
func (n *nodeReaders) get(r *http.Request, node string) *peerAnswer {
	ctx, cancel := context.WithCancel(r.Context())
	a := &peerAnswer{node: node, cancel: cancel}
	late := time.AfterFunc(headWithin, cancel)
	who := view.VisitorOf(ctx)
	who.Shard = true
	var out *http.Request
	if out, a.err = passedOn(r.WithContext(ctx), who); a.err == nil {
		out.Body = http.NoBody
		n.mu.Lock()
		transport := n.peers[node].transport
		n.mu.Unlock()
		a.Response, a.err = transport.RoundTrip(out)
	}
	if !late.Stop() && a.err == nil {
		a.Body.Close()
		a.err = context.DeadlineExceeded
	}
	if a.err != nil && r.Context().Err() == nil {
		n.mu.Lock()
		n.peers[node].failed = time.Now()
		n.mu.Unlock()
	}
	return a
}

func (a *peerAnswer) close() {
	if a.err == nil {
		a.Body.Close()
	}
	a.cancel()
}

// rank says which of the answers of several nodes counts: the one with the greatest rank. A take-down or a refusal of
// any node counts more than a copy of another.
func (a *peerAnswer) rank() int {
	reason := a.Header.Get(view.ReasonHeader)
	switch s := a.StatusCode; {
	case reason == view.ReasonDown:
		return 9
	case s == http.StatusUnavailableForLegalReasons, reason == view.ReasonRefused:
		return 8
	case s == http.StatusServiceUnavailable && reason == string(acap.Unavailable) && a.first:
		return 7
	case s < 300, s < 400 && a.Header.Get("Memento-Datetime") != "": // the requested version, not one near it
		return 6
	case s < 400:
		return 5
	case s == http.StatusGone:
		return 4
	case s == http.StatusNotFound:
		return 2
	case s >= 500:
		return 1
	}
	return 3
}

// pass passes a request on to all nodes, and answers with the answer that counts. After an error nothing was written.
func (n *nodeReaders) pass(w http.ResponseWriter, r *http.Request, host string) error {
	list, missing, err := n.peersFor(r.Context(), host)
	if err != nil {
		return err
	}
	all := make([]*peerAnswer, len(list))
	var asking sync.WaitGroup
	for i, node := range list {
		asking.Go(func() {
			all[i] = n.get(r, node)
			all[i].first = i == 0
		})
	}
	asking.Wait()
	in := shards{Total: len(list) + missing}
	var chosen *peerAnswer
	for _, a := range all {
		defer a.close()
		if a.err != nil {
			err = fmt.Errorf("node %s: %w", a.node, a.err)
			continue
		}
		if in.Answered++; chosen == nil || a.rank() > chosen.rank() {
			chosen = a
		}
	}
	switch {
	case chosen == nil && err == nil:
		return errNoNode
	case chosen == nil:
		return err
	}
	if path, _, _ := strings.Cut(r.RequestURI, "?"); path == feedPath && chosen.StatusCode == http.StatusOK &&
		r.Method == http.MethodGet {
		return writeFeeds(w, all, chosen, in)
	}
	for _, a := range all {
		if a != chosen {
			a.close()
		}
	}
	return chosen.write(w, r, in)
}

const (
	feedPath = "/feed.atom"
	mostFeed = 4 << 20 // bytes of a feed that a node sends
)

// writeFeeds writes one feed of the versions of a page that all nodes have.
func writeFeeds(w http.ResponseWriter, all []*peerAnswer, chosen *peerAnswer, in shards) error {
	var feeds [][]byte
	for _, a := range all {
		if a.err != nil || a.StatusCode != http.StatusOK {
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(a.Body, mostFeed)) // a feed that was cut off is damaged
		feeds = append(feeds, text)
	}
	text, used, err := view.MergeFeeds(feeds)
	if err != nil {
		return fmt.Errorf("node %s %w", chosen.node, errDamaged)
	}
	in.Answered -= len(feeds) - used
	for name, values := range chosen.Header {
		w.Header()[name] = values
	}
	for _, name := range []string{"Content-Length", "Etag"} {
		w.Header().Del(name)
	}
	view.SetShards(w.Header(), in.Answered, in.Total)
	_, _ = w.Write(text) // an error means that the client is gone
	return nil
}

// write writes the answer.
func (a *peerAnswer) write(w http.ResponseWriter, r *http.Request, in shards) error {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.Header().Del(view.ReasonHeader)
	view.SetShards(w.Header(), in.Answered, in.Total)
	w.WriteHeader(a.StatusCode)
	if _, err := io.Copy(w, a.Body); err != nil && r.Context().Err() == nil {
		panic(http.ErrAbortHandler) // the client must not take the beginning for the whole
	}
	return nil
}

// shardsKey is the key of a context whose value is a *shardsWriter.
type shardsKey struct{}

// shardsWriter adds to an answer how many nodes have answered.
type shardsWriter struct {
	http.ResponseWriter

	mu    sync.Mutex
	seen  *shards
	begun bool // the header was written
}

// note notes how many nodes have answered to a part of the request.
func (w *shardsWriter) note(in shards) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil || in.Answered*w.seen.Total < w.seen.Answered*in.Total {
		w.seen = &in
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *shardsWriter) WriteHeader(status int) {
	w.mu.Lock()
	if w.seen != nil {
		view.SetShards(w.Header(), w.seen.Answered, w.seen.Total)
	}
	w.mu.Unlock()
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *shardsWriter) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the underlying writer for http.ResponseController.
func (w *shardsWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
