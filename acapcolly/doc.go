// Package acapcolly makes a Colly collector obey what publishers permit: ACAP, robots.txt (RFC 9309), META robots,
// X-Robots-Tag, Robots-Tag and the newer vocabularies of package preference.
//
//	c := colly.NewCollector(colly.UserAgent("examplebot/1.0 (+https://example.org/bot)"))
//	permissions, err := acapcolly.Attach(c, acapcolly.Options{})
//
// Attach comes before callbacks are registered. If it returns an error, the collector makes no request at all.
//
// From then on
//
//   - each request of the collector passes a gate.Gate, redirects included: the policy of the origin, its take-downs,
//     its Crawl-delay and Retry-After, and the rule that private addresses are not requested unless a seed names
//     their host;
//   - a page whose own META or header fields prohibit crawl reaches no OnResponse, OnHTML or OnXML callback;
//   - a link is requested only if a page that has it permits following it;
//   - a refusal arrives in OnError, and in synchronous mode also in the result of Visit. errors.As finds a
//     *gate.Refusal or a *LinkRefusal in it, whose text names the line that decided;
//   - Permissions.Terms returns what may be done with a page that was received, and Permissions.OnHTML calls a callback
//     only for the parts that a usage may read.
//
// # What Attach changes
//
// Attach sets these parts of the collector, because they would avoid the gate or contradict it:
//
//	transport           the gate sends all requests. WithTransport, SetProxy and SetProxyFunc replace it, and
//	                    SetClient replaces the whole client; if one of them is called after Attach, every request
//	                    fails with an error that says so. A proxy is named in Options.Proxy.
//	IgnoreRobotsTxt     set: the gate evaluates robots.txt, with ACAP, and Colly would request it once more
//	CacheDir            unset: a cached page would be shown without asking its publisher again
//	request timeout     unset: it would count the time that a request waits for the pace of its host.
//	                    Options.Timeout limits each request from the connection to the end of the body.
//	MaxBodySize         the value at the time of Attach limits bodies for all collectors; 0 counts as 32 MiB
//	redirects           the answer of a redirect that is not followed has no body, because it was not judged
//
// Some request header fields are always those of the gate: User-Agent, for which the policy is evaluated,
// Accept-Encoding and Referer (none). Requests other than GET and HEAD are refused, because permissions say nothing
// about them.
//
// Everything else works as before: Async, LimitRule (which can only make the crawl slower than the gate), MaxDepth,
// MaxRequests, AllowedDomains and URL filters, the storage, the queue, cookies, redirect handlers, DetectCharset,
// TraceHTTP and the context of the collector. A clone of the collector has no callbacks, so it needs a
// Permissions.Attach of its own; until then its requests fail.
//
// # Limits
//
// Colly does not say which page a requested link is from. So the package remembers the links of all pages that it has
// seen: a link is refused if at least one page refuses it and none permits it. If a page permits it later, it is then
// requested, as the callback had asked. An address that the program itself builds, and that is no link of a page, is
// treated like a start address.
package acapcolly
