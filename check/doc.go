// Package check tells publishers how their words are read: what is wrong with a robots.txt, a page or a header and how to mend it, where
// two readings or two versions disagree, and what a conventional file says in ACAP.
//
//	report.go   Report: texts that were checked, and the findings about them
//	robots.go   a robots.txt, or a file that one refers to
//	page.go, header.go
//	            what a page, or the header of a response, says of itself
//	guess.go    what kind of text a file is
//	surface.go  Surface: all by which a site says what may be done with its pages; surface_page.go: a page, and what must be had to use it
//	lint.go     what is in order line by line, and still does not do what its author may expect: lint_fields.go and lint_rules.go (what has no
//	            effect beside others), lint_permissions.go, lint_records.go, lint_texts.go, lint_drift.go (two layers that
//	            differ); lint_patterns.go: what covers a whole pattern
//	reader.go   Document: a robots.txt, and the ways to read it: with ACAP, without, ACAP alone, and with a library:
//	            reader_temoto.go, reader_cause.go
//	differ.go   Compare: what two readings say differently; differ_ask.go: what there is reason to ask; differ_version.go: what
//	            changed beside permissions
//	convert.go  ToACAP: conventional records said in ACAP; convert_back.go: ToConventional, the other way round; convert_settle.go: one
//	            language made to decide as another; convert_glob.go: what two patterns have in common; convert_prove.go: both files
//	            compared; convert_lost.go: what conventional records have no words for
//	codes.go    what the codes of findings rest on
//	levels.go   Levels: severities, and findings that are suppressed, by configuration and by comments in a text
//	text.go     a report for a reader
//	sarif.go, junit.go, github.go
//	            a report for machines
//	fix.go, fix_lines.go
//	            Repair: what can be mended safely, in words and by moving lines
package check
