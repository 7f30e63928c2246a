package crawler

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
)

// TestTrouble checks which errors may not occur at a later visit: errors of the network, but not
// errors of the address.
func TestTrouble(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	tlsFault := func(address string) error {
		g := gate.New(gate.Options{AllowPrivate: true, Timeout: 200 * time.Millisecond})
		defer g.Close()
		_, err := g.Fetch(t.Context(), address)
		if err == nil {
			t.Fatalf("%s answered", address)
		}
		return err
	}
	own := httptest.NewTLSServer(nil)
	own.Config.ErrorLog = log.New(io.Discard, "", 0) // discards the log line about the refused handshake
	defer own.Close()
	nowhere, held, err := testweb.Nowhere()
	must(t, err)
	defer held.Close()
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"an exchange that takes too long", tlsFault(slow.URL), true},
		{"a server that speaks no TLS", tlsFault(strings.Replace(slow.URL, "http:", "https:", 1)), true},
		{"a certificate that nobody vouches for", tlsFault(own.URL), true},
		{"a TLS alert", fmt.Errorf("reading: %w", tls.AlertError(40)), true},
		{"nobody listens", tlsFault("http://" + nowhere), true},
		{"the name server is away", &net.DNSError{Err: "server misbehaving", Name: "h.example", IsTemporary: true},
			true},
		{"the name does not exist", &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "h.example",
			IsNotFound: true}}, false},
		{"an answer that cannot be read", errors.New("malformed HTTP response"), false},
	} {
		if got := gate.IsNetworkError(withoutURL(&url.Error{Op: "Get", URL: "http://h.example/",
			Err: c.err})); got != c.want {
			t.Errorf("%s (%v): trouble is %v", c.name, c.err, got)
		}
	}
}

// TestWhyCannotForgeLed checks that no line of robots.txt, which the reason of a refusal quotes,
// can be mistaken for a redirect hop.
func TestWhyCannotForgeLed(t *testing.T) {
	r := Record{URL: "http://h.example/", State: Refused, Why: "prohibited by Disallow: /\x00http://other.example/"}
	b, err := r.encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeRecord(r.URL, b)
	if err != nil || got.Led != "" || !strings.HasSuffix(got.Why, "http://other.example/") {
		t.Errorf("read back as %+v, %v", got, err)
	}
}
