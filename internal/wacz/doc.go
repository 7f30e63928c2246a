// Package wacz reads and writes WACZ files: ZIP files with WARC files, an index of their records, a list of pages,
// and the digests of all these (WACZ 1.1.1, https://specs.webrecorder.net/wacz/1.1.1/). It only converts formats: it
// opens no files, knows no policies and stores nothing.
//
//	wacz.go    names and descriptions that both directions share
//	writer.go  writes a file, one entry after the other
//	reader.go  checks a file, and returns its WARC files
package wacz
