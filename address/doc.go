// Package address has the forms in which this module writes addresses of the web, and classifies
// hosts. It makes no request and resolves no name.
//
// There are four forms, which differ because they answer different questions:
//
//	Normal     is it the same page? The form of the queue, of the archive and of action requests
//	Origin     which robots.txt governs it? Scheme, host and port; the key of policies
//	Endpoint   where is it dialled? Host and port, the port always written; the key of the gate's delays
//	Host       which queue is it in? The host of a normal form, with its port if not the default
//
// Domain is the registrable domain of a host, for the scope of a crawl.
//
// Two other packages write addresses with purposes of their own. Package page resolves links as
// their author wrote them: it keeps the spelling of paths, which a publisher's patterns are
// compared with. Package index writes the host of a site: clause, in which a host stands for those
// below it.
package address
