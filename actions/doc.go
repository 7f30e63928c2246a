// Package actions stores the ledger of ACAP action requests (P1 2.6): what publishers requested, by
// which line, and the result.
//
// An Executor compares the requests in an origin's policy with the ledger and executes what is due.
// P1 2.6 (P04): a take-down is executed whenever something is stored again, because repeating it
// does no harm; a re-crawl is executed once each time its line appears.
//
//	request.go      Request, State, Source
//	ledger.go       Ledger: actions.db and its transactions
//	filter.go       queries of requests and of their history
//	chain.go        Entry: the hash chain of all changes
//	head.go         Head: the end of the chain, also stored in actions.head
//	verify*.go      checks that the ledger is unchanged
//	receipt.go      Receipt: the result of a request
//	sign.go         keys and signatures of heads; jws.go, of receipts
//	backup.go       a copy of the ledger
//	format.go       the version of the file format
//	observe.go      compares a policy with the ledger
//	execute.go      Executor: executes requests; recrawl.go, re-crawls
//	settle.go       results of re-crawls and of compactions
//	channel.go      Call, Answer: calls of publishers through the operator's channel
//	node.go         names of the requests of several machines; announce.go, spread.go: what machines tell each other
//	status.go       Status: the open requests; Holding: what a take-down would erase
//	credential.go   Credential: who may call, and for which origins
//	submit.go       Submission: requests that do not come from a line, and their withdrawal
//	rejected.go     notes a limited number of rejections
//	bind.go         Bind: the requests in force of a policy; confirmation by line and channel
//	limits.go       Limits: limits of the cost of requests
//	noted.go        Noted: changes since an entry
package actions
