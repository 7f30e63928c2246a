package site

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"strings"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/objects"
)

// archiveOptions returns where the archive of the data directory cfg.Data stores bodies, and copies of records and
// keys. It sends no request. epoch returns the epoch of the lease of this process; it may be nil.
func archiveOptions(cfg *config.Config, epoch func() uint64) (o archive.Options, err error) {
	node := nodeOf(cfg)
	store, err := bodyStore(cfg.S3, node)
	if err != nil || store == nil {
		return o, err
	}
	o.Bodies = store
	if cfg.Cluster.KeyFile == "" || cfg.Cluster.Servers == "" || node == "" {
		return o, nil
	}
	secret, keys, err := clusterKeys(cfg, node)
	if err != nil {
		return o, err
	}
	o.Replica = &archive.Replica{Records: store.Records(), Keys: pageKeys{keys}, Secret: secret, Epoch: epoch}
	return o, nil
}

// clusterKeys returns the key of the cluster, and the copies of a node's page keys that are encrypted with it.
func clusterKeys(cfg *config.Config, node string) (secret []byte, keys *cluster.PageKeys, err error) {
	if secret, err = readClusterKey(cfg.Cluster.KeyFile); err != nil {
		return nil, nil, err
	}
	check, err := archive.SecretCheck(secret)
	if err != nil {
		return nil, nil, err
	}
	reach := ClusterOptions(cfg)
	reach.Node = node
	return secret, cluster.NewPageKeys(reach, check), nil
}

// checkClusterKey returns a *UsageError if the other nodes of the cluster use another key. Servers that do not answer,
// for example because they elect a leader for the keys, are asked again. If they do not answer for long, the key is
// checked before the first page is stored.
func checkClusterKey(ctx context.Context, cfg *config.Config) error {
	if copiesOf(cfg) != cluster.CopiesObjectStore {
		return nil
	}
	_, keys, err := clusterKeys(cfg, cfg.Cluster.Node)
	if err != nil {
		return err
	}
	defer keys.Close()
	err = cluster.AskAgain(ctx, cluster.ElectionTime, func() error { return keys.Check(ctx) }, nil)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, cluster.ErrNoQuorum):
		return nil
	}
	return cmp.Or(wrongStore(err), ClusterError(err))
}

// copiesOf returns where the pages of a node are, for cluster.Options.Copies.
func copiesOf(cfg *config.Config) string {
	if cfg.Cluster.KeyFile != "" && cfg.S3.Bucket != "" {
		return cluster.CopiesObjectStore
	}
	return cluster.CopiesOneNode
}

// nodeOf returns the name of the node to which the data directory belongs, or will belong; "" if it belongs to none.
func nodeOf(cfg *config.Config) string {
	if m, err := readMembership(cfg.Data); err == nil && m.Node != "" {
		return m.Node
	}
	if cfg.Cluster.Servers == "" {
		return ""
	}
	return cfg.Cluster.Node
}

// bodyStore returns the object store that has the bodies of the archive; nil: body files have them. Each node of a
// cluster has its own path in the bucket. It sends no request.
func bodyStore(c config.S3, node string) (*objects.Store, error) {
	switch {
	case c.Endpoint == "" && c.Bucket == "":
		return nil, nil
	case c.Endpoint == "":
		return nil, usageError("set s3.endpoint, or remove s3.bucket", "s3.bucket is set without s3.endpoint")
	case c.Bucket == "":
		return nil, usageError("set s3.bucket, or remove s3.endpoint", "s3.endpoint is set without s3.bucket")
	}
	if node != "" {
		c.Prefix = path.Join(c.Prefix, "nodes", node)
	}
	return objects.Open(objects.Options(c))
}

// keyHint says how to make a key of a cluster.
const keyHint = "(umask 077; openssl rand -base64 32 > %s), and copy the file to all nodes"

// readClusterKey reads the key of the cluster. The error is a *UsageError.
func readClusterKey(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, usageError(fmt.Sprintf(keyHint, name), "the key of the cluster cannot be read: %w", err)
	}
	s := strings.TrimSpace(string(text))
	if b, err := hex.DecodeString(s); err == nil && len(b) == 32 {
		return b, nil
	}
	if b, err := base64.StdEncoding.DecodeString(s); err == nil && len(b) == 32 {
		return b, nil
	}
	return nil, usageError(fmt.Sprintf(keyHint, name), "%s does not contain a key of 32 bytes in Base64 or "+
		"hexadecimal digits", name)
}

// warnOfOpenKey tells the operator if others can read the key of the cluster.
func (s *Site) warnOfOpenKey() {
	name := s.cfg.Cluster.KeyFile
	if name == "" {
		return
	}
	if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
		s.o.Notice(fmt.Sprintf("other users of this machine can read the key of the cluster: chmod 600 %s", name))
	}
}

// epoch returns the epoch of the lease of this process; 0 if it has none.
func (s *Site) epoch() uint64 {
	if n := s.node.Load(); n != nil {
		return n.Epoch()
	}
	return 0
}

// pageKeys implements archive.KeyCopies.
type pageKeys struct{ *cluster.PageKeys }

func (p pageKeys) Put(ctx context.Context, copies []archive.KeyCopy, replace bool) error {
	keys := make([]cluster.PageKey, len(copies))
	for i, c := range copies {
		keys[i] = cluster.PageKey(c)
	}
	return p.PageKeys.Put(ctx, keys, replace)
}

func (p pageKeys) All(ctx context.Context) iter.Seq2[archive.KeyCopy, error] {
	return func(yield func(archive.KeyCopy, error) bool) {
		for k, err := range p.PageKeys.All(ctx) {
			if !yield(archive.KeyCopy(k), err) {
				return
			}
		}
	}
}

// wrongStore returns an error about the store of bodies that the operator's settings cause, or nil.
func wrongStore(err error) error {
	switch {
	case errors.Is(err, objects.ErrUnfit):
		return &UsageError{err, "see the settings s3.endpoint, s3.bucket, s3.prefix and s3.unversioned"}
	case errors.Is(err, archive.ErrReplaces):
		return &UsageError{err, "use another object store, or crawl without cluster_key_file"}
	case errors.Is(err, archive.ErrStore):
		return &UsageError{err, "use the settings s3.bucket and s3.prefix with which the archive was made; to move " +
			"the pages, export them and import them into another data directory"}
	case errors.Is(err, archive.ErrReplica):
		return &UsageError{err, "set cluster, cluster_key_file, s3.endpoint and s3.bucket as before"}
	case errors.Is(err, archive.ErrSecret), errors.Is(err, cluster.ErrClusterKey):
		return &UsageError{err, "set cluster_key_file to the key of the cluster"}
	case errors.Is(err, archive.ErrReplaced):
		return &UsageError{err, "use the data directory that continues it, or acapcrawl archive recover with a new one"}
	}
	return nil
}
