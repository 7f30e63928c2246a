// Package cdx implements the CDX server API, with which other programs list the versions of pages
// in an archive. Parameters and outputs are those of pywb's CDX server (its documentation: CDXJ
// Server API). The package has no network, no clock and no storage: Parse reads the parameters of a
// request, Query.Ranges says which records the caller must provide, and Query.Write filters, sorts
// and writes them. The caller must provide only records that may be shown to the reader.
//
//	query.go  Query, Parse: the parameters of a request
//	error.go  Error: a parameter that cannot be obeyed
//	range.go  the keys that a query asks for
//	addresses.go the addresses and origins that a query asks for
//	filter.go the parameter filter
//	record.go Record and its fields
//	select.go time, filters, order, limit and pages
//	write.go  the outputs cdxj, json, text and link
//
// Differences from pywb: unknown parameters and values are errors; the fields filename and offset
// do not exist, because they reveal how records are stored; regular expressions are those of RE2,
// of at most 256 bytes; a block of the parameters page, pageSize and showNumPages is one record.
//
// Memory: records are written one by one as the caller provides them. Only sort holds records, at
// most 10,000 or 8 MiB; a query that needs more is an error.
package cdx
