package cluster

import (
	"github.com/nats-io/nats.go"
)

// Connect is a placeholder.
func Connect(urls string) (*nats.Conn, error) { return nats.Connect(urls) }
