package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// pagesOn returns the pages that a node has archived and that may be shown.
func (f *running) pagesOn(node string) (list []string) {
	f.t.Helper()
	for _, item := range f.object("archive", "ls")["captures"].([]any) {
		if c := item.(map[string]any); c["node"] == node && !strings.Contains(c["url"].(string), "shy") {
			list = append(list, c["url"].(string))
		}
	}
	if len(list) == 0 {
		f.t.Fatalf("node %s has no pages", node)
	}
	return list
}

// credential makes a credential for all hosts on a node, and returns its token.
func (f *running) credential(node string) string {
	f.t.Helper()
	args := []string{"actions", "credentials", "add", "--json", "--name", "newsdesk"}
	for _, host := range f.hosts {
		args = append(args, "http://"+host)
	}
	made := call(f.t.Context(), f.data(node), args...)
	var out struct{ Token string }
	if err := json.Unmarshal([]byte(made.stdout), &out); err != nil || out.Token == "" {
		f.t.Fatalf("%+v, %v", made, err)
	}
	return out.Token
}

// api sends a request to /api/v1/requests, with a token and an idempotency key unless they are empty.
func (s *serving) api(t *testing.T, method, path, token, key, body string) (status int, h http.Header, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.at+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": token, "Idempotency-Key": key} {
		if name == "Authorization" && value != "" {
			value = "Bearer " + value
		}
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(out)
}

// listed reads all pages of the list of requests, with limit requests each. It returns their names, by URL.
func (s *serving) listed(t *testing.T, token, limit string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for path := "/api/v1/requests?limit=" + limit; path != ""; {
		status, h, text := s.api(t, "GET", path, token, "", "")
		var list []actions.Request
		if err := json.Unmarshal([]byte(text), &list); err != nil || status != 200 {
			t.Fatalf("%s: %d %s, %v", path, status, text, err)
		}
		for _, r := range list {
			out[r.URL] = append(out[r.URL], r.Name())
		}
		path = ""
		if link := regexp.MustCompile(`^<([^>]+)>; rel="next"$`).FindStringSubmatch(h.Get("Link")); link != nil {
			path = link[1]
		}
	}
	return out
}

// guardedNodes runs serve --cluster with a password of the operator.
func (f *running) guardedNodes(settings string) *serving {
	at, _ := f.serveNodes("--config", guardedSettings(f.t, settings))
	return &serving{at: at, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

func takeDownOf(page string) string { return fmt.Sprintf(`{"action":"take-down","url":%q}`, page) }

// Publishers and the operator submit requests through serve --cluster. All nodes execute them, and each is listed once.
func TestNodesRequests(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a", "b")
	onA, onB := f.pagesOn("a")[0], f.pagesOn("b")[0]
	token := f.credential("b")
	s := f.guardedNodes("")

	if status, _, text := s.api(t, "POST", "/api/v1/requests", "acap_wrong", "k1", takeDownOf(onA)); status != 401 ||
		!strings.Contains(text, `"code":"credential"`) {
		t.Errorf("a wrong token: %d %s", status, text)
	}
	if list := s.listed(t, "", "100"); len(list) > 0 {
		t.Errorf("a wrong token has submitted %v", list)
	}
	status, h, text := s.api(t, "POST", "/api/v1/requests", token, "k1", takeDownOf(onA))
	at := h.Get("Location")
	if status != 201 || !strings.HasPrefix(at, "/api/v1/requests/b:") || !strings.Contains(text, `"node":"b"`) {
		t.Fatalf("%d %s %s", status, at, text)
	}
	f.await("the other node has erased the page", func() bool {
		status, _, _ := f.get(s.at + "/raw/20991231000000/" + onA)
		return status == http.StatusGone
	})
	f.await("its copy is gone", func() bool {
		return !strings.Contains(f.run("archive", "ls", "--json").stdout, `"`+onA+`"`)
	})
	status, h, _ = s.api(t, "POST", "/api/v1/requests", token, "k1", takeDownOf(onA))
	if status != 200 || h.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same key again: %d %v", status, h)
	}
	f.await("both nodes are done", func() bool {
		status, _, text := s.api(t, "GET", at+"/receipt", token, "", "")
		return status == 200 && strings.Contains(text, `"nodes_done":["a","b"]`)
	})
	testNodesLists(t, f, s, token, onA, at)
	testNodesOperator(t, f, s, token, onB)
}

// testNodesLists checks what a publisher and everybody see of the request at the path at, about a page.
func testNodesLists(t *testing.T, f *running, s *serving, token, page, at string) {
	name := strings.TrimPrefix(at, "/api/v1/requests/")
	f.await("both nodes list the request", func() bool {
		return strings.Count(f.run("actions", "ls", "--json").stdout, page+`"`) >= 2
	})
	if list := s.listed(t, token, "1"); fmt.Sprint(list) != fmt.Sprintf("map[%s:[%s]]", page, name) {
		t.Errorf("the publisher sees %v, not %s", list, name)
	}
	if list := s.listed(t, "", "1"); len(list) > 0 {
		t.Errorf("everybody sees %v", list)
	}
	if status, h, text := s.api(t, "GET", at, token, "", ""); status != 200 || !strings.Contains(text, page) {
		t.Errorf("%d %v %s", status, h, text)
	}
	copied := strings.Replace(at, "/b:", "/a:", 1)
	if status, _, text := s.api(t, "GET", copied, token, "", ""); status != 200 || !strings.Contains(text, page) {
		t.Errorf("the copy on the other node: %d %s", status, text)
	}
	for _, path := range []string{at, copied, at + "/receipt", strings.Replace(at, "b:", "", 1),
		strings.Replace(at, "b:", "none:", 1)} {
		if status, _, text := s.api(t, "GET", path, "", "", ""); status != 404 || strings.Contains(text, page) {
			t.Errorf("everybody: %s: %d %s", path, status, text)
		}
	}
	status, _, text := s.api(t, "DELETE", copied, token, "", "")
	if status != 200 || !strings.Contains(text, `"node":"b"`) || !strings.Contains(text, `"standing":false`) {
		t.Errorf("withdrawn under the ID of the other node: %d %s", status, text)
	}
	f.await("no node blocks the page", func() bool {
		return !strings.Contains(f.run("actions", "ls", "--standing", "--json").stdout, page+`"`)
	})
}

// testNodesOperator lets the operator log in and take a page down.
func testNodesOperator(t *testing.T, f *running, s *serving, token, page string) {
	operator, publisher := s.person(t), s.person(t)
	publisher.login(t, "newsdesk", token)
	operator.login(t, "operator", operatorPassword)
	wrong := url.Values{"user": {"operator"}, "password": {"x"}}
	if status, _, text := s.person(t).post(t, "/login", wrong); status != 403 {
		t.Errorf("a wrong password: %d %s", status, text)
	}
	status, at, text := operator.takeDown(t, page, 1)
	if status != 200 || !strings.HasPrefix(at, "/requests/b:") || !strings.Contains(text, page) {
		t.Fatalf("not taken down at the node that crawls the page: %d %s %s", status, at, text)
	}
	if status, _, _ := f.get(s.at + "/versions/" + page); status != http.StatusGone {
		t.Errorf("the page is shown: %d", status)
	}
	name := strings.TrimPrefix(at, "/requests/")
	f.await("both nodes list the request", func() bool {
		return strings.Count(f.run("actions", "ls", "--json", "--url", page).stdout, `"id"`) == 2
	})
	for who, p := range map[string]*serving{"operator": operator, "publisher": publisher} {
		text := p.text(t, "/requests")
		links := regexp.MustCompile(`href="/requests/([ab]:\d+)"`).FindAllStringSubmatch(text, -1)
		if len(links) != 2 || strings.Count(text, ">"+page+"<") != 1 || links[0][1] != name {
			t.Errorf("%s sees %v: %s", who, links, text)
		}
	}
	f.await("the page of the request names both nodes", func() bool {
		return strings.Contains(operator.text(t, at), "<dt>Executed on</dt>\n<dd>a, b</dd>")
	})
	if got := f.run("actions", "ls"); !strings.Contains(got.stdout, "; done on a, b ") {
		t.Errorf("%+v", got)
	}
	shown := regexp.MustCompile(`(?sm)^request +` + name + `: .*\ndone on +a, b\n.*\nreceipt +acapcrawl actions show ` +
		name + ` --receipt --cluster …\n\nentry \d+ `)
	if got := f.run("actions", "show", name); got.status != statusDone || !shown.MatchString(got.stdout) {
		t.Errorf("%+v", got)
	}
	if got := f.run("actions", "show", strings.TrimPrefix(name, "b:")); !shown.MatchString(got.stdout) {
		t.Errorf("%+v", got)
	}
	if got := f.run("actions", "credentials", "ls"); got.status != statusDone || strings.Count(got.stdout, "\n") != 1 ||
		!strings.HasPrefix(got.stdout, "b: newsdesk ") {
		t.Errorf("%+v", got)
	}
	if text := s.text(t, "/requests"); strings.Contains(text, page) {
		t.Errorf("everybody sees %s", text)
	}
	if text := operator.text(t, "/audit"); !strings.Contains(text, `<a href="`+at+`">`+name+`</a>`) {
		t.Error(text)
	}
	if got := f.run("actions", "withdraw", name, "--json"); got.status != statusDone ||
		!strings.Contains(got.stdout, `"standing":false`) {
		t.Errorf("%+v", got)
	}
	var made [2]actions.Request
	for i := range made {
		got := f.run("actions", "submit", "take-down", page, "--key", "k7", "--json")
		if err := json.Unmarshal([]byte(got.stdout), &made[i]); err != nil || got.status != statusDone {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if made[0].Node != "b" || made[0].ID == 0 || made[1].Name() != made[0].Name() || made[0].State != actions.Done {
		t.Errorf("submitted twice with one key: %+v", made)
	}
	first := call(t.Context(), f.data("a"), "actions", "submit", "re-crawl", page, "--key", "k8", "--json")
	var there actions.Request
	if err := json.Unmarshal([]byte(first.stdout), &there); err != nil || there.ID == 0 {
		t.Errorf("%+v, %v", first, err)
	}
	if got := f.run("actions", "submit", "re-crawl", page, "--key", "k8"); got.status != statusDone ||
		!strings.HasPrefix(got.stdout, fmt.Sprintf("Request a:%d: ", there.ID)) {
		t.Errorf("the node that knows the key does not answer: %+v", got)
	}
	if got := f.run("actions", "withdraw", strings.TrimPrefix(name, "b:")); got.status != statusUsage {
		t.Errorf("without the node: %+v", got)
	}
	if got := f.run("actions", "verify"); got.status != statusDone || strings.Count(got.stdout, "a: ") == 0 {
		t.Errorf("%+v", got)
	}
}

// With serve.readers: login, the archive is read after a login, or with a token that one of the nodes accepts. Health
// is that of all nodes.
func TestNodesLogin(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a")
	token := f.credential("a")
	s := f.guardedNodes("  readers: login\n  admin_listen: 127.0.0.1:0\n")
	path := "/raw/20991231000000/" + f.pagesOn("a")[0]
	for _, c := range []struct {
		token  string
		status int
	}{{"", 401}, {"acap_wrong", 401}, {token, 200}} {
		if status, _, text := s.api(t, "GET", path, c.token, "", ""); status != c.status {
			t.Errorf("token %q: %d %s", c.token, status, text)
		}
	}
	operator := s.person(t)
	operator.login(t, "operator", operatorPassword)
	if status := operator.read(t, path, io.Discard); status != 200 {
		t.Errorf("the operator: %d", status)
	}
	for path, has := range map[string]string{"/healthz": `"due":0`, "/readyz": "ready", "/metrics": "acapcrawl_"} {
		if status, _, text := f.get(f.admin + path); status != 200 || !strings.Contains(text, has) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	f.nodes["a"].Process.Signal(os.Interrupt)
	f.nodes["a"].Wait()
	f.await("the node has left", func() bool {
		status, _, text := f.get(f.admin + "/readyz")
		return status == 503 && strings.Contains(text, "No node of the cluster runs")
	})
	if status, _, text := s.api(t, "GET", path, token, "", ""); status != 503 {
		t.Errorf("without a node: %d %s", status, text)
	}
}

// Requests and credentials of a node that does not run: the answers name it.
func TestNodeStopsWithRequests(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a", "b")
	token, page := f.credential("b"), f.pagesOn("a")[0]
	s := f.guardedNodes("")
	status, h, text := s.api(t, "POST", "/api/v1/requests", token, "k1", takeDownOf(page))
	if status != 201 {
		t.Fatalf("%d %s", status, text)
	}
	at := h.Get("Location")
	operator := s.person(t)
	operator.login(t, "operator", operatorPassword)
	var copied string
	f.await("the other node has the request", func() bool {
		for _, item := range f.object("actions", "ls")["requests"].([]any) {
			if r := item.(map[string]any); r["node"] == "a" && r["url"] == page {
				copied = fmt.Sprintf("/requests/a:%v", r["id"])
			}
		}
		return copied != ""
	})
	f.nodes["b"].Process.Signal(os.Interrupt)
	f.nodes["b"].Wait()
	f.await("the node has left", func() bool {
		_, h, _ := s.api(t, "GET", "/api/v1/requests", "", "", "")
		return h.Get(view.ShardsHeader) == "1/1"
	})
	if status, _, text := s.api(t, "GET", at, token, "", ""); status != 401 || !strings.Contains(text, "do not run") ||
		!strings.Contains(text, ": b.") {
		t.Errorf("with the credential of the node: %d %s", status, text)
	}
	if status := operator.read(t, strings.TrimPrefix(at, "/api/v1"), io.Discard); status != 503 {
		t.Errorf("the request of the node: %d", status)
	}
	if text := operator.text(t, copied); !strings.Contains(text, page) {
		t.Error(text)
	}
	if text := operator.text(t, "/requests"); strings.Count(text, ">"+page+"<") != 1 ||
		!strings.Contains(text, `"`+copied+`"`) {
		t.Error(text)
	}
}

// If a node hangs, its publishers have to wait, requests of the operator go to another node, and lists say that
// something is missing. Nothing is submitted twice.
func TestNodeHangsWithRequests(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a", "b")
	onA, onB := f.pagesOn("a")[0], f.pagesOn("b")[0]
	token := f.credential("b")
	s := f.guardedNodes("")
	operator := s.person(t)
	operator.login(t, "operator", operatorPassword)
	if err := f.nodes["b"].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, way := range []string{token, "acap_wrong"} { // nobody knows that this token is wrong
		all.Go(func() {
			status, h, text := s.api(t, "POST", "/api/v1/requests", way, "k1", takeDownOf(onA))
			if status != 503 || h.Get("Retry-After") == "" || !strings.Contains(text, "these nodes do not answer: b;") {
				t.Errorf("%d %v %s", status, h, text)
			}
		})
	}
	for path, has := range map[string]string{"/api/v1/requests": "[]", "/cdx?url=" + url.QueryEscape(onA): onA,
		"/api/v1/archive/ls": onA, "/feed.atom?url=" + url.QueryEscape(onA): onA} {
		all.Go(func() {
			if status, h, text := s.api(t, "GET", path, "", "", ""); status != 200 ||
				h.Get(view.ShardsHeader) != "1/2" || !strings.Contains(text, has) {
				t.Errorf("%s: %d %v %s", path, status, h, text)
			}
		})
	}
	all.Go(func() {
		if text := operator.text(t, "/requests"); !strings.Contains(text, "1 machine of this archive did not answer") {
			t.Error(text)
		}
	})
	all.Wait()
	for i, key := range []string{"", "k9"} {
		before := time.Now()
		got := f.run("actions", "submit", "take-down", fmt.Sprintf("%sx%d", onB, i), "--key", key)
		if took := time.Since(before); !strings.HasPrefix(got.stdout, "Request a:") || took > 5*time.Second ||
			!strings.HasSuffix(got.stdout, " lists the nodes that have executed it.\n") {
			t.Errorf("with the key %q after %s: %+v", key, took, got)
		}
	}
	status, at, text := operator.takeDown(t, onB, 0)
	if status != 200 || !strings.HasPrefix(at, "/requests/a:") {
		t.Errorf("%d %s %s", status, at, text)
	}
	f.await("the take-downs have spread", func() bool {
		return strings.Count(f.run("actions", "ls").stdout, "; done on a; still to do on b ") == 3
	})
	name := strings.TrimPrefix(at, "/requests/")
	if got := f.run("actions", "show", name); !strings.Contains(got.stdout, "\nstill to do on   b\n") {
		t.Errorf("%+v", got)
	}
	if err := f.nodes["b"].Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.await("the node has erased the page", func() bool {
		return !strings.Contains(f.run("archive", "ls", "--json").stdout, `"`+onB+`"`)
	})
	f.await("the publisher can submit", func() bool {
		status, _, _ := s.api(t, "POST", "/api/v1/requests", token, "k1", takeDownOf(onA))
		return status == 201 || status == 200
	})
	f.await("both nodes have all requests", func() bool {
		return strings.Count(f.run("actions", "ls", "--json").stdout, `"id"`) == 8
	})
	if list := s.listed(t, token, "100"); len(list) != 4 || len(list[onA]) != 1 || len(list[onB]) != 1 {
		t.Errorf("%v", list)
	}
}

// A request is not submitted to another node if one may have received it.
func TestSubmittedOnce(t *testing.T) {
	t.Parallel()
	f := &running{t: t, servers: natstest.One(t), dir: t.TempDir(), nodes: map[string]*exec.Cmd{}}
	f.start("a")
	f.await("the node runs", func() bool { return f.run("archive", "ls").status == statusDone })
	f.nodes["a"].Process.Signal(os.Interrupt)
	f.nodes["a"].Wait()
	var mu sync.Mutex
	var submitted []string
	for _, name := range []string{"x", "y"} {
		impostor(t, f.servers, name, func(conn net.Conn, _ request) {
			out, in := json.NewEncoder(conn), json.NewDecoder(conn)
			out.Encode(message{})
			out.Encode(message{Ask: true})
			var sent input
			if err := in.Decode(&sent); err != nil || !sent.End {
				t.Errorf("%+v, %v", sent, err)
			}
			if !strings.Contains(string(sent.In), `"do":"submit"`) { // whether the key is known here
				return
			}
			mu.Lock()
			defer mu.Unlock()
			submitted = append(submitted, name+" "+string(sent.In))
		})
	}
	got := f.run("actions", "submit", "take-down", "http://127.77.0.1/x", "--key", "k9")
	if got.status != statusFailed || !strings.Contains(got.stderr, "node x ") ||
		!strings.Contains(got.stderr, "--key k9") {
		t.Errorf("%+v", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(submitted) != 1 || !strings.HasPrefix(submitted[0], `x {"do":"submit","as":"operator","key":"k9"`) {
		t.Error(submitted)
	}
}
