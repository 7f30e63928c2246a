// Command acapcrawl crawls the web under the terms its publishers set with ACAP, archives and
// indexes what may be kept, and shows what may be shown.
//
// Package site does the work. This package is its command line: it reads flags and configuration,
// calls methods of site.Site, prints the results as text or JSON, and returns the exit status. Each
// verb is a file with its name: crawl.go, archive_ls.go. Long output has a file of its own:
// explain_print.go.
//
//	main.go, interrupt.go  the process: streams, environment, signals
//	command.go, help.go    Command, the tree of verbs, and their help
//	fault.go               errors as text, with what to do and the exit status
//	flags.go, args.go, form.go
//	                       flags and arguments that several verbs have
//	directory.go           opens the data directory for a verb
//	owner.go, remote.go, wire.go
//	                       verbs that run in the process that has the data directory: in that process, where they were
//	                       called, and between both
//	output.go, progress.go standard output, and the line that is redrawn on a terminal
//	json_lines.go          standard error as JSON
//	status.go, summary.go  the state of a crawl, and its result
//	report.go, metrics.go  pages that a crawl skipped, with reasons; metrics for Prometheus
package main
