// Package conformance holds the decision oracle and the project's corpus of cases.
//
// A case is a tiny web, a crawler and a question; an answer says what may be done, by which field,
// under which limits. Decide goes through the very code that crawls: policy.Authority reads
// robots.txt and references, page reads the page, terms answers. Only the network is replaced, by
// the case's own web.
//
//	case.go    Case and Answer: the JSON of the oracle, read strictly
//	web.go     the case's web as a fetcher
//	engine.go  Decide: from a case to its answer
//	oracle.go  Oracle: answers cases in JSON Lines
//	corpus.go  the corpus: cases as files named after a paragraph or reading, each with its reason
//	requirements.go
//	           the statements of the documents, the cases that show them, and the page about them
//	site.go    the small newspaper that demo crawls; package course has the site that tests
//	           crawlers
//	audit.go   AuditSiteOf: the statements of a publisher's site and their effects; audit_report.go
//	           is the form of the report, audit_sample.go chooses the pages, audit_effects.go holds
//	           the matrix and the contradictions, audit_said.go the statements by addressee and
//	           what a crawler without ACAP makes of them; audit_text.go, audit_html.go and
//	           audit.html write the report
//	run.go     Run: runs the corpus against an engine; run_command.go and run_process.go against
//	           another program; run_cases.go reads corpora in JSON Lines; run_tree.go and
//	           run_report.go arrange the results
package conformance
