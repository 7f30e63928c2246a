// Package disk does what a data directory needs from its file system: it replaces files durably,
// whole or not at all, and reserves space for what must be written although the disk is full.
//
//	replace.go   replacing and renaming files, durably
//	draft.go     files that get their name when they are whole
//	room.go      how much is free, and a reserve for take-downs
//	draft_*.go, free_*.go, allocate_*.go   by operating system
package disk
