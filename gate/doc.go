// Package gate is the only way to the network. A Gate is an http.RoundTripper that owns the only
// real transport. All requests pass through it, for pages, robots.txt, references, sitemaps and
// required resources, and it sends nothing that it has not admitted.
//
// Each request, those after a redirect included, goes through the same steps in this order:
//
//	method and scheme   GET and HEAD, http and https                               rules.go
//	lease               this machine holds the lease of the host, if several crawl     lease.go
//	address             no loopback, private, link-local … address, unless named   address.go
//	policy              the origin's policy permits crawl (not for policy files)   gate.go
//	take-down           no take-down is in force (not for policy files)            gate.go
//	budget              page requests, those after a redirect included             gate.go
//	politeness          slots and pauses per host, for requests of all kinds       hosts.go, rest.go, resolve.go
//	signature           if there is a key                                          sign.go
//	lease               again, before the dial and when a connection is chosen     address.go
//	policy, take-down   again, without a request: both may have changed            gate.go
//	lease               again, before each write to the network                    lease.go
//	send                HTTP/1.1 or, over TLS, HTTP/2; no Referer, no Range        send.go, connection.go
//	capture             heads and body as sent, decoded body, size limits          head.go, body.go
//
// If another machine owns the host, a page request is refused, and any other request is passed to
// the owner as an Errand, which goes through all these steps there (errand_pass.go, errand.go).
//
// RoundTrip follows no redirects, so each hop of a redirect chain is checked. A refusal is a
// *Refusal, which errors.As finds in the errors of http.Client and in url.Error. Whatever a hostile
// server answers, the result is one Hop or one error, in bounded time and memory; package
// internal/test/faults lists such answers. Proxies named in the environment are not used; see Options.Proxy.
package gate
