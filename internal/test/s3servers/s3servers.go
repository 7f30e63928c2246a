// Package s3servers starts object stores of other projects on loopback, for tests. Each must be installed: see
// .ci/nightly. A test that needs one that is not installed is skipped.
package s3servers

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Names are the names of the programs.
var Names = []string{"rclone", "versitygw"}

// Bucket is the name of the only bucket. Its files are in Server.Dir.
const Bucket = "bucket"

// Server is a server that ends with the test. Its access key is "key", and the secret "secret".
type Server struct {
	URL string
	Dir string // has a file for each object of the bucket
}

// Start starts the server with a name of Names, and returns when it answers.
func Start(t testing.TB, name string) *Server {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("the program %s is not installed", name)
	}
	root, at := t.TempDir(), freeAddress(t)
	s := &Server{URL: "http://" + at, Dir: filepath.Join(root, Bucket)}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var cmd *exec.Cmd
	switch name {
	case "rclone":
		cmd = exec.Command(name, "serve", "s3", "--addr", at, "--auth-key", "key,secret", root)
	case "versitygw":
		cmd = exec.Command(name, "--access", "key", "--secret", "secret", "--port", at, "posix", root)
	default:
		t.Fatalf("there is no server %s", name)
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	s.await(t)
	return s
}

// await waits until the server answers requests.
func (s *Server) await(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := http.DefaultClient.Do(req); err == nil {
			answer.Body.Close()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the server does not answer")
		}
	}
}

// freeAddress returns an address on which nothing listens now.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}
