// Package web is the HTTP server in front of package view: it knows who sends a request, and limits what a client may
// do. Publishers submit action requests through it (P1 2.6), and the operator gets health and metrics.
//
// All HTTP requests are limited in size and time. Before the body is read, the server checks in
// this order: Host header, request rate of the client, path, method, rate of failed
// authentications, and rate of the credential. A Backend answers the request; only the Backend
// knows the credentials. A request is refused with a problem document (RFC 9457), whose code does
// not change between versions.
//
//	server.go   Server, Options: routes, limits of a connection
//	requests.go handlers of /api/v1/requests
//	readers.go  finds out who answers a request, and who the reader is
//	login.go    pages of the login; checks of forms
//	failures.go failed logins and tokens of each client
//	session.go  sessions and their cookie
//	password.go hashes of the operator's password
//	ledger.go   pages of requests: list, receipt, forms to submit and to withdraw
//	audit.go    who logged in and changed something
//	replay.go   host names below the replay domain
//	listener.go connections: limits in total and for each client
//	read.go     reads host, client, token, key, body and query of a request
//	limits.go   rates for each client and each credential
//	problem.go  answers
//
// The routes for publishers:
//
//	GET    /api/v1/key                   the public key of receipts
//	POST   /api/v1/requests              {"action","url"} with Idempotency-Key: submits a request
//	GET    /api/v1/requests              lists requests: origin, action, state, url, since, standing,
//	                                     after, limit
//	GET    /api/v1/requests/{id}         one request
//	DELETE /api/v1/requests/{id}         withdraws a request
//	GET    /api/v1/requests/{id}/receipt the receipt of a request, signed if the operator has a key
//
// The routes for the operator, on another address:
//
//	GET    /readyz                   whether readers can be answered
//	GET    /healthz                  whether the ledger can be used and nothing is overdue
//	GET    /metrics                  for Prometheus
package web
