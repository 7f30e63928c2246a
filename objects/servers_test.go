package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
)

// TestServers uses real object stores: it claims a bucket, and stores, reads, lists and deletes bodies. It needs the
// programs rclone and versitygw.
func TestServers(t *testing.T) {
	for name, command := range map[string]func(at, dir string) *exec.Cmd{
		"rclone": func(at, dir string) *exec.Cmd {
			return exec.Command("rclone", "serve", "s3", "--addr", at, "--auth-key", "key,secret", dir)
		},
		"versitygw": func(at, dir string) *exec.Cmd {
			return exec.Command("versitygw", "--access", "key", "--secret", "secret", "--port", at, "posix", dir)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil {
				t.Skip("there is no program", name)
			}
			at, dir := freeAddress(t), t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "bucket"), 0o700); err != nil {
				t.Fatal(err)
			}
			server := command(at, dir)
			var said bytes.Buffer
			server.Stdout, server.Stderr = &said, &said
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = server.Process.Kill()
				_ = server.Wait()
				if t.Failed() {
					t.Log(said.String())
				}
			})
			t.Setenv("AWS_ACCESS_KEY_ID", "key")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
			useServer(t, Options{Endpoint: "http://" + at, Bucket: "bucket", Prefix: "p", Region: "us-east-1"})
		})
	}
}

func useServer(t *testing.T, o Options) {
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	awaitServer(t, s)
	if err := s.Claim(t.Context(), "a1"); errors.Is(err, ErrUnfit) {
		t.Log("it does not say whether it keeps versions:", err)
		s.o.Unversioned = true
		err = s.Claim(t.Context(), "a1")
		if err != nil {
			t.Fatal(err)
		}
	} else if err != nil {
		t.Fatal(err)
	}
	if err := s.Claim(t.Context(), "a1"); err != nil {
		t.Error("again:", err)
	}
	if err := s.Claim(t.Context(), "b2"); !errors.Is(err, ErrUnfit) {
		t.Error("another archive:", err)
	}
	for id := uint64(1); id <= 50; id++ {
		if err := s.Put(t.Context(), id, bytes.Repeat([]byte{byte(id)}, 10_000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), 7); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), 7); err != nil {
		t.Error("again:", err)
	}
	if got, err := s.Get(t.Context(), 8, nil); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{8}, 10_000)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := s.Get(t.Context(), 7, nil); err != nil || len(got) != 0 {
		t.Errorf("a deleted body: %d bytes, %v", len(got), err)
	}
	if got := ids(t, s); len(got) != 49 || got[0] != 1 || got[48] != 50 {
		t.Error(got)
	}
}

// awaitServer waits until a server answers.
func awaitServer(t *testing.T, s *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, err := s.client.BucketExists(ctx, s.o.Bucket); err == nil || minio.ToErrorResponse(err).StatusCode != 0 {
			return
		}
		if ctx.Err() != nil {
			t.Fatal("the server does not answer")
		}
	}
}

// freeAddress returns an address on which nothing listens now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}
