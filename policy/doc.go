// Package policy owns what is in force for an origin: it fetches robots.txt and the files that it
// refers to, keeps what it read, and builds the acap.Policy of a crawler from it.
//
// An origin is scheme, host and port (O12). Its robots.txt is read once, whoever asks and however
// many at a time, by the status table of RFC 9309 (O11): 2xx is read; 4xx but 429 means no
// restrictions; 429, 5xx and everything else prohibit everything until it can be read. Up to five
// redirects are followed, to other hosts too (X51). A permissions reference that cannot be read,
// for whatever reason, prohibits (D07).
//
// What was read is held in a Store and serves for Cache-Control max-age, at least five minutes and
// at most 24 hours, also in the next run; what could not be read is tried again after five minutes
// or Retry-After, and in every run. What is held is asked for by its ETag, or its date, and the
// answer that nothing has changed renews it. Each change makes a new Version, so that it can be
// told what was in force when.
//
//	authority.go   Authority: who asks, single flight, cache
//	settle.go      from a URL to an Origin: what is read again, what serves
//	read.go        one policy file: redirects, status, freshness
//	cache.go       the origins used last, built
//	store.go       Store, Version, Document; the store in memory
//	bolt.go        the store on disk
package policy
