package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Cluster holds the settings of a crawl that several machines share.
type Cluster struct {
	Servers     string // URLs of NATS servers, separated by commas; "": this machine crawls alone
	Node        string // name of this node; "": not given
	Credentials string // name of a file with NATS credentials; "": none
	CA          string // name of a PEM file with the certificates that sign those of the servers; "": the system's
	Certificate string // name of a PEM file with the certificate of this client; "": none
	Key         string // name of the PEM file with the private key of Certificate
	KeyFile     string // name of the file with the key of the cluster; "": pages are on one node only

	Partitions int           // number of parts into which the hosts are divided
	Lease      time.Duration // time after which the other nodes take over what a silent node crawls
	Margin     time.Duration // time before and after the end of a lease in which nobody crawls
	Wait       time.Duration // how long a node waits for the first seed
}

// clusterKeys lists the settings of a cluster.
var clusterKeys = []key{
	setting("cluster", "", "write addresses of NATS servers as in nats://n1:4222,nats://n2:4222",
		func(c *Config) *string { return &c.Cluster.Servers }, optional(servers), plain, `
The addresses of the NATS servers of a cluster, separated by commas. The nodes of a cluster share one crawl. If it is
empty, this machine crawls alone.`),

	setting("node", "", "use letters, digits, - and _",
		func(c *Config) *string { return &c.Cluster.Node }, optional(node), plain, `
The name of this machine in the cluster. Each node has its own name and its own data directory.`),

	setting("cluster_credentials", "", "name a file as in /etc/acapcrawl/nats.creds",
		func(c *Config) *string { return &c.Cluster.Credentials }, text, plain, `
A file with credentials for the NATS servers.`),

	setting("cluster_tls_ca", "", "name a file as in /etc/acapcrawl/ca.pem",
		func(c *Config) *string { return &c.Cluster.CA }, text, plain, `
A file (PEM) with the certificates that sign the certificates of the NATS servers. If it is empty, those of the system
are used. Servers are asked for TLS if their addresses begin with tls://.`),

	setting("cluster_tls_certificate", "", "name a file as in /etc/acapcrawl/node.pem",
		func(c *Config) *string { return &c.Cluster.Certificate }, text, plain, `
A file (PEM) with the certificate with which this machine identifies itself to the NATS servers.`),

	setting("cluster_tls_key", "", "name a file as in /etc/acapcrawl/node.key",
		func(c *Config) *string { return &c.Cluster.Key }, text, plain, `
The file (PEM) with the private key of cluster_tls_certificate.`),

	setting("cluster_key_file", "", "make one with: (umask 077; openssl rand -base64 32 > /etc/acapcrawl/cluster.key)",
		func(c *Config) *string { return &c.Cluster.KeyFile }, text, plain, `
A file with the key of the cluster: 32 random bytes in Base64 or hexadecimal digits, the same on all nodes, for example
from openssl rand -base64 32. With it and s3.bucket, a node copies the records of its pages, encrypted, to the object
store, and their keys, encrypted, to the NATS servers. acapcrawl archive recover makes a lost data directory again from
these copies. Keep the file secret, and a copy of it elsewhere: without it nothing can be recovered.`),

	setting("partitions", 1024, "write a number above 0",
		func(c *Config) *int { return &c.Cluster.Partitions }, integer(1), plain, `
The number of parts into which a cluster divides the hosts. Each part is crawled by one node at a time. It is fixed
when the cluster is made.`),

	setting("lease", "30s", "write a duration of at least 3s as in 30s",
		func(c *Config) *time.Duration { return &c.Cluster.Lease }, duration(3*time.Second), shown, `
The time after which the other nodes take over what a node crawls that they do not hear of. It is fixed when the
cluster is made.`),

	setting("lease_margin", "5s", "write a duration of at least a sixth of lease, as in 5s",
		func(c *Config) *time.Duration { return &c.Cluster.Margin }, duration(500*time.Millisecond), shown, `
The time before and after the end of a lease in which nobody requests pages of the hosts concerned. The clocks of the
machines may differ by half of it. It is fixed when the cluster is made.`),

	setting("wait", "60s", "write a duration as in 60s",
		func(c *Config) *time.Duration { return &c.Cluster.Wait }, duration(0), shown, `
How long a crawl without a seed waits until another node of the cluster names one.`),
}

// servers reads a list of URLs of NATS servers.
func servers(v any) (string, error) {
	s, err := text(v)
	if err != nil {
		return "", err
	}
	var list []string
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSuffix(strings.TrimSpace(part), "/")
		u, err := url.Parse(part)
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.Path != "" ||
			u.RawQuery != "" {
			return "", fmt.Errorf("%q is not the address of a NATS server", part)
		}
		if u.User != nil {
			return "", errors.New("an address with a password is visible to others; use cluster_credentials")
		}
		list = append(list, part)
	}
	return strings.Join(list, ","), nil
}

var nodeName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`) // with a limit of 64 here, it would take 90 kB at each start

// node reads the name of a node.
func node(v any) (string, error) {
	s, err := text(v)
	if err == nil && (len(s) > 64 || !nodeName.MatchString(s)) {
		err = fmt.Errorf("%q is not a name of at most 64 letters, digits, - and _", s)
	}
	return s, err
}
