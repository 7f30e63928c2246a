package crawler

import (
	"context"
	"time"
)

// Journal is what a Frontier needs when several machines share a crawl. The hosts are divided into
// partitions; each partition belongs to one machine at a time, and its journal is the replicated
// record of what the frontier knows about the hosts in it. The frontier file is then only a cache:
// whoever owns a partition next rebuilds it from the journal. All methods may be called
// concurrently.
type Journal interface {
	// Partition returns the number of the partition of a host, which is named as in Lease.Host. It
	// never changes.
	Partition(host string) int
	// Until returns the time until which requests to hosts of the owned partitions may be made, by
	// the clock of the frontier. It moves forward while the machine is in contact with the others.
	// It must not wait, and must not call the frontier.
	Until() time.Time
	// Append makes entries durable on other machines, and returns the position of each in the
	// journal of its partition. There is at most one entry for a partition. Append waits while the
	// other machines cannot be reached. lost holds the partitions that another machine owns by now;
	// if it is not empty, some of the other entries may have been added, and the caller repeats the
	// call without the lost partitions.
	Append(ctx context.Context, entries []Entry) (positions []uint64, lost []int, err error)
	// Send passes offers to the owners of the partitions of their addresses, and returns when they
	// are durable. Offers may arrive more than once.
	Send(ctx context.Context, offers []Offer) error
}

// Entry is one addition to the journal of a partition. Its puts are independent of each other, and
// a later put of the same record replaces an earlier one. Therefore an Append that was interrupted
// may leave the first puts of an entry in the journal. Each put is shorter than 64 KiB.
type Entry struct {
	Partition int
	// Adopted is the position of the last record that Adopt got when it opened the partition. If
	// this machine has taken the partition over again since, the entry comes from before, and
	// Append reports the partition as lost.
	Adopted uint64
	Puts    [][]byte
}

// JournalRecord is an entry of the journal of one partition, or a part of one, as it is read again.
type JournalRecord struct {
	Position uint64
	Puts     [][]byte
}
