package objects

import (
	"bytes"
	"errors"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/s3servers"
)

// TestServers uses real object stores: it claims a bucket, and stores, reads, lists and deletes bodies and records.
func TestServers(t *testing.T) {
	for _, name := range s3servers.Names {
		t.Run(name, func(t *testing.T) {
			server := s3servers.Start(t, name)
			t.Setenv("AWS_ACCESS_KEY_ID", "key")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
			s, err := Open(Options{Endpoint: server.URL, Bucket: s3servers.Bucket, Prefix: "p", Region: "us-east-1"})
			if err != nil {
				t.Fatal(err)
			}
			claimServer(t, s)
			useBodies(t, s)
			useRecords(t, s)
		})
	}
}

func claimServer(t *testing.T, s *Store) {
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
}

func useBodies(t *testing.T, s *Store) {
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
