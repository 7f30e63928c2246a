package acap

import (
	"fmt"
	"strconv"
	"strings"
)

// version is the ACAP version that a document declares (P1 2.8, P2 2.2.7).
type version struct {
	declared     string // the value of the first declaration, as written
	major, minor int
	state        versionState
}

type versionState uint8

const (
	undeclared  versionState = iota // no version is declared, so features of version 1.1 have no effect
	understood                      // the version is 1.0 or a later 1.n
	unsupported                     // the major version is not 1 (P1 2.8, B05)
	// malformed or contradictory, so permissions with features of version 1.1 become prohibitions
	// (P1 2.8, B04, B07)
	unclear
)

// gating is how a permission is treated under a version.
type gating uint8

const (
	interpret gating = iota
	// P1 2.8 (B01): without a version, a field with a feature of version 1.1 is ignored; in the
	// strict variant it prohibits; P2 2.2.7 (B10): the whole field is ignored, not only its new
	// qualifier
	ignoreIt
	prohibitIt // P1 2.8 (B07): the version is malformed, so a permission with a feature of version 1.1 is a prohibition
)

// readVersion parses "n.m". "n" means n.0, and a third number is ignored (P1 2.8, B07, X56).
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

// with combines v with a further declaration w in the same document. The first declaration is in
// force, with two exceptions: features of version 1.1 become prohibitions if v and w treat them
// differently, and an unsupported major version is always in force (P1 2.8, B04, X56).
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

// read combines v with a further declaration of the same document, and reports problems with it.
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

// newer reports whether the version is 1.1 or a later 1.n.
func (v version) newer() bool { return v.state == understood && v.minor >= 1 }

// gate returns how a permission is treated. newer means that the permission uses features of
// version 1.1.
func (v version) gate(newer, strict bool) gating {
	switch {
	// P1 2.8 (B05): expander.permit handles unsupported major versions
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
