// Package objects stores the sealed bodies of an archive, and encrypted copies of its records, in a bucket of an object
// store with the S3 API.
//
// A body is one object, PREFIX/bodies/NUMBER with the number as 16 hexadecimal digits. The object PREFIX/archive has
// the ID of the archive to which the bodies belong. The keys of bodies stay in the data directory, so nothing in the
// bucket can be read without it.
//
// Source files: objects.go (Store: storing and reading), records.go (copies of records), claim.go (Open, Claim:
// settings and checks of the bucket).
package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	uploads    = 16               // greatest number of bodies that are sent at once
	within     = time.Minute      // time limit of one request with its repetitions
	patience   = 5                // how often a body is asked for that the store does not find
	pause      = time.Second / 10 // before the first repetition; doubled for each further one
	hexDigits  = 16
	bodyFolder = "bodies/"
	claimName  = "archive"
)

// Store stores bodies in a bucket. It implements archive.Outside. Its methods may be called concurrently.
type Store struct {
	o      Options
	client *minio.Client
	prefix string // "" or a path with a slash at its end

	slots chan struct{}

	mu      sync.Mutex
	pending map[uint64]*upload // bodies since the last Sync
}

// upload is a body that is sent.
type upload struct {
	sealed []byte
	done   chan struct{} // closed when err is valid
	err    error
}

// Name names the bucket and the prefix, without the address of the server, which may change.
func (s *Store) Name() string {
	if s.prefix == "" {
		return "the bucket " + s.o.Bucket
	}
	return fmt.Sprintf("the bucket %s with the prefix %s", s.o.Bucket, s.prefix)
}

func (s *Store) object(id uint64) string { return fmt.Sprintf("%s%s%016x", s.prefix, bodyFolder, id) }

// Put begins to send a body. It waits if too many are being sent. Sync returns the error if it cannot be sent.
func (s *Store) Put(ctx context.Context, id uint64, sealed []byte) error {
	u := &upload{sealed: bytes.Clone(sealed), done: make(chan struct{})}
	s.mu.Lock()
	earlier := s.pending[id]
	s.mu.Unlock()
	if earlier != nil {
		<-earlier.done
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	s.pending[id] = u
	s.mu.Unlock()
	go func() {
		defer func() {
			<-s.slots
			close(u.done)
		}()
		u.err = s.send(ctx, id, u.sealed)
	}()
	return nil
}

func (s *Store) send(ctx context.Context, id uint64, sealed []byte) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := s.client.PutObject(ctx, s.o.Bucket, s.object(id), bytes.NewReader(sealed), int64(len(sealed)),
		minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"})
	return s.failed("a body", "be stored", err)
}

// Sync returns when all bodies are stored for which Put was called, or returns the errors of those that are not.
func (s *Store) Sync() error {
	s.mu.Lock()
	pending := s.pending
	s.pending = map[uint64]*upload{}
	s.mu.Unlock()
	var failed error
	for _, u := range pending {
		if <-u.done; failed == nil {
			failed = u.err
		}
	}
	return failed
}

// Get appends a body to out. If there is no such body, it returns out unchanged.
func (s *Store) Get(ctx context.Context, id uint64, out []byte) ([]byte, error) {
	s.mu.Lock()
	u := s.pending[id]
	s.mu.Unlock()
	if u != nil {
		return append(out, u.sealed...), nil
	}
	out, _, err := s.readPatiently(ctx, s.object(id), out)
	return out, s.failed("a body", "be read", err)
}

// readPatiently appends an object to out. A store may need time until it finds a new object, so readPatiently asks
// several times for one that is not found.
func (s *Store) readPatiently(ctx context.Context, name string, out []byte) (got []byte, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for n, wait := 1, pause; ; n, wait = n+1, 2*wait {
		got, err := s.read(ctx, name, out)
		if !isMissing(err) {
			return got, err == nil, err
		}
		if n == patience {
			return out, false, nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return out, false, ctx.Err()
		}
	}
}

// read appends an object to out.
func (s *Store) read(ctx context.Context, name string, out []byte) ([]byte, error) {
	object, err := s.client.GetObject(ctx, s.o.Bucket, name, minio.GetObjectOptions{})
	if err != nil {
		return out, err
	}
	defer object.Close()
	about, err := object.Stat()
	if err != nil {
		return out, err
	}
	b := bytes.NewBuffer(out)
	if n, err := io.Copy(b, object); err != nil || n != about.Size {
		return out, errors.Join(err, fmt.Errorf("%d of %d bytes came", n, about.Size))
	}
	return b.Bytes(), nil
}

// Delete removes a body for which Sync was called. A missing body is not an error.
func (s *Store) Delete(ctx context.Context, id uint64) error {
	return s.failed("a body", "be deleted", s.remove(ctx, s.object(id)))
}

// remove removes an object. A missing object is not an error.
func (s *Store) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := s.client.RemoveObject(ctx, s.o.Bucket, name, minio.RemoveObjectOptions{})
	if isMissing(err) {
		return nil
	}
	return err
}

// IDs returns the numbers of the bodies that the bucket has, in ascending order. It skips objects with other names.
func (s *Store) IDs(ctx context.Context) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		folder := s.prefix + bodyFolder
		ctx, cancel := context.WithCancel(ctx) // ends the listing if yield does
		defer cancel()
		for object := range s.client.ListObjectsIter(ctx, s.o.Bucket, minio.ListObjectsOptions{Prefix: folder}) {
			if object.Err != nil {
				yield(0, s.failed("a body", "be listed", object.Err))
				return
			}
			digits := strings.TrimPrefix(object.Key, folder)
			id, err := strconv.ParseUint(digits, 16, 64)
			if err != nil || len(digits) != hexDigits || id == 0 {
				continue
			}
			if !yield(id, nil) {
				return
			}
		}
	}
}

// failed returns an error that says what cannot be done and where, or nil.
func (s *Store) failed(thing, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s cannot %s in %s at %s: %w", thing, what, s.Name(), s.o.Endpoint, err)
}

// isMissing reports whether err says that an object does not exist. A missing bucket is another error.
func isMissing(err error) bool {
	answer := minio.ToErrorResponse(err)
	return err != nil && (answer.Code == minio.NoSuchKey ||
		answer.StatusCode == http.StatusNotFound && answer.Code != minio.NoSuchBucket)
}
