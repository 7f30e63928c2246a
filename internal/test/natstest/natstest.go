// Package natstest runs NATS servers with JetStream for tests: one server, a cluster in this
// process, or a cluster of processes that a test can kill, pause and restart. All of them listen on
// loopback only and end with the test.
package natstest

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// limit ends a test whose servers hang.
const limit = 2 * time.Minute

// One starts one server with JetStream in this process, and returns its address. The server ends with the test.
func One(t testing.TB) string {
	t.Helper()
	return OneIn(t, t.TempDir())
}

// OneIn starts one server whose files are in dir.
func OneIn(t testing.TB, dir string) string {
	t.Helper()
	s, err := start(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(s) })
	return s.ClientURL()
}

// start starts a server and waits until it accepts connections.
func start(o *server.Options) (*server.Server, error) {
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(limit) {
		shutdown(s)
		return nil, fmt.Errorf("the NATS server %s does not start", o.ServerName)
	}
	return s, nil
}

func shutdown(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}
