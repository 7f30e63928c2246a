package natstest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// Ports of server 0. Those of server i are i higher. They are below the ports that Linux gives to
// outgoing connections.
const (
	guardPort  = 4000
	clientPort = 4222
	routePort  = 6222
)

// place is what a server needs to know about itself and its cluster.
type place struct {
	Host     string
	Index    int
	Size     int
	StoreDir string
}

// reserve returns a loopback address that no other user of this package has until the test ends. So
// the fixed ports of all servers are free there, also while a server is down: no port is chosen,
// given up and taken again.
func reserve(t testing.TB) string {
	t.Helper()
	var err error
	for range 100 {
		host := fmt.Sprintf("127.%d.%d.%d", 64+rand.IntN(128), rand.IntN(256), 1+rand.IntN(254))
		var guard net.Listener
		if guard, err = net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(guardPort))); err == nil {
			t.Cleanup(func() { guard.Close() })
			return host
		}
	}
	t.Fatalf("there is no free loopback address (Linux has all of 127.0.0.0/8): %v", err)
	return ""
}

func (p place) client(i int) string { return net.JoinHostPort(p.Host, fmt.Sprint(clientPort+i)) }

func (p place) route(i int) *url.URL {
	return &url.URL{Scheme: "nats", Host: net.JoinHostPort(p.Host, fmt.Sprint(routePort+i))}
}

// options returns the configuration of the server.
func (p place) options() *server.Options {
	o := &server.Options{
		ServerName: fmt.Sprintf("n%d", p.Index), Host: p.Host, Port: clientPort + p.Index, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(p.StoreDir, fmt.Sprintf("n%d", p.Index)),
		JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 16 << 30,
		// With NoAdvertise, clients learn no addresses of other servers, so they do not go round a proxy.
		Cluster: server.ClusterOpts{Name: "natstest", Host: p.Host, Port: routePort + p.Index, NoAdvertise: true},
	}
	for i := range p.Size {
		if i != p.Index {
			o.Routes = append(o.Routes, p.route(i))
		}
	}
	return o
}
