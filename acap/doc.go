// Package acap is the language of the Automated Content Access Protocol, version 1.1, with the Robots Exclusion Protocol beside it.
// It is pure: bytes go in, decisions come out; there is no I/O, no clock, no HTML and no package state.
//
// The protocol on one screen. In robots.txt a publisher writes records:
//
//	ACAP-version: 1.1                                          features of 1.1 follow (P1 2.8)
//	ACAP-resource-set: pictures *.gif *.jpg                    a definition (P1 2.7)
//	ACAP-crawler: *                                            a record, addressed to any crawler (P1 2.3)
//	ACAP-allow-index: /news/ time-limit=3-days                 a permission: usage, resources, qualifiers (P1 2.4.1)
//	ACAP-disallow-present: the-acap:resource-set:pictures      a prohibition (P1 2.4.2)
//	ACAP-usage-purpose: archive                                a sub-record, for one purpose (P1 2.3.3)
//	ACAP-allow-preserve: /
//	ACAP-request-take-down: /news/retracted.html               an action request (P1 2.6)
//
// and in a page, for that page or one element of it (P2):
//
//	<meta name="robots" content="ACAP allow-present-snippet max-length=30-words">
//	<p class="the-acap:disallow-index">
//
// The usages are crawl, follow, index, preserve, present and its eight types, and other. What nothing is said about is permitted;
// what is said but cannot be understood is prohibited.
//
// The one idea: every field, tag, token and header rule becomes a statement: polarity, usage, pattern, qualifiers, addressee,
// purpose, source, position. The order of evaluation:
//
//  1. Parse reads a file into fields with positions, records and definitions; findings tell what was wrong.
//  2. Policy gates each field by the version its document declares, replaces what the crawler cannot interpret, expands local
//     usages and resource sets, and keeps the statements that reach this crawler and its purposes.
//  3. Decide takes those of one usage whose pattern matches, drops the overridden (named before any, purpose before general),
//     keeps the narrowest, lets present-… meet present, and permits only if all that is left permits.
//  4. Narrow lets a page's own statements meet the result; Part answers for one element of the page.
//  5. RFC 9309 records bear on crawl and both layers must allow; conventional META and headers only restrict.
//  6. Limits says what still binds; At turns a limit that clock, history or reader do not meet into a refusal.
//
// Work is bounded by the size of what is read: a hostile file or page meets limits (maxStatements, maxQualifiers, maxOwn and the
// like) beyond which nothing is permitted, never everything.
//
// Reading the source: usage.go and field.go (the words), parse.go, words.go, record.go, define.go, file.go and version.go (a file),
// pattern.go, resources.go, purpose.go and lookup.go (matching), qualifier.go, required.go, target.go and plus.go (annex A as a
// table), expand.go and usages.go (fields to statements), policy.go, admit.go and rep.go (what reaches us), decide.go and verdict.go
// (who wins), trace.go and its neighbours (what lost, and why), cannot.go (what a crawler may be unable to interpret), narrow.go, tags.go, header.go, part.go and pilot.go (pages), facts.go,
// bounds.go, changes.go and context.go (limits), action.go (requests), statements.go (what a file says to anyone), report.go and findings.go (findings). Comments name paragraphs: P1 and P2 are the two parts of the
// specification, PILOT the draft that came before Part 2, REP the Robots Exclusion Protocol, RTAG the Robots-Tag draft; a letter with
// two digits (F07, X35) is one of the project's own readings where the documents leave a choice.
package acap
