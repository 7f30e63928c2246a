// Package memory limits the memory that pages take together while they are received, parsed and
// indexed.
//
// A page passes three steps. Each step has its own limit. A page never waits for an earlier step
// while it has room in a later one, so two pages cannot wait for each other:
//
//  1. The bytes as sent are received. Small bodies are free. Larger ones share 48 MiB, and one more
//     large body is always admitted.
//  2. A body that becomes large while its content coding is decoded takes all of the room. So only
//     one such body grows at a time.
//  3. Lease.Hold gives the page as much room as it weighs, until Release: while it is parsed, stored
//     and indexed.
//
// A page keeps its room while it waits for the resources that it requires. Of these, only one large
// body is read at a time.
//
//   - budget.go: Budget, Lease
//   - limit.go: the memory limit of the Go runtime, from the memory of the machine or of its control group
package memory
