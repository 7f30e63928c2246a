// Package disk owns what a data directory needs of its file system: files that replace others are durable whole or not at
// all, and room is kept for what must be written although the disk is full.
//
//	replace.go   replacing and renaming files, durably
//	room.go      what is free, and a reserve for take-downs
//	free_*.go, allocate_*.go   by operating system
package disk
