// Package web is how publishers reach an operator over HTTP: the channel for action requests (P1 2.6), health and metrics.
//
// Every request is bounded and judged in one order before anything is read of its body: host, rate of the client, method, rates of failures
// and of the credential, its form. What it asks for is answered by a Backend, which alone knows credentials. A refusal is a problem (RFC
// 9457) with a stable code.
//
//	server.go   Server, Options: routes, and the bounds of a connection
//	requests.go the routes of /v1
//	listener.go connections: how many at once, and of each client
//	read.go     what a request says: host, client, token, key, body, query
//	limits.go   rates by client and by credential
//	problem.go  answers
//
//	GET    /v1/key                   the key that receipts are signed with
//	POST   /v1/requests              {"action","url"} with Idempotency-Key: a request
//	GET    /v1/requests              the requests of one's origins: action, state, url, after, limit
//	GET    /v1/requests/{id}         one of them
//	DELETE /v1/requests/{id}         withdraws one
//	GET    /v1/requests/{id}/receipt what became of it, signed where the operator has a key for that
//
// On an address of their own, for the operator:
//
//	GET    /healthz                  whether the operator's ledger can be reached, and whether something is late
//	GET    /metrics                  for Prometheus
package web
