// Package memory bounds what the pages that are received, parsed and indexed at the same time take
// in memory together.
//
// A page passes three steps, each with a bound of its own, and never waits for an earlier step
// while it has room in a later one, so that no two pages can wait for each other:
//
//  1. The bytes as sent are received. Small bodies are free; larger ones share receiveBytes, and one body more is always let in.
//  2. A body that grows large while its content coding is undone takes all of the room, so that one such body grows at a time.
//  3. Lease.Hold gives the page as much room as it weighs, until Release: while it is parsed, kept and indexed.
//
// A page keeps its room while it waits for the resources that it requires. Of these, only one large
// one is read at a time.
//
//   - budget.go: Budget, Lease
//   - limit.go: the limit of the Go runtime, by the memory of the machine or of its control group
package memory
