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
	"hash/fnv"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const listLag = 5 // see Server.Lag

// Bucket is the name of the only bucket.
const Bucket = "pages"

// Server is a running server. Its fields may be changed by Change only.
type Server struct {
	URL string

	// Lag is after how many further requests at most a change of an object is seen by those that read it. Lists see it
	// after at most listLag times as many. Requests that must not replace an object see it at once.
	Lag int

	mu         sync.Mutex
	objects    map[string][]byte
	read       view
	listed     view
	requests   int
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
	s = &Server{objects: map[string][]byte{}, read: view{objects: map[string][]byte{}},
		listed: view{objects: map[string][]byte{}}}
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

// Settle lets all requests see all changes so far at once, and ends Lag.
func (s *Server) Settle() {
	s.Change(func() {
		s.Lag = 0
		s.read.settle(math.MaxInt)
		s.listed.settle(math.MaxInt)
	})
}

// change is a change of an object.
type change struct {
	name string
	body []byte
	gone bool // it is deleted
	at   int  // number of the request that sees it
}

func (c change) apply(objects map[string][]byte) {
	if c.gone {
		delete(objects, c.name)
	} else {
		objects[c.name] = c.body
	}
}

// view is what some requests see of the objects.
type view struct {
	objects map[string][]byte
	late    []change // which objects does not have yet
}

// change lets a change be seen after at most lag further requests. The number depends on the name, so that a list can
// have gaps.
func (v *view) change(c change, requests, lag int) {
	hash := fnv.New32a()
	hash.Write([]byte(c.name))
	c.at = requests + int(hash.Sum32()%uint32(lag+1))
	v.late = append(v.late, c)
	v.settle(requests)
}

// settle lets those changes be seen whose time has come.
func (v *view) settle(requests int) {
	v.late = slices.DeleteFunc(v.late, func(c change) bool {
		due := c.at <= requests
		if due {
			c.apply(v.objects)
		}
		return due
	})
}

// change changes an object.
func (s *Server) change(c change) {
	c.apply(s.objects)
	s.read.change(c, s.requests, s.Lag)
	s.listed.change(c, s.requests, listLag*s.Lag)
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
	s.requests++
	s.read.settle(s.requests)
	s.listed.settle(s.requests)
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
	switch r.Method {
	case http.MethodPut:
		if _, exists := s.objects[name]; exists && r.Header.Get("If-None-Match") == "*" {
			refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
			return
		}
		s.change(change{name: name, body: body})
		w.Header().Set("ETag", etag(body))
	case http.MethodDelete:
		s.change(change{name: name, gone: true})
		w.WriteHeader(http.StatusNoContent)
	default:
		held, exists := s.read.objects[name]
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
	for _, name := range slices.Sorted(maps.Keys(s.listed.objects)) {
		if !strings.HasPrefix(name, prefix) || name <= after {
			continue
		}
		if len(answer.Contents) == page {
			answer.IsTruncated, answer.NextContinuationToken = true, answer.Contents[page-1].Key
			break
		}
		held := s.listed.objects[name]
		answer.Contents = append(answer.Contents, entry{name, len(held), etag(held)})
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
