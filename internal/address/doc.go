// Package address converts web addresses into the forms that this module uses, and classifies
// hosts. It makes no request and resolves no name.
//
// There are four forms, because they answer different questions:
//
//	Normal     is it the same page? The form of the queue, of the archive and of action requests
//	Origin     which robots.txt governs it? Scheme, host and port; the key of policies
//	Endpoint   where is it dialled? Host and port, the port always written; the key of the gate's delays
//	Host       which queue is it in? The host of a normal form, with its port if not the default
//
// Domain is the registrable domain of a host, for the scope of a crawl.
//
// Two other packages have forms of their own. Package page resolves links and keeps the spelling of
// their paths, because the patterns of publishers are compared with it. Package index writes the
// host of a site: clause, which also matches the subdomains of the host.
package address
