// Package view answers readers of an archive: with HTML pages, copies, feeds and a JSON API. It only
// reads. Everything that it shows of a page comes from a Presenter, which
// decides by the publisher's terms what this reader may see.
//
//	handler.go  Handler and its routes
//	visitor.go  Visitor: who sends a request
//	target.go   the address of a page and the time within a path
//	problem.go  refusals, and what they look like as a page and as JSON
//	page.go     templates, the frame of every page, ETag
//	frame.go    Frame: the pages of the server in front of Handler
//	search.go   results of a search, and why there are none
//	form.go     the parameters of a search
//	result.go   one result
//	memento.go  the versions of a page as package memento names them
//	timegate.go TimeGate and TimeMap (RFC 7089)
//	cdx.go      the CDX server API
//	listing.go  lists of versions, described for other processes
//	feed.go     Atom feeds of new versions and matches
//	finding.go  how programs use this server: OpenSearch, robots.txt
//	versions.go the versions of a page; timeline.go: a picture of their numbers
//	choose.go   which version answers a time, and where a browser shows it
//	raw.go      a copy itself, and its header
//	sent.go     how the bytes of a copy are sent: as they are or rewritten, to show or to save
//	copy.go     the viewer: a copy in a frame, with a banner
//	follow.go   a click in the frame of the viewer
//	replay.go   unmodified copies below the replay domain
//	turns.go    limits on work that takes long
//	thumbnail.go the thumbnail of a version
//	compare.go  the text of two versions, compared by passages.go and diff.go
//	sites.go    the list of sites and the home page; site.go: one host; policydiff.go: versions of a
//	            policy compared; changes.go: the differences as pages show them
//	explain.go  the policy explorer; explain_form.go: what was asked; explain_fields.go: the fields of the
//	            forms; explain_answers.go: the answers; explain_source.go: the texts with the lines that
//	            decide; explain_findings.go: findings about lines; explain_compare.go: two files compared
//	usage.go    usages and verdicts in plain words
//
//	openapi.json   the OpenAPI document of the API
//	document.go    reads it
//	parameters.go  checks the parameters of requests by it
//	api.go         the routes of the API
//	api_decide.go  the policy engine as a route
//	api_sites.go   sites as JSON
//	api_explain.go explanations as JSON
//	docs.go        the document as a page
//
// A server in front of Handler checks the Host header, rates and sizes, and names the Visitor with
// WithVisitor. Handler may therefore run in another process than the server, next to the open archive.
package view
