// Package warc reads and writes WARC files (ISO 28500:2017, WARC 1.1; 1.0 is read too) and writes CDXJ, the index that replay tools
// read beside them. It is a codec and nothing else: it opens no file, knows no policy, and keeps nothing.
//
// A WARC file is a row of records, each with named fields and a block; where it is compressed, each record is a gzip member of its
// own (annex D). A Reader gives one record after the other. What is broken is a *Damage that says where and what, and the Reader goes
// on with the next record it can find. A Writer writes records with their digests and says where each of them stands.
//
//	record.go   named fields and records
//	reader.go   records from a stream, compressed or not, and what follows a broken one
//	source.go   the stream under it, which can go back a little
//	message.go  the HTTP message in a block: head, transfer coding, payload
//	digest.go   labelled digests, in any of the ways they are written
//	writer.go   records into a stream
//	cdxj.go     lines of the index, as warcio's cdx-index prints them
//	surt.go     the keys of these lines, as pywb computes them
package warc
