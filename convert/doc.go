// Package convert translates between the languages in which publishers state permissions:
// conventional records and ACAP.
//
//	convert.go   ToACAP: conventional records as ACAP
//	back.go      ToConventional, the reverse; lost.go: what conventional records cannot express
//	settle.go    makes one language decide like the other
//	glob.go      the intersection of two patterns
//	prove.go     compares the decisions before and after
package convert
