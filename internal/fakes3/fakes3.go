// Package fakes3 is a server for tests, with the part of the S3 API that package objects uses. It keeps objects in
// memory.
package fakes3

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Bucket is the name of the only bucket.
const Bucket = "pages"

// Server is a running server. Its fields may be changed by Change only.
type Server struct {
	URL string

	mu         sync.Mutex
	objects    map[string][]byte
	Versioning string // what the bucket says: "", Enabled, Suspended; NotImplemented: it does not say

	// Fail may answer a request itself; it then returns true. It is called without a lock. nil: no failures
	Fail func(w http.ResponseWriter, r *http.Request, object string) bool
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	s, end := Serve()
	t.Cleanup(end)
	return s
}

// Serve starts a server that ends when end is called.
func Serve() (s *Server, end func()) {
	s = &Server{objects: map[string][]byte{}}
	server := httptest.NewServer(s)
	s.URL = server.URL
	return s, server.Close
}

// Change changes the server between two requests.
func (s *Server) Change(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// Objects returns a copy of all objects by name.
func (s *Server) Objects() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.objects)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, object, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	fail := s.Fail
	s.mu.Unlock()
	if fail != nil && fail(w, r, object) {
		return
	}
	body, err := content(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, location := r.URL.Query()["location"]
	_, versioning := r.URL.Query()["versioning"]
	switch {
	case bucket != Bucket:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case location:
		fmt.Fprint(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
	case versioning && s.Versioning == "NotImplemented":
		refuse(w, http.StatusNotImplemented, "NotImplemented")
	case versioning:
		fmt.Fprint(w, `<VersioningConfiguration>`)
		if s.Versioning != "" {
			fmt.Fprintf(w, `<Status>%s</Status>`, s.Versioning)
		}
		fmt.Fprint(w, `</VersioningConfiguration>`)
	case object == "" && r.Method == http.MethodGet:
		s.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("continuation-token"))
	case object == "":
	default:
		s.serveObject(w, r, object, body)
	}
}

func (s *Server) serveObject(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	held, exists := s.objects[name]
	switch r.Method {
	case http.MethodPut:
		if exists && r.Header.Get("If-None-Match") == "*" {
			refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
			return
		}
		s.objects[name] = body
		w.Header().Set("ETag", etag(body))
	case http.MethodDelete:
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		if !exists {
			refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", etag(held))
		http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), bytes.NewReader(held))
	}
}

// page is the number of objects in one answer of a list.
const page = 100

// list answers with the objects whose names begin with prefix and come after the name after.
func (s *Server) list(w http.ResponseWriter, prefix, after string) {
	type entry struct {
		Key  string
		Size int
		ETag string
	}
	var answer struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []entry
	}
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(name, prefix) || name <= after {
			continue
		}
		if len(answer.Contents) == page {
			answer.IsTruncated, answer.NextContinuationToken = true, answer.Contents[page-1].Key
			break
		}
		answer.Contents = append(answer.Contents, entry{name, len(s.objects[name]), etag(s.objects[name])})
	}
	_ = xml.NewEncoder(w).Encode(answer)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<Error><Code>%s</Code><Message>%s</Message></Error>`, code, code)
}

func etag(b []byte) string {
	sum := md5.Sum(b)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// content returns the body of a request without the signatures of its parts (aws-chunked).
func content(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	var out []byte
	for in := bufio.NewReader(r.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		digits, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(digits, 16, 32)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return out, nil
		}
		part := make([]byte, n+2)
		if _, err := io.ReadFull(in, part); err != nil {
			return nil, err
		}
		out = append(out, part[:n]...)
	}
}
