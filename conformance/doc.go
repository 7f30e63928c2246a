// Package conformance holds the decision oracle and the project's corpus of cases.
//
// A case is a tiny web, a crawler and a question; an answer says what may be done, by which field,
// under which limits. Decide goes through the very code that crawls: policy.Authority reads
// robots.txt and references, page reads the page, terms answers. Only the network is replaced, by
// the case's own web.
//
//	case.go    Case and Answer: the JSON of the oracle, read strictly
//	web.go     the case's web as a fetcher
//	engine.go  Engine: from case to answer
//	corpus.go  the corpus: cases as files named by paragraph or reading, each with its reason
//	requirements.go, coverage.go
//	           what the documents demand, by which cases it is shown, and the page that says so
//	site.go    the small newspaper that demo crawls; package course has the site that tests crawlers
//	audit.go   AuditSiteOf: what a publisher's site says, and what that comes to; audit_report.go is the form of that, audit_sample.go
//	           chooses the pages, audit_effects.go holds the matrix and the contradictions, audit_said.go what is said to whom, and what
//	           a crawler without ACAP makes of it; audit_text.go, audit_html.go and audit.html write it
//	run.go     Run: asks an engine the corpus; run_command.go and run_process.go one that is another program, run_cases.go reads
//	           corpora in JSON Lines, run_tree.go and run_report.go put the results in order
package conformance
