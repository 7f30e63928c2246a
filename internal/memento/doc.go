// Package memento implements the part of RFC 7089 (Memento) that needs no server: datetimes, the
// choice of a version, the headers of TimeGates and mementos, and TimeMaps. It has no network, no
// clock and no storage. The caller decides which versions exist and which of them a reader may see:
// Versions must hold only versions that may be shown to this reader.
//
//	time.go     14-digit timestamps of addresses, and the dates of the headers (2.1.1)
//	versions.go Versions: which version answers a time, and which versions are next to it (4.5.3)
//	link.go     Link: one link of a Link header or of a TimeMap (2.2; RFC 8288 3)
//	header.go   Page: the headers of TimeGates, redirects and mementos (4.2.1, 4.5.7)
//	timemap.go  TimeMaps as application/link-format (5; RFC 6690) and JSON, in pages (5.1.1)
//
// RFC 7089 calls the address of the original page URI-R, that of a TimeGate URI-G, that of a
// TimeMap URI-T and that of a version URI-M. A TimeGate redirects a request with the header
// Accept-Datetime to a version. A TimeMap lists all versions.
package memento
