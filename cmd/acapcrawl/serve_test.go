package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serving is a running serve on a data directory.
type serving struct {
	at     string // scheme, host and port for the requests of publishers
	admin  string // address of health and metrics
	token  string
	client *http.Client
	log    strings.Builder // what the verb serve printed; complete only after serve has ended
}

// startServe runs the verb serve with args until end is called. end returns the exit status.
func startServe(t *testing.T, data string, args ...string) (s *serving, end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		c := Command{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr,
			Env: []string{"ACAPCRAWL_SERVE_ADMIN_LISTEN=127.0.0.1:0"}}
		status := c.Main(ctx, append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0"}, args...))
		stderr.Close()
		ended <- status
	}()
	lines := bufio.NewReader(said)
	s = &serving{client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	for s.at == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("serve ended with status %d", <-ended)
		}
		if _, rest, ok := strings.Cut(line, "Answering at "); ok {
			s.at, _, _ = strings.Cut(rest, ";")
		}
		if _, rest, ok := strings.Cut(line, "Health and metrics are at "); ok {
			s.admin, _, _ = strings.Cut(rest, "/healthz")
		}
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		_, _ = io.Copy(&s.log, lines)
	}()
	return s, func() int {
		cancel()
		<-heard
		return <-ended
	}
}

// ask sends a request, and returns the status and the JSON of the answer.
func (s *serving) ask(t *testing.T, method, path, key, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.at+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Fatalf("%s %s: %s, %v", method, path, resp.Status, err)
	}
	return resp.StatusCode, out
}

// A publisher takes down a page while crawls start and end, and then withdraws the take-down.
func TestServe(t *testing.T) {
	t.Parallel()
	site, data := crawled(t, "/a.html", "/big.html")
	origin := strings.TrimSuffix(site.URL, "/")
	made := call(t.Context(), data, "actions", "credentials", "add", "--json", "--name", "newsdesk", origin)
	var credential struct{ Token string }
	if err := json.Unmarshal([]byte(made.stdout), &credential); err != nil || credential.Token == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	s, end := startServe(t, data)
	s.token = credential.Token
	body := fmt.Sprintf(`{"action":"take-down","url":%q}`, origin+"/a.html")
	status, got := s.ask(t, "POST", "/api/v1/requests", "k1", body)
	if status != 201 || got["state"] != "done" || got["url"] != origin+"/a.html" {
		t.Fatalf("%d %v", status, got)
	}
	id := fmt.Sprint(got["id"])
	if status, got := s.ask(t, "POST", "/api/v1/requests", "k1", body); status != 200 || fmt.Sprint(got["id"]) != id {
		t.Errorf("again: %d %v", status, got)
	}
	held := func(path string) bool { return call(t.Context(), data, "show", origin+path).status == statusDone }
	if held("/a.html") || !held("/big.html") {
		t.Error("the page can be shown, or another cannot")
	}
	for _, run := range [][]string{{"crawl", "--refetch", "--delay", "0"}, {"actions", "run"}} {
		if got := call(t.Context(), data, run...); got.status != statusDone || held("/a.html") || !held("/big.html") {
			t.Errorf("%s: %+v", run[0], got)
		}
	}
	if status, got := s.ask(t, "GET", "/api/v1/requests/"+id, "", ""); status != 200 || got["standing"] != true {
		t.Errorf("%d %v", status, got)
	}
	if status, got := s.ask(t, "GET", "/api/v1/requests/"+id+"/receipt", "", ""); status != 200 ||
		!strings.Contains(fmt.Sprint(got["receipt"]), "url:"+origin+"/a.html") {
		t.Errorf("the receipt: %d %v", status, got)
	}
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		code               string
	}{
		"another origin": {"POST", "/api/v1/requests", `{"action":"take-down","url":"https://reef.example/a"}`, 403,
			"origin"},
		"another port": {"POST", "/api/v1/requests", `{"action":"take-down","url":"http://127.0.0.1:1/a"}`, 403,
			"origin"},
		"a wildcard": {"POST", "/api/v1/requests", fmt.Sprintf(`{"action":"take-down","url":%q}`, origin+"/*"), 422,
			"url"},
		"another request": {"GET", "/api/v1/requests/999", "", 404, "not-found"},
	} {
		if status, got := s.ask(t, c.method, c.path, strings.ReplaceAll(name, " ", "-"), c.body); status != c.status ||
			got["code"] != c.code {
			t.Errorf("%s: %d %v", name, status, got)
		}
	}
	if _, lines := get(t, s.admin+"/healthz"); !strings.Contains(strings.Join(lines, ""), `"status":"ok"`) {
		t.Errorf("health: %q", lines)
	}
	for _, path := range []string{"/healthz", "/metrics"} {
		if status := s.read(t, path, io.Discard); status != 404 {
			t.Errorf("publishers are answered at %s: %d", path, status)
		}
	}
	if _, lines := get(t, s.admin+"/metrics"); !strings.Contains(strings.Join(lines, "\n"),
		"\nacapcrawl_ledger_up 1\n") {
		t.Error("the metrics do not tell of the ledger")
	}
	if status, got := s.ask(t, "DELETE", "/api/v1/requests/"+id, "", ""); status != 200 || got["standing"] != false {
		t.Errorf("withdrawn: %d %v", status, got)
	}
	if got := call(t.Context(), data, "crawl", "--refetch", "--delay", "0"); got.status != statusDone ||
		!held("/a.html") {
		t.Errorf("%+v", got)
	}
	if got := call(t.Context(), data, "actions", "verify"); got.status != statusDone {
		t.Errorf("%+v", got)
	}
	if status := end(); status != statusDone {
		t.Errorf("serve ends with status %d", status)
	}
}

// The token of a publisher is never sent to other machines unencrypted.
func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"--listen", "0.0.0.0:0"}, {"--listen", ":0"}, {"--listen", "[::]:0"},
	} {
		c := Command{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
		if status := c.Main(t.Context(), append([]string{"serve", "--data", dir}, args...)); status != statusUsage {
			t.Errorf("%v: %d", args, status)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	_, signing, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	receipts, err := x509.MarshalPKCS8PrivateKey(signing)
	if err != nil {
		t.Fatal(err)
	}
	config := "actions:\n  receipt_key: " + filepath.Join(dir, "r.pem") + "\nserve:\n  certificate: " +
		filepath.Join(dir, "c.pem") + "\n  key: " + filepath.Join(dir, "k.pem") + "\n"
	for name, text := range map[string]string{
		"c.pem":  string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		"k.pem":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		"r.pem":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: receipts})),
		"c.yaml": config,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, end := startServe(t, filepath.Join(dir, "data"), "--config", filepath.Join(dir, "c.yaml"))
	parsed, err := x509.ParseCertificate(certificate)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	for _, two := range []bool{false, true} { // HTTP/1.1, then HTTP/2
		transport := &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: two,
			TLSClientConfig: &tls.Config{RootCAs: pool}}
		s.client.Transport = transport
		status, got := s.ask(t, "GET", "/api/v1/key", "", "")
		if !strings.HasPrefix(s.at, "https://") || status != 200 || got["crv"] != "Ed25519" {
			t.Errorf("%s: %d %v", s.at, status, got)
		}
		transport.CloseIdleConnections()
	}
	for version, want := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true,
		tls.VersionTLS13: true} {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.at, "https://"), &tls.Config{RootCAs: pool,
			MinVersion: version, MaxVersion: version, NextProtos: []string{"h2", "http/1.1"}})
		if (err == nil) != want {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			if got := conn.ConnectionState().NegotiatedProtocol; got != "h2" {
				t.Errorf("%s: %q", tls.VersionName(version), got)
			}
			conn.Close()
		}
	}
	if status := end(); status != statusDone {
		t.Errorf("serve ends with status %d", status)
	}
}
