// Package gate is the one way to the network. A Gate is an http.RoundTripper that owns the only
// real transport; pages, robots.txt, references, sitemaps and required resources all pass it, and
// nothing is sent that it has not admitted.
//
// Each hop goes through the same steps, in this order:
//
//	method and scheme   GET and HEAD, http and https                               rules.go
//	address             not loopback, private, link-local … unless it was named    address.go
//	policy              the origin's policy permits crawl (not for policy files)   gate.go
//	take-down           no request of its publisher bars it (not for policy files)     gate.go
//	budget              page requests, redirect hops included                      gate.go
//	politeness          slots and pauses per host, for requests of all kinds       hosts.go, resolve.go
//	signature           if there is a key                                          sign.go
//	policy, take-down   again, from what is in memory: both may have changed       gate.go
//	send                HTTP/1.1 or, over TLS, HTTP/2; time-out; no Referer        send.go, connection.go
//	capture             heads and wire bytes as sent, decoded body, caps           head.go, body.go
//
// Redirects are never followed inside RoundTrip, so each hop of a chain is judged. A refusal is a
// *Refusal and can be found with errors.As through http.Client and url.Error. What a hostile server
// answers ends as one Hop or one error, in bounded time and memory; internal/faults lists it.
// Proxies named in the environment are not used.
package gate
