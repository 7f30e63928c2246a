package site

import (
	"errors"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/objects"
)

// bodyStore returns the object store that has the bodies of the archive; nil: body files have them. It sends no
// request.
func bodyStore(c config.S3) (archive.Outside, error) {
	switch {
	case c.Endpoint == "" && c.Bucket == "":
		return nil, nil
	case c.Endpoint == "":
		return nil, usageError("set s3.endpoint, or remove s3.bucket", "s3.bucket is set without s3.endpoint")
	case c.Bucket == "":
		return nil, usageError("set s3.bucket, or remove s3.endpoint", "s3.endpoint is set without s3.bucket")
	}
	store, err := objects.Open(objects.Options(c))
	if err != nil {
		return nil, err
	}
	return store, nil
}

// wrongStore returns an error about the store of bodies that the operator's settings cause, or nil.
func wrongStore(err error) error {
	switch {
	case errors.Is(err, objects.ErrUnfit):
		return &UsageError{err, "see the settings s3.endpoint, s3.bucket, s3.prefix and s3.unversioned"}
	case errors.Is(err, archive.ErrStore):
		return &UsageError{err, "use the settings s3.bucket and s3.prefix with which the archive was made; to move the " +
			"pages, export them and import them into another data directory"}
	}
	return nil
}
