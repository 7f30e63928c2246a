package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sentToken = "acap_ABCDEFGH_secret"

// sendTo runs actions submit --to against a server that answers with the given handler. It returns
// the exit status and the output.
func sendTo(t *testing.T, answer http.HandlerFunc, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(sentToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	c := Command{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said}
	all := append([]string{"actions", "submit", "take-down", "https://example.com/x", "--data", t.TempDir(), "--to",
		server.URL + "/", "--token-file", token}, args...)
	status = c.Main(context.Background(), all)
	if strings.Contains(out.String()+said.String(), "secret") {
		t.Error("the token is told")
	}
	return status, out.String(), said.String()
}

func TestSend(t *testing.T) {
	status, out, said := sendTo(t, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body["action"] != "take-down" ||
			body["url"] != "https://example.com/x" {
			t.Errorf("%v, %v", body, err)
		}
		if r.Method != http.MethodPost || r.URL.Path != "/api/v1/requests" ||
			r.Header.Get("Authorization") != "Bearer "+sentToken || r.Header.Get("Idempotency-Key") != "k1" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w,
			`{"id":7,"action":"take-down","url":"https://example.com/x",`+
				`"state":"done","done":"2026-11-01T12:00:00Z","standing":true}`)
	}, "--key", "k1")
	if status != statusDone || out != "Request 7: take-down of https://example.com/x: done 2026-11-01T12:00:00Z\n" ||
		said != "" {
		t.Errorf("%d, %q, %q", status, out, said)
	}
}

// Text from another operator's serve cannot control a terminal.
func TestSendPlain(t *testing.T) {
	for body, code := range map[string]int{
		`{"detail":"\u001b]0;owned\u0007"}`:                                               http.StatusForbidden,
		`{"id":7,"url":"https://example.com/","state":"failed","why":"\u001b[31m\u009b"}`: http.StatusOK,
	} {
		_, out, said := sendTo(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			io.WriteString(w, body)
		})
		if strings.ContainsAny(out+said, "\x1b\x07\u009b") || out+said == "" {
			t.Errorf("%q, %q", out, said)
		}
	}
}

// Without --key, each submission gets a new idempotency key.
func TestSendKeys(t *testing.T) {
	keys := map[string]bool{}
	for range 2 {
		sendTo(t, func(_ http.ResponseWriter, r *http.Request) { keys[r.Header.Get("Idempotency-Key")] = true })
	}
	if len(keys) != 2 || keys[""] {
		t.Error(keys)
	}
}

func TestSendRefused(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   int
	}{
		{http.StatusBadRequest, `{"detail":"the key is too long"}`, statusUsage},
		{http.StatusUnprocessableEntity, `{"detail":"a wildcard"}`, statusUsage},
		{http.StatusUnauthorized, `{"detail":"the credential is not valid"}`, statusRefused},
		{http.StatusForbidden, `{"detail":"of another origin"}`, statusRefused},
		{http.StatusTooManyRequests, `{"detail":"too many"}`, statusRefused},
		{http.StatusServiceUnavailable, `{"detail":"not now"}`, statusFailed},
		{http.StatusBadGateway, `<html>`, statusFailed},
		{http.StatusOK, `<html>`, statusFailed},
		{http.StatusOK, strings.Repeat(" ", maxAnswer+1), statusFailed},
	} {
		status, out, said := sendTo(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})
		if status != c.want || out != "" || !strings.HasPrefix(said, "Error: ") {
			t.Errorf("%d %.40s: %d, %q, %q", c.status, c.body, status, out, said)
		}
	}
}

// A token is not sent to the target of a redirect.
func TestSendRedirected(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%v",
			r.Header)
	}))
	defer other.Close()
	status, _, _ := sendTo(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if status != statusFailed {
		t.Errorf("status %d", status)
	}
}
