// Package acapcolly makes a Colly collector obey what publishers permit: ACAP, robots.txt (RFC 9309), META robots,
// X-Robots-Tag, Robots-Tag, and the newer vocabularies AIPREF, Content Signals, TDMRep, RSL, noai and PLUS.
//
//	c := colly.NewCollector(colly.UserAgent("examplebot/1.0 (+https://example.org/bot)"))
//	permissions, err := acapcolly.Attach(c, acapcolly.Options{})
//
// Attach comes before callbacks are registered. If it returns an error, all requests of the collector fail.
//
// From then on
//
//   - each request of the collector passes a gate.Gate, redirects included: the policy of the origin, its take-downs,
//     its Crawl-delay and Retry-After, and the rule that private addresses are not requested unless a seed names
//     their host;
//   - a page whose own META or header fields prohibit crawl reaches no OnResponse, OnHTML or OnXML callback;
//   - a link that a page refuses is not requested until another page permits following it (see Limits);
//   - a refusal arrives in OnError, and in synchronous mode also in the result of Visit. errors.As finds a
//     *gate.Refusal or a *LinkRefusal in it, whose text names the line that decided;
//   - Permissions.Terms returns what may be done with a page that was received, and Permissions.OnHTML calls a callback
//     only for the parts that a usage may read.
//
// # What Attach changes
//
//	transport           The gate sends all requests. A transport or proxy set before Attach, and HTTP_PROXY, are not
//	                    used; set Options.Proxy. After WithTransport, SetProxy, SetProxyFunc or SetClient, all requests
//	                    fail with an error that says so. Do not set a transport that sends requests without package
//	                    net/http: it may send them although they are not valid.
//	SetClient           Attach changes transport and time limit of a client that was set before. Give the collector a
//	                    client of its own, not http.DefaultClient.
//	IgnoreRobotsTxt     Set: the gate evaluates robots.txt. If the program unsets it, all requests fail.
//	CacheDir            Has no effect: a cached page would be shown without asking its publisher again.
//	request timeout     Unset: it would count the time that a request waits for the pace of its host.
//	                    Options.Timeout limits each request from the connection to the end of the body.
//	MaxBodySize         Limits what callbacks see. To judge a page, the gate receives up to 32 MiB of it, or MaxBodySize
//	                    at the time of Attach if that is more. Of a longer page, the rest is neither received nor
//	                    judged nor shown, and PageOf(r).Last().Truncated is true.
//	redirects           The answer of a redirect that is not followed has no body, because it was not judged.
//	OnResponseHeaders   Abort does not save the download: the gate has received the body before.
//	TraceHTTP           ConnectDuration is 0 if the connection was used before, for example for robots.txt.
//	visited addresses   Colly counts a request before the gate refuses it: as visited, also in the storage, against
//	                    MaxRequests, and for the Delay of a LimitRule. To ask again, for example when robots.txt was
//	                    not available, call Retry of the Request that OnError gets.
//	request header      User-Agent, Host and Accept-Encoding are those of the gate. Referer, Range, If-Range, Connection
//	                    and Upgrade are not sent: a part of a page, for example, does not show what the rest prohibits.
//	other methods       Requests other than GET and HEAD are refused, because permissions say nothing about them.
//	Wait                With several asynchronous collectors, call Permissions.Wait instead: a page that one collector
//	                    receives may permit a request of another one that was refused before.
//	Clone               A clone has no callbacks, so it needs a Permissions.Attach of its own. Until then, its requests
//	                    fail.
//
// Async, MaxDepth, AllowedDomains and URL filters, the queue, cookies, redirect handlers, DetectCharset and the context
// of the collector work as before, and a LimitRule can make the crawl slower than the gate does.
//
// # Limits
//
// Colly does not say which page a requested link is from. So the package remembers the links of all pages that it has
// seen: an address is refused if at least one page refuses it, none permits it, and it was not requested before. If a
// page permits it later, the refused request begins again. The consequences:
//
//   - A link that one page refuses and another one permits may be requested by the callback for the first page.
//   - An address that the program builds itself, or a start address that it visits later, is refused if it is a refused
//     link of a page. Name all start addresses in Options.Seeds.
//   - A page that refuses following also refuses every other attribute value that can be an address, such as those of
//     formaction and data-src. Addresses in text, scripts, JSON and XML elements other than those of feeds cannot be
//     attributed to a page. A callback that takes addresses from there must itself ask Terms about acap.Follow.
package acapcolly
