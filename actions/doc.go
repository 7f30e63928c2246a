// Package actions keeps the ledger of ACAP action requests (P1 2.6): what publishers asked for, by which line, and what came of it.
//
// Observe compares what an origin's policy asks now with what the ledger knows and tells what is due: a take-down every time, since
// repeating it does no harm, a re-crawl once per appearance of its line (P04). Whoever executes a request calls Finish.
//
//	ledger.go  Ledger, Request: actions.db
//	run.go     Run: executing what is due, by whom it may concern
package actions
