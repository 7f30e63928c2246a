// Package segment writes and reads the segments of package index: files in the format zap 17 of
// bleve, written by our own builder, read by our own code, and merged by bleve.
//
// # Why it exists
//
// bleve alone can do what this package does. It is here for three reasons, all measured with the
// benchmarks of package index (BenchmarkBesideBleve, BenchmarkQueries, BenchmarkSize) and of bench:
//
//   - Indexing: zapx builds a segment from maps of objects, several for each word. The builder
//     sorts numbers instead, and a batch takes a fraction of the time and of the memory.
//   - Size: zapx needs six bytes or more for each position. Positions are packed here (spots.go) so
//     that the whole index is smaller than the text.
//   - Searching: the searchers and the collector of bleve make an object for each document and term
//     that they visit. Walk and Cursor read the lists several times as fast. Phrases need the Form
//     of each word too, for which bleve has no place.
//
// If a later version of bleve makes these reasons void, delete this package and use plain bleve:
// the reference in the differential test of package index shows how.
//
// # What it assumes
//
// Written for and tested with
//
//	github.com/blevesearch/bleve/v2 v2.6.1
//	github.com/blevesearch/bleve_index_api v1.4.1
//	github.com/blevesearch/scorch_segment_api/v2 v2.4.10
//	github.com/blevesearch/vellum v1.2.0
//	github.com/blevesearch/zapx/v17 v17.2.3
//
// It assumes of them:
//
//   - scorch builds, opens and merges segments through scorch.SegmentPlugin, and passes it the map
//     "segmentConfig" of the index (format.go).
//   - zap.InitSegmentBase accepts a segment in memory that has the layout of zap 17: stored values,
//     dictionaries, lists, fields. The builder writes that layout (builder.go, chunks.go); roaring
//     bitmaps of up to 4096 documents are written as one array container.
//   - Lists are cut into parts by chunk mode 1026 (zap.DefaultChunkMode), also by zapx when it
//     merges.
//   - A term that occurs once in one document has no list; its dictionary entry holds document and
//     norm (zap.FSTValEncode1Hit).
//   - Merging copies norms and frequencies unchanged, and writes locations again as the numbers
//     that it read. The packing of positions depends on it: they are in bits of the norm, or in one
//     location.
//   - scorch limits the file size of merged segments if they report the statistic num_vectors, and
//     uses this statistic for nothing else.
//   - zap.Segment has Data, the whole file, and DictAddr, the offset of a dictionary of vellum
//     behind its length. They are helpers of the command-line tool of zapx.
//
// A failed merge is reported to package index: bleve alone repeats it without end (MergeFailedKey).
//
// # When bleve is upgraded
//
// Run the tests of this package and of package index. TestSegments compares what segments hold with
// what was put in, built and merged. TestDifferential compares the hits of random queries in random
// documents of many languages with those of plain bleve. TestVersions then fails until the list
// above names the new versions. Run the benchmarks too.
//
// If zapx introduces a new format (zap 18), nothing changes here: segments stay zap 17 as long as
// bleve ships that plugin. If it is removed, write the builder and the readers for the new layout,
// change index.Version, and the index is built again from the archive.
package segment
