package main

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
)

// dns is a resolver that knows one host, ferry.quay.example at 192.0.2.7, and counts the queries.
type dns struct{ asked int }

func (d *dns) LookupAddr(_ context.Context, addr string) ([]string, error) {
	if d.asked++; addr != "192.0.2.7" {
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	}
	return []string{"ferry.quay.example."}, nil
}

func (d *dns) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	d.asked++
	return []netip.Addr{netip.MustParseAddr("192.0.2.7")}, nil
}

// The program looks up the host names of a reader in DNS only if the configuration permits that.
// The result then decides what the reader may see.
func TestReaderDNS(t *testing.T) {
	t.Parallel()
	site, err := testweb.Start(docroot(t, map[string]string{
		"robots.txt": "ACAP-version: 1.1\nACAP-crawler: *\nACAP-allow-present: / " +
			"target-condition=permitteddomainlist:quay.example\n",
		"index.html": "<title>Tide</title><p>High water."}), "127.0.0.1", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	data := t.TempDir()
	run := func(env []string, args ...string) (status int, stderr string, asked int) {
		t.Helper()
		var d dns
		var out, errs strings.Builder
		c := Command{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: append([]string{"HOME=" + data},
			env...), Resolver: &d}
		status = c.Main(t.Context(), append(args, "--data", filepath.Join(data, "d")))
		return status, errs.String(), d.asked
	}
	if status, stderr, _ := run(nil, "crawl", "--delay", "0", site.URL+"/"); status != statusDone {
		t.Fatalf("crawl: %d, %s", status, stderr)
	}
	asks := []string{"ACAPCRAWL_READER_DNS=true"}
	for _, c := range []struct {
		name          string
		env, args     []string
		status, asked int
		stderr        string
	}{
		{"not to be asked", nil, []string{"--reader-ip", "192.0.2.7"}, statusRefused, 0,
			"permitteddomainlist:quay.example"},
		{"asked", asks, []string{"--reader-ip", "192.0.2.7"}, statusDone, 2, ""},
		{"no name", asks, []string{"--reader-ip", "192.0.2.8"}, statusRefused, 1,
			"Notice: the reader's domain is not known: 192.0.2.8 has no host name"},
		{"the domain is said", asks, []string{"--reader-ip", "192.0.2.7", "--reader-domain", "shed.example"},
			statusRefused, 0, "permitteddomainlist:quay.example"},
		{"no address", asks, nil, statusRefused, 0, "permitteddomainlist:quay.example"},
	} {
		for _, verb := range [][]string{{"show"}, {"explain", "--usage", "present"}} {
			status, stderr, asked := run(c.env, append(append(verb, site.URL+"/"), c.args...)...)
			if status != c.status || asked != c.asked || verb[0] == "show" && !strings.Contains(stderr, c.stderr) {
				t.Errorf("%s, %s: status %d, DNS asked %d times, %s", verb[0], c.name, status, asked, stderr)
			}
		}
	}
}

func docroot(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
