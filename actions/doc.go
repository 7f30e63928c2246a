// Package actions keeps the ledger of ACAP action requests (P1 2.6): what publishers asked for, by which line, and what came of it.
//
// An Executor compares what an origin's policy asks now with what the ledger knows and does what is due: a take-down every time, since
// repeating it does no harm, a re-crawl once per appearance of its line (P04).
//
//	request.go      Request, State, Source
//	ledger.go       Ledger: actions.db, and its transactions
//	filter.go       which requests, one after the other, and what was noted of one
//	chain.go        Entry: everything that was noted, each linked to the one before
//	head.go         Head: where the chain ends, in actions.head too
//	verify*.go      what of all that is not what was written
//	receipt.go      Receipt: what became of a request
//	sign.go         keys and signatures of heads; jws.go, of receipts
//	backup.go       a copy of the ledger, and a ledger made of one
//	format.go       the format of the ledger
//	observe.go      what a policy asks for now, compared with what is known
//	execute.go      Executor: doing what is due; recrawl.go, of re-crawls
//	settle.go       what became of re-crawls, and what is gone from every file
//	channel.go      Call, Answer: what a publisher asks by the operator's channel
//	credential.go   Credential: who may ask there, for which origins
//	submit.go       Submission: what is asked for by another way than a line, and withdrawn
//	rejected.go     Rejection: what is refused of that, noted in bounds
//	bind.go         Bind: what stands, and what a line needs to stand (P07)
//	limits.go       Limits: what requests may cost
//	noted.go        Noted: what came since an entry
package actions
