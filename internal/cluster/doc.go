// Package cluster lets several machines share a crawl. Each machine is a node: a process with a data directory of its
// own. The nodes know each other only through NATS servers with JetStream. No other package uses NATS, except package
// server below it, which runs a server for a trial.
//
//	connect.go, bucket.go    the connection, the streams and buckets that a cluster has, compare-and-set
//	settings.go, shared.go   settings and seeds that all nodes share
//	lease.go, member.go      the lease of a node, and how nodes divide the partitions
//	table.go                 the table of partitions
//	clock.go                 the clock by which leases end
//	node.go, node_run.go     Node: what a process does all the time
//	node_end.go              links from other partitions, and how the nodes find out that nothing is left to do
//	node_leave.go            the end of a node; shortening of journals
//	journal*.go              the journal of a partition
//	links.go                 links between partitions
//	budget.go                limits that count over all nodes
//	dial*.go, call.go        byte streams over NATS messages, with which nodes call each other
//	replicas.go              how many servers store the streams
//	orders.go                what every node with pages must obey, and what each has
//	partitions.go            sets of partitions
//	status.go                status and drain
//	caller.go, reader.go     processes that are no nodes: they call nodes, or answer for one that does not crawl
//	keys.go                  encrypted copies of the keys of pages
//	simulate.go              what a simulation of many nodes needs
//
// # Politeness
//
// The hosts are divided into partitions, and each partition has one owner, which alone requests anything from its
// hosts. A web server does not know who the owner is. So politeness depends on time only: an owner stops by itself
// before its lease ends, and the next owner begins after that. The margins are longer than the permitted difference of
// two clocks, and longer than a request may need from the last check to the network.
//
// # Durability
//
// The stores of a cluster know who the owner is. Every message in the journal of a partition names its predecessor,
// so a process that has lost a partition cannot write to its journal, even if it does not know of the loss yet. What a
// frontier does counts only when it is in the journal. Links to other partitions are durable in the stream of their
// partition before the visit that found them counts as done. The journal has the links that are queued together with
// their position in that stream. So after a crash, visits are repeated, and no address is lost.
package cluster
