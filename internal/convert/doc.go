// Package convert translates between the languages in which publishers state permissions:
// conventional records, ACAP, and the newer vocabularies AIPREF, Content Signals, TDMRep and RSL. A
// result never permits what its source prohibits. Remarks list what is lost and where the result
// restricts more.
//
//	convert.go   ToACAP: conventional records as ACAP
//	back.go      ToConventional, the reverse; lost.go: what conventional records cannot express
//	settle.go    makes one language decide like the other
//	glob.go      the intersection of two patterns
//	prove.go     compares the decisions before and after
//
// The newer vocabularies:
//
//	newer.go     To: ACAP in a newer vocabulary; newer_from.go: From, the reverse
//	cells.go     the patterns of the source, and what the target should say at each
//	dialect.go   the words of each target; dialect_acap.go: those of ACAP
//	translation.go
//	             writes the target, reads it with its engine, and corrects it
//	differences.go, newer_case.go
//	             what is lost, and where the target restricts more
//	newer_prove.go
//	             compares the decisions before and after
package convert
