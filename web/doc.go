// Package web is the HTTP server through which publishers submit action requests (P1 2.6), and
// through which the operator gets health and metrics.
//
// All HTTP requests are limited in size and time. Before the body is read, the server checks in
// this order: Host header, request rate of the client, path, method, rate of failed
// authentications, and rate of the credential. A Backend answers the request; only the Backend
// knows the credentials. A request is refused with a problem document (RFC 9457), whose code does
// not change between versions.
//
//	server.go   Server, Options: routes, limits of a connection
//	requests.go handlers of /v1
//	listener.go connections: limits in total and for each client
//	read.go     reads host, client, token, key, body and query of a request
//	limits.go   rates for each client and each credential
//	problem.go  answers
//
// The routes for publishers:
//
//	GET    /api/v1/key                   the public key of receipts
//	POST   /api/v1/requests              {"action","url"} with Idempotency-Key: submits a request
//	GET    /api/v1/requests              lists requests: action, state, url, after, limit
//	GET    /api/v1/requests/{id}         one request
//	DELETE /api/v1/requests/{id}         withdraws a request
//	GET    /api/v1/requests/{id}/receipt the receipt of a request, signed if the operator has a key
//
// The routes for the operator, on another address:
//
//	GET    /healthz                  whether the ledger can be used and nothing is overdue
//	GET    /metrics                  for Prometheus
package web
