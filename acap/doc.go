// Package acap decides what a publisher permits: by the Automated Content Access Protocol, version
// 1.1, together with the Robots Exclusion Protocol and other vocabularies. It is pure: it turns
// bytes into decisions, without I/O, clock, HTML or package state.
//
// In robots.txt a publisher writes records:
//
//	ACAP-version: 1.1                          features of 1.1 follow (P1 2.8)
//	ACAP-resource-set: pictures *.gif *.jpg    a definition (P1 2.7)
//	ACAP-crawler: *                            a record for any crawler (P1 2.3)
//	ACAP-allow-index: /news/ time-limit=3-days   a permission with a qualifier (P1 2.4.1)
//	ACAP-disallow-present: the-acap:resource-set:pictures   a prohibition (P1 2.4.2)
//	ACAP-usage-purpose: archive                a sub-record, for one purpose (P1 2.3.3)
//	ACAP-allow-preserve: /
//	ACAP-request-take-down: /news/retracted.html            an action request (P1 2.6)
//
// In a page there are statements for the page, or for one element of it (P2):
//
//	<meta name="robots" content="ACAP allow-present-snippet max-length=30-words">
//	<p class="the-acap:disallow-index">
//
// The usages are crawl, follow, index, preserve, "present" with eight types based on it, and
// "other". A usage that no statement mentions is permitted. A usage whose statement cannot be
// understood is prohibited.
//
// Every field, tag and class token becomes statements. A statement has a polarity, a usage, a
// pattern of paths, qualifiers, an addressee, a purpose, and the field it comes from. They are
// evaluated in this order:
//
//  1. Parse reads a file into fields with positions, records and definitions. Findings say what is
//     wrong with it.
//  2. File.Policy checks each field against the version that its file declares, replaces what the
//     crawler cannot interpret, expands local usages and resource sets, and keeps the statements
//     that address the crawler and its purposes.
//  3. Policy.Decide takes the statements of one usage whose pattern matches the resource. It drops
//     those that others override: a field for a named crawler overrides a field for any crawler,
//     and a field for a purpose overrides a general field. It keeps the narrowest patterns, and
//     compares types based on "present" with "present" itself. It permits the usage only if all
//     remaining statements permit it.
//  4. Policy.Narrow adds the statements of a page. Policy.Part answers for one element of it.
//  5. Vocabularies can restrict the result: RFC 9309 records, conventional tags and headers, and
//     those of Crawler.Vocabularies.
//  6. Decision.Limits returns the limits of a permitted usage. Decision.At refuses a usage if the
//     clock, the history or the reader do not meet a limit.
//
// The work grows only with the size of the input. If an input exceeds maxStatements, maxQualifiers,
// maxOwn or a similar limit, nothing is permitted.
//
// To read the source, begin with usage.go and field.go (usages and fields). Then:
//
//   - parse.go, parse_line.go, words.go, record.go, define.go, file.go, version.go: files to fields
//   - pattern.go, resources.go, purpose.go, lookup.go: matching
//   - qualifier.go, required.go, target.go, plus.go: the qualifiers of annex A as a table
//   - expand.go, usages.go, usages_behind.go, cannot.go: from fields to statements
//   - policy.go, admit.go: the statements that address a crawler
//   - decide.go, statement_set.go: the decision
//   - vocabulary.go, site.go, rep.go, tags.go: the other vocabularies
//   - recorder.go, trace.go and the other trace files: which fields lost, and why
//   - narrow.go, narrow_tag.go, header.go, part.go, pilot.go: pages and their elements; stages.go:
//     pages that scripts change
//   - facts.go, bounds.go, changes.go, context.go: limits
//   - action.go: requests; statements.go: statements for any crawler; report.go, findings.go
//
// Comments name paragraphs: P1 and P2 are the parts of the specification, PILOT the draft before
// Part 2, REP the Robots Exclusion Protocol, RTAG the Robots-Tag draft. A letter with two digits
// (F07) is one of the project's own readings, where the documents leave a choice.
package acap
