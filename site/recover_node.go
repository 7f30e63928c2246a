package site

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
)

// Recovered is the result of RecoverNode.
type Recovered struct {
	Data     string             `json:"data"`
	Node     string             `json:"node"`
	Captures int                `json:"captures"`
	Indexed  int                `json:"indexed"` // pages in the index, which was made again
	Repaired []archive.Repaired `json:"repaired"`
	Problems []archive.Problem  `json:"problems"`
}

// RecoverNode makes the data directory of a node of a cluster again in cfg.Data, from the copies in the object store
// and in the cluster. The directory must be empty or not exist, and appears only when it is complete. The node must not
// run. Policies are those that were copied last. They decide what is indexed again, but no page is shown before its
// policy was read again. Errors are *UsageError or *FailedError.
func RecoverNode(ctx context.Context, cfg *config.Config) (out Recovered, err error) {
	temporary, exists, err := makeNursery(cfg)
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(temporary)
	there := *cfg
	there.Data = temporary
	o, err := archiveOptions(&there, nil)
	if err == nil && o.Replica == nil {
		err = usageError("set cluster, node, cluster_key_file, s3.endpoint and s3.bucket as the node had them",
			"only a node that copies its records to an object store can be recovered")
	}
	if err != nil {
		return out, err
	}
	defer o.Replica.Keys.Close()
	id, err := absentNode(ctx, &there)
	if err != nil {
		return out, err
	}
	if _, err = archive.Recover(ctx, temporary, o); err == nil {
		err = recoverPolicies(ctx, temporary, *o.Replica)
	}
	if err != nil {
		return out, recoveryError(err, cfg.Cluster.Node)
	}
	m := membership{Cluster: id, Node: cfg.Cluster.Node, Dir: rand.Text()}
	if err := m.write(temporary); err != nil {
		return out, err
	}
	out = Recovered{Data: cfg.Data, Node: m.Node, Repaired: []archive.Repaired{}, Problems: []archive.Problem{}}
	if err := out.complete(ctx, &there); err != nil {
		return out, err
	}
	m.Recovered = time.Now().UTC()
	if err := m.write(temporary); err != nil {
		return out, err
	}
	if err := moveRestored(temporary, cfg.Data, exists); err != nil {
		return out, fmt.Errorf("%s cannot be made: %w", cfg.Data, err)
	}
	return out, nil
}

// makeNursery makes a directory in which cfg.Data is made. The error is a *UsageError if cfg.Data is not empty.
func makeNursery(cfg *config.Config) (temporary string, exists bool, err error) {
	entries, err := os.ReadDir(cfg.Data)
	exists = err == nil
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", false, err
	case len(entries) > 0:
		return "", false, usageError("another directory with --data",
			"%s is not empty: a node is recovered into a directory of its own", cfg.Data)
	}
	if _, err := LedgerOptions(cfg); err != nil { // check the settings before anything is written
		return "", false, err
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(cfg.Data)), 0o700); err != nil {
		return "", false, err
	}
	temporary, err = os.MkdirTemp(nursery(cfg.Data, exists))
	return temporary, exists, err
}

// absentNode checks that the node does not run, and returns the ID of the cluster.
func absentNode(ctx context.Context, cfg *config.Config) (id string, err error) {
	s, err := cluster.QueryStatus(ctx, ClusterOptions(cfg))
	switch {
	case err != nil:
		return "", ClusterError(err)
	case !s.Quorum:
		return "", ClusterError(cluster.ErrNoQuorum)
	}
	for _, n := range s.Nodes {
		if n.Node == cfg.Cluster.Node {
			return "", usageError("end it, or wait until its lease has ended",
				"the node %s runs; its lease lasts until %s", n.Node, n.LeaseUntil.Format(time.RFC3339))
		}
	}
	return s.Cluster, nil
}

// recoveryError returns err with what the user can do.
func recoveryError(err error, node string) error {
	switch {
	case errors.Is(err, archive.ErrNoCopies):
		return usageError("see s3.prefix and --node", "the object store has no copies of the records of node %s", node)
	case errors.Is(err, archive.ErrCorrupt):
		return &FailedError{err, "acapcrawl archive restore, if there is a backup; nothing was changed"}
	case errors.Is(err, cluster.ErrNoQuorum):
		return ClusterError(err)
	}
	return classify(err)
}

// complete opens the recovered directory, erases what has lost its key or body, and makes the index again.
func (r *Recovered) complete(ctx context.Context, cfg *config.Config) (err error) {
	who, err := RecordedCrawler(cfg)
	if err == nil {
		err = recordCrawler(cfg.Data, who)
	}
	if err != nil {
		return err
	}
	s, err := Open(cfg, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.archive.Repair(ctx,
		func(done archive.Repaired) { r.Repaired = append(r.Repaired, done) }); err != nil {
		return err
	}
	problems, err := s.Verify(ctx, archive.VerifyOptions{}, nil, nil)
	if err != nil {
		return err
	}
	for _, p := range problems {
		if p.Remedy != holdings.SweepRemedy {
			r.Problems = append(r.Problems, p)
		}
	}
	held, err := s.archive.Stats()
	if err != nil {
		return err
	}
	n, err := s.index.Count()
	r.Captures, r.Indexed = held.Captures, int(n)
	return err
}

// policiesCopy is the name of the copy of policy.db.
const policiesCopy = "policies"

// Times of copies of the policies.
const (
	firstPolicies = time.Minute
	laterPolicies = 10 * time.Minute
)

// keepCopyingPolicies copies the policies to the object store while a crawl runs, and when it ends. It does nothing if
// records are not copied.
func (s *Site) keepCopyingPolicies(ctx context.Context) (end func()) {
	if !s.archive.HasCopies() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for next := firstPolicies; ; next = laterPolicies {
			select {
			case <-time.After(next):
				s.copyPolicies(ctx)
			case <-ctx.Done():
				last, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
				defer stop()
				s.copyPolicies(last)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// copyPolicies copies the policies. A failure is logged: the policies of pages that were not copied are read again.
func (s *Site) copyPolicies(ctx context.Context) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	err := s.policy.Backup(func(int64) (io.Writer, error) { return z, nil })
	if err = errors.Join(err, z.Close()); err == nil {
		err = s.archive.CopyFile(ctx, policiesCopy, b.Bytes())
	}
	if err != nil {
		s.o.Log.Warn("the policies could not be copied to the object store", "error", err)
	}
}

// recoverPolicies writes the policies that were copied last.
func recoverPolicies(ctx context.Context, dir string, o archive.Replica) error {
	b, err := archive.CopiedFile(ctx, o, policiesCopy)
	if err != nil || b == nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return err
	}
	b, err = io.ReadAll(z)
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(dir, policyName), b, 0o600)
}
