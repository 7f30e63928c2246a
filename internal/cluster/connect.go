package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options say how to reach a cluster, and describe the node. Fields after Log are used by Join only.
type Options struct {
	Servers     string // URLs of NATS servers, separated by commas
	Credentials string // name of a file with NATS credentials; "": none
	TLS         TLS
	Log         *slog.Logger // messages for the operator; nil: none

	Node    string // name of this node
	Dir     string // identifies the data directory: no other directory has the same value
	Version string // version of the program
	Copies  string // see Report.Copies
	Settings
	Clock Clock // nil: the clock of the machine
}

// clock returns the clock of a process that connects with these options.
func (o Options) clock() Clock { return cmp.Or[Clock](o.Clock, SystemClock{}) }

// TLS has the names of PEM files. If CA is empty, the certificates of the system are used; if Certificate and Key are
// empty, there is no client certificate.
type TLS struct{ CA, Certificate, Key string }

// ErrNoQuorum means that the servers cannot be reached, or that too few of them run for any change.
var ErrNoQuorum = errors.New("the servers of the cluster cannot be reached, or too few of them run")

// answerTime is how long an answer of the servers is awaited.
const answerTime = 4 * time.Second

// link is a connection to the servers, with what a cluster stores there.
type link struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	nodes   *bucket
	state   *bucket
	journal jetstream.Stream
	links   jetstream.Stream
	orders  jetstream.Stream
	done    *bucket
}

// FileError means that a file that a setting names cannot be read.
type FileError struct {
	Setting string
	Err     error
}

func (e *FileError) Error() string { return e.Setting + ": " + e.Err.Error() }

// Unwrap returns the error of the file.
func (e *FileError) Unwrap() error { return e.Err }

// checkFiles returns a *FileError if a file that is needed to connect cannot be read.
func (o Options) checkFiles() error {
	for _, file := range [][2]string{{"cluster_credentials", o.Credentials}, {"cluster_tls_ca", o.TLS.CA},
		{"cluster_tls_certificate", o.TLS.Certificate}, {"cluster_tls_key", o.TLS.Key}} {
		if file[1] == "" {
			continue
		}
		if _, err := os.ReadFile(file[1]); err != nil {
			return &FileError{file[0], err}
		}
	}
	return nil
}

// dialServers connects to the servers of o. The connection goes on trying when it is interrupted later.
func dialServers(o Options) (*nats.Conn, error) {
	if err := o.checkFiles(); err != nil {
		return nil, err
	}
	list := []nats.Option{nats.Name("acapcrawl " + o.Node), nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond), nats.Timeout(answerTime),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2)}
	if o.Credentials != "" {
		list = append(list, nats.UserCredentials(o.Credentials))
	}
	if o.TLS.CA != "" {
		list = append(list, nats.RootCAs(o.TLS.CA))
	}
	if o.TLS.Certificate != "" {
		list = append(list, nats.ClientCert(o.TLS.Certificate, o.TLS.Key))
	}
	if strings.Contains(o.Servers, "tls://") {
		list = append(list, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	nc, err := nats.Connect(o.Servers, list...)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoQuorum, o.Servers, err)
	}
	return nc, nil
}

// unreachable turns the errors of the client that mean that the servers do not answer into ErrNoQuorum.
func unreachable(err error) error {
	for _, is := range []error{nats.ErrTimeout, nats.ErrNoResponders, nats.ErrConnectionClosed, nats.ErrDisconnected,
		nats.ErrConnectionReconnecting, nats.ErrNoServers, nats.ErrJetStreamNotEnabled, context.DeadlineExceeded,
		jetstream.ErrNoStreamResponse, jetstream.ErrJetStreamNotEnabled, jetstream.ErrAsyncPublishTimeout} {
		if errors.Is(err, is) {
			return fmt.Errorf("%w (%w)", ErrNoQuorum, err)
		}
	}
	var api *jetstream.APIError
	var old *nats.APIError // from parts of the client that use its older interface, such as watchers
	if errors.As(err, &api) && api.Code == 503 || errors.As(err, &old) && old.Code == 503 {
		return fmt.Errorf("%w (%w)", ErrNoQuorum, err)
	}
	return err
}

// AskAgain calls fn, and calls it again while it fails with ErrNoQuorum: servers that can be reached do not answer
// while they elect a leader. It makes no further attempt after the time limit. failed is called before each repetition;
// it may be nil.
func AskAgain(ctx context.Context, limit time.Duration, fn func() error, failed func(error)) error {
	for until := time.Now().Add(limit); ; {
		err := fn()
		if !errors.Is(err, ErrNoQuorum) || time.Now().After(until) {
			return err
		}
		if failed != nil {
			failed(err)
		}
		if wait(ctx, retryPause) != nil {
			return err
		}
	}
}

// open opens the stores of the cluster. The error is errNoCluster if there is none, also if another node is making the
// stores at this moment and some are still missing.
func (l *link) open(ctx context.Context, clock Clock) error {
	err := l.openStores(ctx, clock)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
		l.closeBuckets()
		return errNoCluster
	}
	return unreachable(err)
}

func (l *link) openStores(ctx context.Context, clock Clock) (err error) {
	if l.js, err = jetstream.New(l.nc, jetstream.WithPublishAsyncTimeout(answerTime)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	if l.journal, err = l.js.Stream(ctx, journalStream); err != nil {
		return err
	}
	if l.links, err = l.js.Stream(ctx, linksStream); err != nil {
		return err
	}
	if l.orders, err = l.js.Stream(ctx, ordersStream); err != nil {
		return err
	}
	if l.done, err = openBucket(ctx, l.js, doneBucket, clock); err != nil {
		return err
	}
	if l.nodes, err = openBucket(ctx, l.js, nodesBucket, clock); err != nil {
		return err
	}
	l.state, err = openBucket(ctx, l.js, stateBucket, clock)
	return err
}

var errNoCluster = errors.New("the servers have no cluster of acapcrawl yet")

func (l *link) close() {
	l.closeBuckets()
	l.nc.Close()
}

func (l *link) closeBuckets() {
	for _, b := range []**bucket{&l.nodes, &l.state, &l.done} {
		if *b != nil {
			(*b).close()
			*b = nil
		}
	}
}

// create makes the stores of a new cluster. Several nodes may do that at the same time. The settings come last, so
// that a cluster with settings is complete.
func (l *link) create(ctx context.Context, s Settings) error {
	ctx, cancel := context.WithTimeout(ctx, 4*answerTime)
	defer cancel()
	for _, c := range []jetstream.StreamConfig{
		keyValueStream(nodesBucket, s.Lease),
		keyValueStream(stateBucket, 0),
		keyValueStream(doneBucket, 0),
		ordersConfig(),
		{Name: journalStream, Subjects: []string{journalPrefix + "*"}, Duplicates: time.Second},
		{Name: linksStream, Subjects: []string{linksPrefix + "*"}, Duplicates: time.Second},
	} {
		if err := l.createStream(ctx, c); err != nil {
			return unreachable(err)
		}
	}
	return nil
}

// keyValueStream returns the stream of a key-value bucket that keeps one value for each key, for the time ttl, or for
// ever if ttl is 0. Unlike the buckets that the client makes, it is never read from a replica, which may be behind.
func keyValueStream(bucket string, ttl time.Duration) jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: "KV_" + bucket, Subjects: []string{"$KV." + bucket + ".>"},
		MaxMsgsPerSubject: 1, MaxAge: ttl, Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true,
		Duplicates: time.Second}
}
