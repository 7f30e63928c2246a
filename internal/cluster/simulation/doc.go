// Package simulation runs a cluster of crawlers in virtual time, with more nodes, hosts and URLs than a test can have.
// Leases and the assignment of partitions are those of package cluster, and the times of requests are those of package
// crawler. The servers of NATS, the network, the hosts and the rest of a node are models.
//
// The model of a node has the loop that renews the lease and opens and hands over partitions, the fence of a journal, a
// limited number of visits at a time, and commits that several changes share. Requests to the store take time, and they
// or their answers are lost. A host is a few numbers: when it is due, its delay, and how many URLs it has left.
//
// Each request is checked when it leaves: the host's delay has passed since the last request of any node, the lease of
// the node has not ended in the store, and the table gives the partition to the node. The same options give the same
// result.
package simulation
