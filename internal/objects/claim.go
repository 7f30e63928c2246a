package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// ErrUnfit means that the settings or the bucket must be changed before anything is stored.
var ErrUnfit = errors.New("the bucket cannot be used")

// Options says where bodies are stored.
type Options struct {
	Endpoint    string // address of the server, as in https://s3.eu-west-1.amazonaws.com
	Bucket      string
	Prefix      string // path within the bucket, without slashes at its ends; may be empty
	Region      string // may be empty
	Unversioned bool   // the operator vouches that the bucket keeps no old versions of objects
}

// Open returns the store that o names. It sends no request. The access key comes from the environment variables
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, otherwise from the file ~/.aws/credentials.
func Open(o Options) (*Store, error) {
	at, err := url.Parse(o.Endpoint)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || strings.Trim(at.Path, "/") != "" {
		return nil, fmt.Errorf("%w: %q is no address of a server; write one as in https://s3.example.com", ErrUnfit,
			o.Endpoint)
	}
	keys := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
		&credentials.FileAWSCredentials{}})
	client, err := minio.New(at.Host, &minio.Options{Creds: keys, Secure: at.Scheme == "https", Region: o.Region})
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrUnfit, err)
	}
	s := &Store{o: o, client: client, slots: make(chan struct{}, uploads), pending: map[uint64]*upload{}}
	if o.Prefix != "" {
		s.prefix = o.Prefix + "/"
	}
	return s, nil
}

// Claim makes the bucket and prefix the store of one archive. It returns an ErrUnfit if they belong to another archive,
// if the bucket does not exist, or if the bucket keeps old versions of objects, which an erasure would not delete.
func (s *Store) Claim(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	exists, err := s.client.BucketExists(ctx, s.o.Bucket)
	switch {
	case err != nil:
		return s.unreached(err)
	case !exists:
		return fmt.Errorf("%w: %s does not exist at %s; make it", ErrUnfit, s.Name(), s.o.Endpoint)
	}
	if err := s.unversioned(ctx); err != nil {
		return err
	}
	name := s.prefix + claimName
	first := minio.PutObjectOptions{DisableMultipart: true, ContentType: "text/plain"}
	first.SetMatchETagExcept("*") // only if there is none
	_, err = s.client.PutObject(ctx, s.o.Bucket, name, bytes.NewReader([]byte(id)), int64(len(id)), first)
	if err == nil {
		return nil
	}
	if minio.ToErrorResponse(err).StatusCode != http.StatusPreconditionFailed {
		return s.unreached(err)
	}
	owner, found, err := s.readPatiently(ctx, name, nil)
	switch {
	case err != nil:
		return s.unreached(err)
	case !found:
		return s.unreached(errors.New("it has an object that cannot be read"))
	case string(owner) != id:
		return fmt.Errorf("%w: %s has the bodies of another archive; set another s3.prefix", ErrUnfit, s.Name())
	}
	return nil
}

// unversioned returns an error if an erased object may remain as an old version.
func (s *Store) unversioned(ctx context.Context) error {
	if s.o.Unversioned {
		return nil
	}
	versions, err := s.client.GetBucketVersioning(ctx, s.o.Bucket)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s does not say whether it keeps old versions of objects; if it keeps none, set "+
			"s3.unversioned: true: %s", ErrUnfit, s.Name(), err)
	case versions.Status != "":
		return fmt.Errorf("%w: %s keeps old versions of objects (versioning is %s), so a page could not be erased; "+
			"use a bucket that never had versioning", ErrUnfit, s.Name(), strings.ToLower(versions.Status))
	}
	return nil
}

// unreached returns an error about a request that was not answered as expected.
func (s *Store) unreached(err error) error {
	return fmt.Errorf("%s at %s cannot be used now: %w", s.Name(), s.o.Endpoint, err)
}
