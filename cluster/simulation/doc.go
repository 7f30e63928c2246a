// Package simulation runs a cluster of crawlers in virtual time: more nodes, hosts and URLs than a test can have. Leases
// and the assignment of partitions are those of package cluster, and the times of requests are those of package crawler.
// The servers of NATS, the network, the hosts and the part of a node between them are models.
//
// What is modelled: requests to the store and their answers take time, and are lost; the loop of a node that renews the
// lease and opens partitions; the fence of a journal; a limited number of visits at a time; commits that several changes
// share. A host is a few numbers: when it is due, its delay, and how many URLs it has left.
//
// A Simulation checks each request: the host's delay has passed since the last request of any node, the lease of the
// node has not ended in the store, and the table gives the partition to the node. The same options give the same result.
package simulation
