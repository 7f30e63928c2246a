// Package warc reads and writes WARC files (ISO 28500:2017, WARC 1.1; it also reads WARC 1.0). It
// writes CDXJ, the index that replay tools read. It only converts formats: it opens no files, knows
// no policies and stores nothing.
//
// A WARC file is a sequence of records. Each has named fields and a block. In a compressed file
// each record is a gzip member of its own (annex D). A Reader returns one record after the other.
// It reports a broken record as *Damage with place and cause, and continues with the next record
// that it can find. A Writer writes records with their digests and returns the place of each.
//
//	record.go   named fields and records
//	reader.go   records from a stream, compressed or not, and the search after a broken one
//	source.go   the underlying stream, which can be rewound a little
//	message.go  the HTTP message in a block: head, transfer coding, payload
//	digest.go   labelled digests in their different notations
//	writer.go   writes records to a stream
//	cdxj.go     lines of the index, as warcio's cdx-index prints them
//	surt.go     the keys of these lines, as pywb computes them
package warc
