// Package policy determines the policy in force for an origin. It fetches robots.txt and the files
// that it refers to, stores them, and builds the acap.Policy of a crawler from them.
//
// RFC 9309 2.3 (O12): an origin is scheme, host and port. Concurrent callers share one request for
// its robots.txt. RFC 9309 2.3.1 (O11): 2xx is read; 4xx except 429 means no restrictions; 429, 5xx
// and everything else prohibit everything until robots.txt can be read. RFC 9309 2.3.1.2 (X51): up
// to five redirects are followed, also to other hosts. P1 2.3.2 (D07): if a permissions reference
// cannot be read, for any reason, everything is prohibited for the crawlers that it concerns.
//
// Files are stored in a Store, also for later runs. A file is fresh for the max-age of its
// Cache-Control, at least five minutes and at most 24 hours. A file that could not be read is tried
// again after five minutes or Retry-After, and in every run. A stored file is revalidated with its
// ETag or Last-Modified; the answer 304 makes it fresh again. Each change is stored as a new
// Version, which shows what was in force when.
//
//	authority.go   Authority: shares one reading between concurrent callers, cache
//	origin.go      Origin: from stored and fetched files
//	read.go        one policy file: redirects, status, freshness
//	cache.go       the most recently used origins
//	why.go         why a file could not be read, for every reader
//	store.go       Store, Version, Document; the store in memory
//	bolt.go        the store on disk
//	through.go     a Fetcher that sends its requests through a gate
//	vocabularies.go the vocabularies that came after ACAP, for acap.Crawler
package policy
