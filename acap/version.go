package acap

import (
	"fmt"
	"strconv"
	"strings"
)

// version is the ACAP version that a document declares (P1 2.8, P2 2.2.7).
type version struct {
	declared     string // the first value, as written
	major, minor int
	state        versionState
}

type versionState uint8

const (
	undeclared  versionState = iota // gating of 1.0
	understood                      // 1.n
	unsupported                     // another major version (P1 2.8, B05)
	unclear                         // malformed or contradictory: features of 1.1 fall back (P1 2.8, B04, B07)
)

// gating is how a field is treated under a version.
type gating uint8

const (
	interpret gating = iota
	// P1 2.8 (B01): without a version a field with a 1.1 feature is ignored; strict mode prohibits;
	// P2 2.2.7 (B10): the whole field is ignored, not its new qualifier alone
	ignoreIt
	prohibitIt // P1 2.8 (B07): any other malformed version
)

// readVersion reads "n.m"; "n" is n.0 and a third number is dropped (P1 2.8, B07, X56).
func readVersion(s string) version {
	v := version{declared: s, state: unclear}
	parts := strings.Split(s, ".")
	numbers := make([]int, 0, 3)
	for _, p := range parts {
		if _, ok := digits(p); !ok || len(p) > 4 {
			return v
		}
		n, _ := strconv.Atoi(p)
		numbers = append(numbers, n)
	}
	v.major = numbers[0]
	if len(numbers) > 1 {
		v.minor = numbers[1]
	}
	switch {
	case v.major == 0:
	case v.major == 1:
		v.state = understood
	default:
		v.state = unsupported
	}
	return v
}

// with combines v with a further declaration in the same document. The first governs, except that
// features of 1.1 fall back if the two would treat them differently, and that an unsupported major
// version governs (P1 2.8, B04, X56).
func (v version) with(w version) version {
	switch {
	case v.state == undeclared:
		return w
	case v.state == unsupported || w.state == unsupported:
		v.state = unsupported
	case v.state == unclear || w.state == unclear || v.newer() != w.newer():
		v.state = unclear
	}
	return v
}

// read combines v with a further declaration of the same document, and reports what is wrong with
// it.
func (v version) read(tell *reporter, field *Field, value string) version {
	w, at := readVersion(value), field.at(value)
	switch {
	case w.state == unclear:
		tell.report(at, "malformed-version", Error, "declare ACAP version 1.1",
			"%q is not a version of ACAP: what is new in 1.1 counts as not understood", value)
	case w.state == unsupported:
		tell.report(at, "unsupported-major", Error, "declare ACAP version 1.1",
			"ACAP version %s is not supported: permissions do not count", value)
	case w.minor > 1:
		tell.report(at, "unknown-minor", Notice, "declare ACAP version 1.1",
			"ACAP version %s is read as 1.1: what is new in it is not known", value)
	case w.String() != value:
		tell.report(at, "version-form", Notice, "write "+w.String(), "%s is read as %s", value, w.String())
	}
	if v.state != undeclared && v.declared != value {
		tell.report(at, "contradictory-version", Error, "declare one version", "version %s is declared already",
			v.declared)
	}
	return v.with(w)
}

// newer reports whether features of 1.1 are declared.
func (v version) newer() bool { return v.state == understood && v.minor >= 1 }

// gate returns how a permission is treated. newer means that it uses features of 1.1.
func (v version) gate(newer, strict bool) gating {
	switch {
	// an unsupported major version is treated in permit (P1 2.8, B05)
	case !newer || v.newer() || v.state == unsupported:
		return interpret
	case v.state == unclear || strict:
		return prohibitIt
	}
	return ignoreIt
}

func (v version) String() string {
	switch v.state {
	case undeclared:
		return ""
	case unclear:
		return v.declared
	}
	return fmt.Sprintf("%d.%d", v.major, v.minor)
}
