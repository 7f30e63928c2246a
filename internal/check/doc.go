// Package check explains to publishers how their text is read: mistakes in a robots.txt, a page or
// a header and how to correct them, and differences between two readings or two versions.
//
//	report.go   Report: checked texts, and the findings about them
//	robots.go   a robots.txt, or a file to which one refers
//	page.go, header.go
//	            the statements of a page, or of the header of a response
//	guess.go    the type of a text
//	preferences.go
//	            a tdmrep.json, a licence document, and headers with preferences;
//	            contradictions.go: vocabularies that contradict each other;
//	            surface_preferences.go: the files of a site
//	surface.go  Surface: everything by which a site states the use of its pages; surface_page.go: a
//	            page, and the resources that it requires
//	lint.go     text that is correct but does not do what its author may expect: lint_fields.go
//	            and lint_rules.go (no effect next to others), lint_permissions.go,
//	            lint_records.go, lint_texts.go, lint_drift.go (two layers that differ);
//	            lint_patterns.go: resources that represent a whole pattern
//	reader.go   Document: a robots.txt, and the ways to read it: with and without ACAP, ACAP
//	            alone, and with a library: reader_temoto.go, reader_cause.go
//	stored.go   a stored version of a policy as a Document
//	differ.go   Compare: what two readings decide differently; differ_ask.go: the questions;
//	            differ_version.go: other changes between versions; differ_preferences.go: what
//	            newer vocabularies say differently
//	codes.go    the paragraphs and readings behind the codes of findings
//	levels.go   Levels: severities and suppressed findings, by configuration and by comments
//	text.go     a report for readers
//	sarif.go, junit.go, github.go
//	            reports for programs
//	fix.go, fix_lines.go
//	            Repair: safe corrections of words and of the order of lines; fix_preferences.go:
//	            of preferences
package check
