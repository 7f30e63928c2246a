// Command acapcrawl crawls the web under the terms its publishers set with ACAP, keeps and indexes what may be kept, and
// shows what may be shown.
//
// This package is the only wiring and the only reader of the configuration. Each verb is two files: one that says which
// flags and arguments it takes and checks them (crawl.go), one that does it with the packages of this module
// (run_crawl.go).
//
//	main.go, interrupt.go  the process: streams, environment, signals
//	command.go             Command and the tree of verbs
//	fault.go               what is printed when something is wrong, and the exit status
//	flags.go, args.go      flags and arguments that verbs share
//	explain_answer.go, print_explain.go
//	                       what explain says, as JSON and as text
//	output.go, progress.go standard output, and the line that is redrawn on a terminal
//	watch.go, summary.go   how a crawl goes, and what it did, in words and as JSON
//	report.go, metrics.go  what a crawl left undone and why; its metrics for Prometheus
//	store.go, sitemaps.go  the parts that crawl puts together
//	owner.go, remote.go, wire.go
//	                       verbs that run in the process that has the data directory: there, where they were called, and between
package main
