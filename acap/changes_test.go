package acap

import (
	"fmt"
	"strings"
	"testing"
)

// P1 2.5.5.5 (K16): each value prohibits the modification that it names, and the modifications that
// this one implies.
func TestChanging(t *testing.T) {
	kinds := []Changes{FormatChange, StyleChange, AppearanceChange, TranslationChange, ContentChange, AnnotationChange,
		MetadataChange, StructureChange}
	for _, c := range []struct{ value, want string }{
		{"any", "format style appearance translation content annotation metadata structure"},
		{"format", "format"},
		{"style", "style appearance"},
		{"translation", "translation"},
		{"annotation", "annotation"},
		{"appearance", "style appearance"},
		{"content", "translation content structure"},
		{"metadata", "metadata"},
		{"structure", "structure"},
	} {
		p := policyOf(searchbot, lines("ACAP-version: 1.1", "ACAP-crawler: *", "ACAP-allow-present-currentcopy: /",
			"ACAP-allow-present: /a prohibited-modification="+c.value))
		d := p.Decide(PresentCurrentCopy, resource(t, "/a"))
		var got []string
		for _, kind := range kinds {
			if no := d.Changing(kind, "it is torn"); !no.Allowed {
				got = append(got, kind.String())
				if no.Reason != ByProhibition || no.Because.Line != 4 || no.Note != "it is torn, which changes "+
					kind.String() {
					t.Errorf("%s: %s", c.value, no.Why())
				}
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s prohibits %s, not %s", c.value, s, c.want)
		}
		if no := d.Changing(0, ""); !no.Allowed {
			t.Errorf("%s: what changes nothing: %s", c.value, no.Why())
		}
		if link := p.Decide(PresentLink, resource(t, "/a")); !link.Changing(anyChange, "").Allowed {
			t.Errorf("%s binds a link (K02)", c.value)
		}
	}
	if got := (ContentChange | StructureChange | FormatChange).String(); got != "format, content and structure" {
		t.Error(got)
	}
	if d := (Decision{Usage: Present, Note: "shut"}); d.Changing(anyChange, "torn").Note != "shut" {
		t.Error("a refusal is given another ground")
	}
}

// P1 2.5.5.5 (K02, X28): a snippet and a thumbnail always modify the resource, so they are refused;
// other forms are refused only if the presentation makes a modification.
func TestChangesOfForms(t *testing.T) {
	for _, u := range Usages() {
		for _, m := range modifications {
			p := policyOf(searchbot, "ACAP-version: 1.1\nACAP-crawler: *\nACAP-allow-present: / "+
				"prohibited-modification="+m.name)
			d := p.Decide(u, resource(t, "/a"))
			if want := u.Changes()&m.prevents == 0; d.Allowed != want && u != Other {
				t.Errorf("%s under %s: %s", u, m.name, d.Why())
			}
		}
	}
	if Usage("present-nothing").Changes() != 0 {
		t.Error("an unknown usage changes something")
	}
}

func TestWithin(t *testing.T) {
	contexts := map[Context]string{NoFrame: "bare", UserFrame: "framed", OriginalFrame: "home"}
	for _, c := range []struct {
		qualifiers string
		usage      Usage
		want       string // the contexts in which the resource may be shown
	}{
		{"", PresentCurrentCopy, "bare framed home"},
		{"prohibited-context=within-user-frame", PresentCurrentCopy, "bare home"},
		// P1 2.5.5.7 (K05): within-user-frame is about the frame of the aggregator; a link to the
		// publisher's site without a frame is permitted
		{"prohibited-context=within-user-frame", PresentOriginal, "bare home"},
		{"required-context=within-user-frame", PresentOldCopy, "framed"},
		{"required-context=within-original-frame", PresentCurrentCopy, "home"},
		// P1 2.5.5.8 (K03): a context both required and prohibited can never be met
		{"required-context=within-original-frame prohibited-context=within-user-frame", PresentOriginal, "home"},
		// P1 2.5.5.8 (K03): a context both required and prohibited can never be met
		{"required-context=within-user-frame prohibited-context=within-user-frame", PresentOriginal, ""},
		// P1 2.5.5.7 (K04): a context in a permission of "present" limits only the original and
		// copies
		{"required-context=within-user-frame", PresentSnippet, "bare framed home"},
		{"required-context=within-user-frame", PresentLink, "bare framed home"},
	} {
		p := policyOf(searchbot, lines("ACAP-version: 1.1", "ACAP-crawler: *", "ACAP-allow-"+string(c.usage)+": /",
			"ACAP-allow-present: / "+c.qualifiers))
		d := p.Decide(c.usage, resource(t, "/a"))
		var got []string
		for _, in := range []Context{NoFrame, UserFrame, OriginalFrame} {
			no := d.Within(in)
			if no.Allowed {
				got = append(got, contexts[in])
			} else if no.Because.Line != 4 || no.Note == "" {
				t.Errorf("%s, %s: %s", c.qualifiers, contexts[in], no.Why())
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s of %s: %q, want %q", c.usage, c.qualifiers, s, c.want)
		}
	}
}

// Bounds returns each limit with the field that sets it.
func TestBounds(t *testing.T) {
	p := policyOf(searchbot, lines("ACAP-version: 1.1", "ACAP-crawler: *", // lines 1 and 2 of the file
		"ACAP-allow-present-snippet: / max-length=9-words",
		"ACAP-allow-present-snippet: / max-length=9-words time-limit=until-recrawled",
		"ACAP-allow-present-snippet: / max-length=30-words",
		"ACAP-allow-present: / time-limit=until-2026-12-31 prohibited-modification=style",
		"ACAP-allow-present: / time-limit=until-2027-12-31")).Narrow(
		page(tag("robots", "max-snippet:40, unavailable_after: 2026-11-30")))
	d := p.Decide(PresentSnippet, resource(t, "/a.html"))
	if !d.Allowed {
		t.Fatal(d.Why())
	}
	f := Facts{Now: noon}
	var got []string
	for _, b := range d.Bounds(f) {
		l := b.Limits
		s := fmt.Sprint(b.Field.Source, " ", b.Field.Line, ":")
		if l.MaxWords != nil {
			s += fmt.Sprint(" words ", *l.MaxWords)
		}
		if l.MaxChars != nil {
			s += fmt.Sprint(" chars ", *l.MaxChars)
		}
		if !l.Until.IsZero() {
			s += " until " + l.Until.Format("2006-01-02")
		}
		if l.UntilRecrawled {
			s += " recrawled"
		}
		got = append(got, s+strings.Join(l.ProhibitedModification, " "))
	}
	want := "robots.txt 3: words 9; robots.txt 4: words 9 recrawled; robots.txt 6:style; meta 3: chars 40; meta 3: " +
		"until 2026-11-30"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	if by := d.Holder(f, func(l Limits) bool { return len(l.ProhibitedModification) > 0 }); by.Line != 6 {
		t.Errorf("style is held by %v", by)
	}
	if by := d.Holder(f, func(l Limits) bool { return len(l.Target) > 0 }); by != d.Because {
		t.Errorf("nothing is held by %v", by)
	}
	if list := p.Decide(PresentSnippet, resource(t, "/a.html")).At(Facts{Now: noon.AddDate(10, 0, 0)}).Bounds(
		f); list != nil {
		t.Errorf("what is refused is bound: %v", list)
	}
}
