// Package disk contains what a data directory needs from its file system. It replaces files durably
// and atomically, and reserves space for writes that must succeed although the disk is full.
//
//	replace.go   replaces and renames files durably
//	draft.go     files that get their name only when they are complete
//	room.go      free space, and a reserve for take-downs
//	draft_*.go, free_*.go, allocate_*.go   by operating system
package disk
