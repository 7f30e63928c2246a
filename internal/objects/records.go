package objects

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
)

// Records are small objects with names, next to the bodies of a store. It implements archive.Records.
type Records struct{ s *Store }

// Records returns the objects next to the bodies.
func (s *Store) Records() Records { return Records{s} }

// Create stores an object that does not exist. The error wraps fs.ErrExist if it exists.
func (r Records) Create(ctx context.Context, name string, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	o := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"}
	o.SetMatchETagExcept("*") // only if there is none
	_, err := r.s.client.PutObject(ctx, r.s.o.Bucket, r.s.prefix+name, bytes.NewReader(b), int64(len(b)), o)
	switch code := minio.ToErrorResponse(err).StatusCode; {
	case err != nil && (code == http.StatusPreconditionFailed || code == http.StatusConflict):
		return fmt.Errorf("%s in %s: %w", name, r.s.Name(), fs.ErrExist)
	}
	return r.s.failed(name, "be stored", err)
}

// Read returns an object. The error wraps fs.ErrNotExist if there is none.
func (r Records) Read(ctx context.Context, name string) ([]byte, error) {
	b, found, err := r.s.readPatiently(ctx, r.s.prefix+name, nil)
	switch {
	case err != nil:
		return nil, r.s.failed(name, "be read", err)
	case !found:
		return nil, fmt.Errorf("%s in %s: %w", name, r.s.Name(), fs.ErrNotExist)
	}
	return b, nil
}

// List returns the names of the objects that begin with folder, in ascending order.
func (r Records) List(ctx context.Context, folder string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithCancel(ctx) // ends the listing if yield does
		defer cancel()
		o := minio.ListObjectsOptions{Prefix: r.s.prefix + folder, Recursive: true}
		for object := range r.s.client.ListObjectsIter(ctx, r.s.o.Bucket, o) {
			if object.Err != nil {
				yield("", r.s.failed(folder, "be listed", object.Err))
				return
			}
			if !yield(strings.TrimPrefix(object.Key, r.s.prefix), nil) {
				return
			}
		}
	}
}

// Remove removes an object. A missing object is not an error.
func (r Records) Remove(ctx context.Context, name string) error {
	return r.s.failed(name, "be deleted", r.s.remove(ctx, r.s.prefix+name))
}
