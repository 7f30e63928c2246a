package conformance

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/pictures"
)

// pictureCase is a case about http://example.com/pictures/regatta, a picture that contains a
// licence.
type pictureCase struct {
	name, reason string
	// ^robots is the text after "ACAP-version: 1.1" and "ACAP-crawler: *", or the whole file if it
	// begins with "ACAP-version". A semicolon means a line break.
	robots  string
	picture []byte
	usages  string // the usages to decide; "": index
	now     string // the time of the case; "": 2026-01-05T12:00:00Z
	more    string // further JSON keys of the case
	other   string // text of a second policy file, /second.txt
	mime    string // media type of the picture; "": image/jpeg
	want    string // the expected decisions in JSON
}

const (
	byEnd     = "ACAP-allow-index: / time-limit=plus-terms"
	byCredit  = "ACAP-allow-present: / must-include-resource=plus-terms"
	byChanges = "ACAP-allow-present: / prohibited-modification=plus-terms"
	vocab     = "http://ns.useplus.org/ldf/vocab/"
)

func licence(attributes string, elements ...string) []byte {
	return pictures.JPEG(pictures.XMP(attributes, strings.Join(elements, "")))
}

func endDate(s string) string { return `plus:LicenseEndDate="` + s + `"` }

func creditLine(id string) string { return `plus:CreditLineRequired="` + vocab + id + `"` }

func alterations(ids ...string) string { return constraints("plus:ImageAlterationConstraints", ids) }

func fileConstraints(ids ...string) string { return constraints("plus:ImageFileConstraints", ids) }

func constraints(property string, ids []string) string {
	values := make([]string, len(ids))
	for i, id := range ids {
		values[i] = vocab + id
	}
	return pictures.Bag(property, values...)
}

// names returns the XMP property plus:CopyrightOwner or plus:Licensor with a list of names.
func names(property string, list ...string) string {
	items := ""
	for _, n := range list {
		items += `<rdf:li rdf:parseType="Resource"><plus:` + property + `Name>` + n + `</plus:` + property +
			`Name></rdf:li>`
	}
	return "<plus:" + property + "><rdf:Seq>" + items + "</rdf:Seq></plus:" + property + ">"
}

// allowed and refused return expected decisions.
func allowed(usage, limits string) string {
	return fmt.Sprintf(`"%s": {"allowed": true, "reason": "permission", "limits": %s}`, usage, limits)
}

func refused(usage, reason string) string {
	return fmt.Sprintf(`"%s": {"allowed": false, "reason": "%s"}`, usage, reason)
}

func until(usage, instant string) string { return allowed(usage, `{"until": "`+instant+`"}`) }

func credited(usage, text string) string {
	return allowed(usage, `{"must_include": ["the-acap:credit:text:`+text+`"]}`)
}

func unmodified(usage string, kinds ...string) string {
	return allowed(usage, `{"prohibited_modification": ["`+strings.Join(kinds, `", "`)+`"]}`)
}

var marsh = `photoshop:Credit="Ida Marsh"`

// pictureCases returns the files of the corpus about pictures, each with a comment and its cases.
func pictureCases() []struct {
	file, says string
	cases      []pictureCase
} {
	march := licence(endDate("2026-03-31"))
	fallback := refused("index", "fallback")
	first := until("index", "2026-04-01T00:00:00Z")
	return []struct {
		file, says string
		cases      []pictureCase
	}{
		{"PLUS-end", "the end date of an embedded licence\n\n" +
			"time-limit=plus-terms refers to plus:LicenseEndDate in the image for the limit. The end date itself\n" +
			"is within the licence, as with until-yyyy-mm-dd; without a zone it is UTC.", []pictureCase{
			{name: "date", reason: "the licence ends with the last day of March", robots: byEnd, picture: march,
				want: first},
			{name: "last-second", reason: "the end date is within the licence", robots: byEnd, picture: march,
				now: "2026-03-31T23:59:59Z", want: first},
			{name: "over", reason: "the licence has ended, and a permission that has ended is a prohibition",
				robots: byEnd, picture: march, now: "2026-04-01T00:00:00Z", want: refused("index", "expired")},
			{name: "none", reason: "the image has terms, but without an end date", robots: byEnd,
				picture: licence(creditLine("CR-NRQ")), want: fallback},
			{name: "no-terms", reason: "the image holds no licence terms", robots: byEnd, picture: licence(marsh),
				want: fallback},
			{name: "no-metadata", reason: "the image holds no metadata", robots: byEnd, picture: pictures.JPEG(),
				want: fallback},
			{name: "time", reason: "a time of day with a zone is the exact end of the licence", robots: byEnd,
				picture: licence(endDate("2026-03-31T18:30:00+02:00")), want: until("index", "2026-03-31T16:30:00Z")},
			{name: "time-over", reason: "at that instant the licence is over", robots: byEnd,
				picture: licence(endDate("2026-03-31T18:30:00+02:00")), now: "2026-03-31T16:30:00Z", want: refused(
					"index", "expired")},
			{name: "no-zone", reason: "a time without a zone is UTC", robots: byEnd,
				picture: licence(endDate("2026-03-31T18:30")), want: until("index", "2026-03-31T18:30:00Z")},
			{name: "minutes", reason: "seconds may be left out", robots: byEnd,
				picture: licence(endDate("2026-03-31T18:30+02:00")), want: until("index", "2026-03-31T16:30:00Z")},
			{name: "no-zone-seconds", reason: "a time without a zone is UTC", robots: byEnd,
				picture: licence(endDate("2026-03-31T18:30:15")), want: until("index", "2026-03-31T18:30:15Z")},
			{name: "month", reason: "a month does not say on which day the licence ends", robots: byEnd,
				picture: licence(endDate("2026-03")), want: fallback},
			{name: "no-date", reason: "the value is not an XMP date", robots: byEnd,
				picture: licence(endDate("31 March 2026")), want: fallback},
			{name: "impossible", reason: "the day does not exist", robots: byEnd,
				picture: licence(endDate("2026-02-30")),
				want:    fallback},
			{name: "two", reason: "two end dates contradict each other", robots: byEnd,
				picture: licence(endDate("2026-03-31"), "<plus:LicenseEndDate>2026-12-31</plus:LicenseEndDate>"),
				want:    fallback},
			{name: "twice", reason: "the same date twice is one date", robots: byEnd,
				picture: licence(endDate("2026-03-31"), "<plus:LicenseEndDate>2026-03-31</plus:LicenseEndDate>"),
				want:    first},
			{name: "preserve", reason: "a copy may be kept as long as the licence lasts",
				robots: "ACAP-allow-preserve: / time-limit=plus-terms", picture: march, usages: "preserve", want: until(
					"preserve", "2026-04-01T00:00:00Z")},
			{name: "present", reason: "a limit on present applies to the forms derived from it",
				robots: "ACAP-allow-present: / time-limit=plus-terms", picture: march,
				usages: "present-original present-thumbnail",
				want: until("present-original", "2026-04-01T00:00:00Z") + ", " + until("present-thumbnail",
					"2026-04-01T00:00:00Z")},
			{name: "other-usage", reason: "no field applies to preserve", robots: byEnd, picture: march,
				usages: "preserve", want: `"preserve": {"allowed": true, "reason": "default"}`},
			{name: "beside", reason: "plus-terms next to another limit is ignored, whatever the image holds",
				robots: byEnd + " time-limit=until-2026-01-31", picture: march, want: until("index",
					"2026-02-01T00:00:00Z")},
			{name: "beside-nothing", reason: "plus-terms next to another limit is ignored, " +
				"even if the image holds no terms", robots: byEnd + " time-limit=until-2026-01-31",
				picture: pictures.JPEG(), want: until(
					"index", "2026-02-01T00:00:00Z")},
			{name: "repeated", reason: "plus-terms twice is the same as once", robots: byEnd +
				" time-limit=plus-terms", picture: march, want: first},
			{name: "malformed", reason: "an invalid value next to plus-terms prohibits", robots: byEnd +
				" time-limit=soon", picture: march, want: fallback},
			{name: "beside-old", reason: "every second time-limit is a 1.1 feature, whatever its value",
				robots: "ACAP-version: 1.0;ACAP-crawler: *;" + byEnd + " time-limit=until-2026-01-31", picture: march,
				want: `"index": {"allowed": true, "reason": "default"}`},
			{name: "cannot", reason: "the crawler cannot interpret time limits at all", robots: byEnd, picture: march,
				more: `"cannot": ["time-limit"]`, want: fallback},
			{name: "unversioned", reason: "plus-terms is a feature of 1.1: without that version the permission is " +
				"ignored, and nothing else is said", robots: "ACAP-version: 1.0;ACAP-crawler: *;" +
				byEnd, picture: march, want: `"index": {"allowed": true, "reason": "default"}`},
		}},
		{"PLUS-place", "embedded terms and the other rules\n\n" +
			"If the image has the terms, a permission with plus-terms counts like any other; otherwise it is a\n" +
			"prohibition.", []pictureCase{
			{name: "narrower", reason: "the permission is narrower than the prohibition",
				robots: "ACAP-disallow-index: /;ACAP-allow-index: /pictures/ time-limit=plus-terms", picture: march,
				want: first},
			{name: "broader", reason: "the prohibition is narrower than the permission", robots: byEnd +
				";ACAP-disallow-index: /pictures/", picture: march, want: refused("index", "prohibition")},
			{name: "same-scope", reason: "with the same scope the prohibition wins", robots: byEnd +
				";ACAP-disallow-index: /", picture: march, want: refused("index", "conflict")},
			{name: "both", reason: "with the same scope the limits of both permissions apply", robots: byEnd +
				";ACAP-allow-index: / time-limit=until-2026-02-28", picture: march, want: until("index",
				"2026-03-01T00:00:00Z")},
			{name: "both-nothing", reason: "without terms one permission is a prohibition and counts next to the other",
				robots: byEnd + ";ACAP-allow-index: / time-limit=until-2026-02-28", picture: pictures.JPEG(),
				want: refused("index", "conflict")},
			{name: "elsewhere", reason: "the permission does not reach the image",
				robots: "ACAP-disallow-index: /;ACAP-allow-index: /charts/ time-limit=plus-terms", picture: march,
				want: refused("index", "prohibition")},
			{name: "named", reason: "the permission for this crawler by name overrides the prohibition for all",
				robots: "ACAP-disallow-index: /;ACAP-crawler: searchbot;" + byEnd, picture: march, want: first},
			{name: "unnamed", reason: "the prohibition for this crawler by name overrides the permission for all",
				robots: byEnd + ";ACAP-crawler: searchbot;ACAP-disallow-index: /", picture: march, want: refused(
					"index", "prohibition")},
			{name: "general", reason: "present is prohibited, and the licence " +
				"permits the copy: the specific permission wins",
				robots: "ACAP-disallow-present: /;ACAP-allow-present-currentcopy: / " +
					"time-limit=plus-terms", picture: march, usages: "present-currentcopy present-link",
				want: until("present-currentcopy", "2026-04-01T00:00:00Z") + ", " + refused("present-link",
					"prohibition")},
			{name: "purpose", reason: "the sub-record is for this purpose",
				robots: "ACAP-disallow-index: /;ACAP-usage-purpose: news;" +
					byEnd, picture: march, more: `"purposes": ["news"]`, want: first},
			{name: "other-purpose", reason: "the sub-record is for another purpose",
				robots: "ACAP-disallow-index: /;ACAP-usage-purpose: sport;" +
					byEnd, picture: march, more: `"purposes": ["news"]`, want: refused("index", "prohibition")},
			{name: "no-purpose", reason: "if no purpose is declared, a permission in a " +
				"sub-record does not count, but a prohibition that replaces it does",
				robots: "ACAP-usage-purpose: news;" +
					byEnd, picture: march, want: fallback},
			{name: "purposes", reason: "the licence permits for both purposes, and both limits apply",
				robots: "ACAP-usage-purpose: news;" + byEnd +
					";ACAP-usage-purpose: sport;ACAP-allow-index: / time-limit=until-2026-02-28", picture: march,
				more: `"purposes": ["news", "sport"]`, want: until("index", "2026-03-01T00:00:00Z")},
			{name: "qualified-usage", reason: "a qualified usage is read as if it were written out",
				robots: "ACAP-version: 1.1;ACAP-qualified-usage: licensed index time-limit=plus-terms;ACAP-crawler: " +
					"*;ACAP-allow-(licensed): /", picture: march, want: first},
			{name: "qualified-usage-nothing", reason: "a qualified usage is read as if it were written out",
				robots: "ACAP-version: 1.1;ACAP-qualified-usage: licensed index time-limit=plus-terms;ACAP-crawler: " +
					"*;ACAP-allow-(licensed): /", picture: pictures.JPEG(), want: fallback},
			{name: "set", reason: "the resource set covers the image",
				robots: "ACAP-version: 1.1;ACAP-resource-set: shots /shots/ /pictures/;ACAP-crawler: " +
					"*;ACAP-disallow-index: /;ACAP-allow-index: the-acap:resource-set:shots time-limit=plus-terms",
				picture: march, want: first},
			{name: "undefined-set", reason: "the resources that the permission covers are unknown",
				robots: "ACAP-allow-index: the-acap:resource-set:shots time-limit=plus-terms", picture: march,
				want: fallback},
			{name: "reference", reason: "a permission in a referred file that declares 1.1 counts",
				robots: "ACAP-permissions-reference: /second.txt", other: "ACAP-version: 1.1\nACAP-crawler: *\n" +
					byEnd + "\n", picture: march, want: first},
			{name: "beside-reference", reason: "a permission next to a reference does not " +
				"count, but a prohibition that replaces it does", robots: "ACAP-permissions-reference: /second.txt;" +
				byEnd, other: "ACAP-version: 1.1\nACAP-crawler: *\n" + byEnd + "\n", picture: march, want: refused(
				"index", "conflict")},
			{name: "all-three", reason: "the image has all three terms",
				robots: "ACAP-allow-present: / time-limit=plus-terms must-include-resource=plus-terms " +
					"prohibited-modification=plus-terms",
				picture: licence(endDate("2026-03-31")+" "+marsh+" "+creditLine("CR-CAI"), alterations("AL-DCL")),
				usages:  "present-currentcopy",
				want: allowed("present-currentcopy",
					`{"until": "2026-04-01T00:00:00Z", "must_include": ["the-acap:credit:text:Ida%20Marsh"], `+
						`"prohibited_modification": ["appearance"]}`)},
			{name: "two-of-three", reason: "one of the three terms is missing",
				robots: "ACAP-allow-present: / time-limit=plus-terms must-include-resource=plus-terms " +
					"prohibited-modification=plus-terms",
				picture: licence(endDate("2026-03-31") + " " + creditLine("CR-NRQ")), usages: "present-currentcopy",
				want: refused("present-currentcopy", "fallback")},
			{name: "other-qualifiers", reason: "the other limits of the permission remain",
				robots: "ACAP-allow-present: / time-limit=plus-terms prohibited-modification=format", picture: march,
				usages: "present-currentcopy",
				want: allowed("present-currentcopy",
					`{"until": "2026-04-01T00:00:00Z", "prohibited_modification": ["format"]}`)},
			{name: "header", reason: "a conventional restriction is applied last, and nothing lifts it", robots: byEnd,
				picture: march, more: `"header": "noindex"`, want: refused("index", "header")},
		}},
		{"PLUS-credit", "the credit line of an embedded licence\n\n" +
			"must-include-resource=plus-terms refers to plus:CreditLineRequired in the image, which says whether\n" +
			"a credit must be shown. The credit's text is the credit line of IPTC Photo Metadata\n" +
			"(photoshop:Credit), otherwise the copyright owners, otherwise the licensors.", []pictureCase{
			{name: "adjacent", reason: "the credit line is required", robots: byCredit,
				picture: licence(marsh + " " + creditLine("CR-CAI")), usages: "present-currentcopy present-thumbnail " +
					"present-link",
				want: credited("present-currentcopy", "Ida%20Marsh") + ", " + credited("present-thumbnail",
					"Ida%20Marsh") + ", " + credited("present-link", "Ida%20Marsh")},
			{name: "on-image", reason: "the credit line is required, wherever its property is in the file",
				robots:  byCredit,
				picture: licence(marsh + " " + creditLine("CR-COI")), usages: "present-currentcopy", want: credited(
					"present-currentcopy", "Ida%20Marsh")},
			{name: "credits-area", reason: "the credit line is required, wherever its property is in the file",
				robots:  byCredit,
				picture: licence(marsh + " " + creditLine("CR-CCA")), usages: "present-currentcopy", want: credited(
					"present-currentcopy", "Ida%20Marsh")},
			{name: "not-required", reason: "the image says that no credit is required", robots: byCredit,
				picture: licence(marsh + " " + creditLine("CR-NRQ")), usages: "present-currentcopy", want: allowed(
					"present-currentcopy", `{"must_include": "<absent>"}`)},
			{name: "unsaid", reason: "the image does not say whether its credit line is required", robots: byCredit,
				picture: licence(marsh + " " + endDate("2026-03-31")), usages: "present-currentcopy", want: refused(
					"present-currentcopy", "fallback")},
			{name: "no-text", reason: "a credit is required, but the image holds none", robots: byCredit,
				picture: licence(creditLine("CR-CAI")), usages: "present-currentcopy", want: refused(
					"present-currentcopy", "fallback")},
			{name: "owners", reason: "without a credit line the copyright owners are named", robots: byCredit,
				picture: licence(creditLine("CR-CAI"), names("Licensor", "Quay Pictures"),
					names("CopyrightOwner", "Ida Marsh", "The Tidewick Lantern")), usages: "present-currentcopy",
				want: credited("present-currentcopy", "Ida%20Marsh%2C%20The%20Tidewick%20Lantern")},
			{name: "licensors", reason: "without any other name the licensors are named", robots: byCredit,
				picture: licence(creditLine("CR-CAI"), names("Licensor", "Quay Pictures")),
				usages:  "present-currentcopy",
				want:    credited("present-currentcopy", "Quay%20Pictures")},
			{name: "line-before-names", reason: "the credit line takes precedence over all names", robots: byCredit,
				picture: licence(marsh+" "+creditLine("CR-CAI"), names("CopyrightOwner", "The Tidewick Lantern")),
				usages:  "present-currentcopy",
				want:    credited("present-currentcopy", "Ida%20Marsh")},
			{name: "characters", reason: "a value cannot contain a quotation mark or a blank: they are encoded",
				robots: byCredit, picture: licence(`photoshop:Credit=" Ida  &quot;Marsh&quot; d&apos;Or/Ålesund " ` +
					creditLine("CR-CAI")), usages: "present-currentcopy",
				want: credited("present-currentcopy", "Ida%20%22Marsh%22%20d%27Or%2F%C3%85lesund")},
			{name: "unknown", reason: "the vocabulary has no such value", robots: byCredit,
				picture: licence(marsh + " " + creditLine("CR-XXX")), usages: "present-currentcopy", want: refused(
					"present-currentcopy", "fallback")},
			{name: "contradiction", reason: "required and not required contradict each other", robots: byCredit,
				picture: licence(marsh+" "+creditLine("CR-NRQ"), `<plus:CreditLineRequired rdf:resource="`+vocab+
					`CR-CAI"/>`), usages: "present-currentcopy", want: refused("present-currentcopy", "fallback")},
			{name: "bare", reason: "the value without the URI of its vocabulary is the same value", robots: byCredit,
				picture: licence(marsh + ` plus:CreditLineRequired="CR-CAI"`), usages: "present-currentcopy",
				want: credited("present-currentcopy", "Ida%20Marsh")},
			{name: "https", reason: "the vocabulary is the same under https", robots: byCredit,
				picture: licence(marsh + ` plus:CreditLineRequired="https://ns.useplus.org/LDF/vocab/CR-CAI"`),
				usages:  "present-currentcopy", want: credited("present-currentcopy", "Ida%20Marsh")},
			{name: "elsewhere", reason: "a value of another vocabulary has no effect", robots: byCredit,
				picture: licence(marsh + ` plus:CreditLineRequired="http://example.com/vocab/CR-CAI"`),
				usages:  "present-currentcopy", want: refused("present-currentcopy", "fallback")},
			{name: "unversioned", reason: "where 1.1 is not declared the permission is a prohibition, not ignored, " +
				"whatever the image says", robots: "ACAP-version: 1.0;ACAP-crawler: *;" +
				byCredit, picture: licence(creditLine("CR-NRQ")), usages: "present-currentcopy", want: refused(
				"present-currentcopy", "fallback")},
			{name: "first", reason: "only the first of several counts", robots: byCredit +
				" must-include-resource=the-acap:credit:text:Lantern", picture: licence(marsh + " " +
				creditLine("CR-CAI")), usages: "present-currentcopy", want: credited("present-currentcopy",
				"Ida%20Marsh")},
			{name: "second", reason: "only the first of several counts, and it does not refer to the image",
				robots: "ACAP-allow-present: / must-include-resource=the-acap:credit:text:Lantern " +
					"must-include-resource=plus-terms", picture: licence(marsh), usages: "present-currentcopy",
				want: credited("present-currentcopy", "Lantern")},
			{name: "snippet", reason: "a snippet of an image must show its credit too",
				robots: "ACAP-allow-present-snippet: / must-include-resource=plus-terms", picture: licence(marsh + " " +
					creditLine("CR-CAI")), usages: "present-snippet", want: credited("present-snippet", "Ida%20Marsh")},
			{name: "strict", reason: "strict: all of several must be shown", robots: byCredit +
				" must-include-resource=the-acap:credit:text:Lantern", picture: licence(marsh + " " +
				creditLine("CR-CAI")), usages: "present-currentcopy", more: `"strict": true`,
				want: allowed("present-currentcopy",
					`{"must_include": ["the-acap:credit:text:Ida%20Marsh", "the-acap:credit:text:Lantern"]}`)},
		}},
		{"PLUS-alterations", "the alteration constraints of an embedded licence\n\n" +
			"prohibited-modification=plus-terms refers to plus:ImageAlterationConstraints in the image for the\n" +
			"prohibited modifications; constraints of the file apply in addition. Each constraint is read as the\n" +
			"kinds of modification that cover it.", []pictureCase{
			{name: "cropping", reason: "a cropped picture changes appearance and content; so does a thumbnail",
				robots: byChanges, picture: licence("", alterations("AL-CRP")), usages: "present-currentcopy " +
					"present-thumbnail present-link",
				want: unmodified("present-currentcopy", "appearance", "content") + ", " + refused("present-thumbnail",
					"prohibition") + ", " + allowed("present-link", `{"prohibited_modification": "<absent>"}`)},
			{name: "flipping", reason: "a mirrored picture changes appearance and content",
				robots: byChanges, picture: licence("", alterations("AL-FLP")), usages: "present-currentcopy",
				want: unmodified("present-currentcopy", "appearance", "content")},
			{name: "retouching", reason: "a retouched picture changes appearance and content",
				robots: byChanges, picture: licence("", alterations("AL-RET")), usages: "present-currentcopy",
				want: unmodified("present-currentcopy", "appearance", "content")},
			{name: "colour", reason: "colours are part of the appearance", robots: byChanges,
				picture: licence("", alterations("AL-CLR")), usages: "present-currentcopy", want: unmodified(
					"present-currentcopy", "appearance")},
			{name: "grey", reason: "colours are part of the appearance", robots: byChanges,
				picture: licence("", alterations("AL-DCL")), usages: "present-currentcopy", want: unmodified(
					"present-currentcopy", "appearance")},
			{name: "merging", reason: "a picture that is merged into another one becomes part of a different content",
				robots: byChanges, picture: licence("", alterations("AL-MRG")), usages: "present-currentcopy",
				want: unmodified("present-currentcopy", "appearance", "content", "structure")},
			{name: "several",
				reason: "all constraints apply, those of the file too; the file's name is not part of the resource",
				robots: byChanges, picture: licence("", alterations("AL-CLR", "AL-CRP"), fileConstraints("IF-MMD",
					"IF-MFT", "IF-MFN", "IF-MID")), usages: "present-currentcopy",
				want: unmodified("present-currentcopy", "appearance", "content", "metadata", "format")},
			{name: "file-alone", reason: "no constraint of alteration is found", robots: byChanges,
				picture: licence("", fileConstraints("IF-MMD")), usages: "present-currentcopy", want: refused(
					"present-currentcopy", "fallback")},
			{name: "none", reason: "the image has terms, but no constraints among them", robots: byChanges,
				picture: licence(endDate("2026-03-31")), usages: "present-currentcopy", want: refused(
					"present-currentcopy", "fallback")},
			{name: "empty", reason: "a list without a value has no effect", robots: byChanges,
				picture: licence("", "<plus:ImageAlterationConstraints><rdf:Bag/></plus:ImageAlterationConstraints>"),
				usages:  "present-currentcopy", want: refused("present-currentcopy", "fallback")},
			{name: "unknown", reason: "one of the constraints is unknown", robots: byChanges,
				picture: licence("", alterations("AL-CLR", "AL-XXX")), usages: "present-currentcopy", want: refused(
					"present-currentcopy", "fallback")},
			{name: "unknown-file", reason: "one of the constraints is unknown", robots: byChanges,
				picture: licence("", alterations("AL-CLR"), fileConstraints("IF-XXX")), usages: "present-currentcopy",
				want: refused("present-currentcopy", "fallback")},
			{name: "in-words", reason: "a label is not a value of the vocabulary", robots: byChanges,
				picture: licence(`plus:ImageAlterationConstraints="No Cropping"`), usages: "present-currentcopy",
				want: refused("present-currentcopy", "fallback")},
			{name: "plain", reason: "one value needs no list", robots: byChanges,
				picture: licence(`plus:ImageAlterationConstraints="` + vocab + `AL-DCL"`),
				usages:  "present-currentcopy", want: unmodified("present-currentcopy", "appearance")},
			{name: "unversioned", reason: "plus-terms is a feature of 1.1: without that version the permission is " +
				"ignored, and nothing else is said", robots: "ACAP-version: 1.0;ACAP-crawler: *;" +
				byChanges, picture: licence("", alterations("AL-CLR")), usages: "present-currentcopy",
				want: `"present-currentcopy": {"allowed": true, "reason": "default"}`},
			{name: "any", reason: "any applies in any case", robots: byChanges + " prohibited-modification=any",
				picture: licence("", alterations("AL-CLR")), usages: "present-currentcopy", want: unmodified(
					"present-currentcopy", "any")},
			{name: "any-without", reason: "one of the two cannot be interpreted", robots: byChanges +
				" prohibited-modification=any", picture: licence(endDate("2026-03-31")), usages: "present-currentcopy",
				want: refused("present-currentcopy", "fallback")},
			{name: "beside", reason: "next to plus-terms all other values are ignored", robots: byChanges +
				" prohibited-modification=style", picture: licence("", alterations("AL-CLR")),
				usages: "present-currentcopy", want: unmodified("present-currentcopy", "appearance")},
		}},
		{"PLUS-formats", "where an image contains its licence\n\n" +
			"The terms are in the XMP of a JPEG, PNG, WebP or TIFF. The type is taken from the bytes. Malformed\n" +
			"or duplicate metadata holds no terms.",
			[]pictureCase{
				{name: "jpeg", reason: "XMP in a segment of a JPEG", robots: byEnd, picture: march, want: first},
				{name: "png", reason: "XMP in a chunk of a PNG", robots: byEnd,
					picture: pictures.PNG(pictures.XMP(endDate("2026-03-31"), "")), mime: "image/png", want: first},
				{name: "png-packed", reason: "XMP in a compressed chunk of a PNG", robots: byEnd,
					picture: pictures.PackedPNG(pictures.XMP(endDate("2026-03-31"), "")), mime: "image/png",
					want: first},
				{name: "webp", reason: "XMP in a chunk of a WebP", robots: byEnd,
					picture: pictures.WebP(pictures.XMP(endDate("2026-03-31"), "")), mime: "image/webp", want: first},
				{name: "tiff", reason: "XMP in a field of a TIFF", robots: byEnd,
					picture: pictures.TIFF(binary.LittleEndian, pictures.XMP(endDate("2026-03-31"), "")),
					mime:    "image/tiff", want: first},
				{name: "tiff-big-endian", reason: "XMP in a field of a TIFF", robots: byEnd,
					picture: pictures.TIFF(binary.BigEndian, pictures.XMP(endDate("2026-03-31"), "")),
					mime:    "image/tiff", want: first},
				{name: "mistyped", reason: "the type is taken from the bytes", robots: byEnd, picture: march,
					mime: "application/octet-stream", want: first},
				{name: "element", reason: "a property may be written as an element", robots: byEnd,
					picture: licence("", "<plus:LicenseEndDate>2026-03-31</plus:LicenseEndDate>"), want: first},
				{name: "not-an-image", reason: "a text about a licence is not an image with one", robots: byEnd,
					picture: []byte(pictures.XMP(endDate("2026-03-31"), "")), mime: "application/rdf+xml",
					want: fallback},
				{name: "two-packets", reason: "with two packets it is unclear which one counts", robots: byEnd,
					picture: pictures.JPEG(pictures.XMP(endDate("2026-03-31"), ""), pictures.XMP(endDate("2026-03-31"),
						"")), want: fallback},
				{name: "broken", reason: "the metadata is not well-formed", robots: byEnd,
					picture: licence(endDate("2026-03-31"), "<a></b>"), want: fallback},
				{name: "namespace", reason: "the property has the same name in another namespace", robots: byEnd,
					picture: licence(`xmlns:p="http://example.com/" p:LicenseEndDate="2026-03-31"`), want: fallback},
				{name: "ingredient", reason: "the licence belongs to a picture inside the picture", robots: byEnd,
					picture: licence("", `<photoshop:DocumentAncestors><rdf:Description `+endDate("2026-03-31")+
						`/></photoshop:DocumentAncestors>`), want: fallback},
				{name: "elsewhere", reason: "the metadata continues in segments that are not read", robots: byEnd,
					picture: licence(endDate("2026-03-31") +
						` xmlns:n="http://ns.adobe.com/xmp/note/" n:HasExtendedXMP="0123456789ABCDEF0123456789ABCDEF"`),
					want: fallback},
			}},
	}
}

const picture = "http://example.com/pictures/regatta"

// archive returns the text of a corpus file.
func (c *pictureCase) archive(file string) (string, error) {
	orDefault := func(s, d string) string {
		if s == "" {
			return d
		}
		return s
	}
	robots := c.robots
	if !strings.HasPrefix(robots, "ACAP-version") {
		robots = "ACAP-version: 1.1;ACAP-crawler: *;" + robots
	}
	header := map[string][]string{"Content-Type": {orDefault(c.mime, "image/jpeg")}}
	more := map[string]any{}
	if err := json.Unmarshal([]byte("{"+c.more+"}"), &more); err != nil {
		return "", err
	}
	if rules, ok := more["header"].(string); ok {
		delete(more, "header")
		header["X-Robots-Tag"] = []string{rules}
	}
	name := file + "-" + c.name
	more["id"], more["crawler"], more["url"] = name, []string{"searchbot"}, picture
	more["usages"] = strings.Fields(orDefault(c.usages, "index"))
	more["facts"] = map[string]string{"now": orDefault(c.now, "2026-01-05T12:00:00Z")}
	question, err := json.MarshalIndent(more, "", "  ")
	if err != nil {
		return "", err
	}
	web, err := json.MarshalIndent(map[string]any{picture: map[string]any{"header": header, "body_base64": c.picture}},
		"", "  ")
	if err != nil {
		return "", err
	}
	reason, err := json.Marshal(c.reason)
	if err != nil {
		return "", err
	}
	if !json.Valid([]byte("{" + c.want + "}")) {
		return "", fmt.Errorf("%s: what is wanted is not JSON", name)
	}
	second := ""
	if c.other != "" {
		second = "-- " + name + "/web/http/example.com/second.txt --\n" + c.other
	}
	return fmt.Sprintf("\n-- %[1]s/case.json --\n%[2]s\n-- %[1]s/web/http/example.com/robots.txt --\n%[3]s\n%[4]s-- "+
		"%[1]s/web.json --\n%[5]s\n-- %[1]s/want.json --\n{\n  \"#reason\": %[6]s,\n  \"decisions\": {%[7]s}\n}\n",
		name, question, strings.ReplaceAll(robots, ";", "\n"), second, web, reason, c.want), nil
}

// TestPictures compares the corpus files about pictures, which contain encoded images, with the
// sources from which they were made.
func TestPictures(t *testing.T) {
	for _, f := range pictureCases() {
		text := f.file + ": " + f.says + "\n"
		for _, c := range f.cases {
			part, err := c.archive(f.file)
			if err != nil {
				t.Fatal(err)
			}
			text += part
		}
		name := filepath.Join("corpus", f.file+".txtar")
		if *update {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(name); err != nil || string(have) != text {
			t.Errorf("%s is not as it is made, %v: go test ./internal/conformance -run TestPictures -update", name, err)
		}
	}
}
