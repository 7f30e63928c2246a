package config

import (
	"fmt"
	"net/url"
	"strings"
)

// s3Keys lists the settings of an object store for the bodies of archived pages.
var s3Keys = []key{
	setting("s3.endpoint", "", "write the address of a server as in https://s3.example.com",
		func(c *Config) *string { return &c.S3.Endpoint }, optional(endpoint), plain, `
The address of an object store with the S3 API, which keeps the bodies of archived pages. If it is empty, they are in
files of the data directory. Bodies are encrypted, and their keys stay in the data directory. The access key comes from
the environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, otherwise from ~/.aws/credentials. This and the
next two settings are fixed when an archive is made; only the address may change if the bucket moves.`),

	setting("s3.bucket", "", "name a bucket",
		func(c *Config) *string { return &c.S3.Bucket }, text, plain, `
The bucket. It must exist, and keep no old versions of objects, because an erased page would remain in them.`),

	setting("s3.prefix", "", "write a path as in crawls/2026",
		func(c *Config) *string { return &c.S3.Prefix }, optional(objectPrefix), plain, `
A path within the bucket. Each archive needs its own. A node of a cluster adds /nodes/ and its name.`),

	setting("s3.region", "", "as in eu-west-1",
		func(c *Config) *string { return &c.S3.Region }, text, plain, `
The region of the bucket, if the object store has regions.`),

	setting("s3.unversioned", false, "write true or false",
		func(c *Config) *bool { return &c.S3.Unversioned }, boolean, plain, `
Set this to true only if the bucket keeps no old versions of objects although the object store does not say so.`),
}

// endpoint reads the address of an object store.
func endpoint(v any) (string, error) {
	s, err := text(v)
	if err != nil {
		return "", err
	}
	s = strings.TrimSuffix(s, "/")
	at, err := url.Parse(s)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || s != at.Scheme+"://"+at.Host {
		return "", fmt.Errorf("%q is not the address of a server", s)
	}
	return s, nil
}

// objectPrefix reads a path within a bucket. It removes slashes at its ends.
func objectPrefix(v any) (string, error) {
	s, err := text(v)
	if err != nil {
		return "", err
	}
	s = strings.Trim(s, "/")
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || part == "." || part == ".." {
			return "", fmt.Errorf("%q is not a path within a bucket", s)
		}
	}
	return s, nil
}
