// Package preference reads the vocabularies in which publishers state, after ACAP, how their
// resources may be used: AIPREF (Content-Usage), Content Signals, TDMRep, noai and the data mining
// term of PLUS. Each is an acap.Vocabulary with its own rules; package acap combines their
// verdicts: prohibit, agreement, permit, unknown, the strictest first.
//
// They speak about the four newer usages (train-ai, ai-use, ai-index, tdm) and about search, that
// is index, present-link, present-snippet and present-oldsnippet. They never change crawl or
// follow.
//
// CheckRobots, CheckTDMRep and CheckLicence return the findings about the texts of a publisher, for
// all crawlers; Corrected returns a statement as its author meant it.
//
// Like acap, this package does no I/O: Files names the files that a vocabulary needs, and package
// policy reads them.
package preference
