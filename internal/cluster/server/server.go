// Package server runs a NATS server with JetStream in this process, to try a cluster out. A real cluster needs three
// servers on three machines.
package server

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startTime is how long the server may take to start.
const startTime = 20 * time.Second

// Start starts a server on a free port of loopback, which stores its data in dir. It returns the address of the server.
// The caller calls stop.
func Start(dir string) (address string, stop func(), err error) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true,
		StoreDir: dir, NoSigs: true, NoLog: true})
	if err != nil {
		return "", nil, fmt.Errorf("the NATS server cannot be started: %w", err)
	}
	s.Start()
	stop = func() {
		s.Shutdown()
		s.WaitForShutdown()
	}
	if !s.ReadyForConnections(startTime) {
		stop()
		return "", nil, errors.New("the NATS server does not start")
	}
	return s.ClientURL(), stop, nil
}
