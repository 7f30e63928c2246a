package acap

import "strings"

// Changes is a set of modifications of a resource (P1 2.5.5.5).
type Changes uint8

// The kinds of modification. The value "any" of prohibited-modification means all of them.
const (
	FormatChange Changes = 1 << iota
	StyleChange
	AppearanceChange
	TranslationChange
	ContentChange
	AnnotationChange
	MetadataChange
	StructureChange

	anyChange = 1<<iota - 1
)

// modification is one value of prohibited-modification.
type modification struct {
	name     string
	newer    bool    // the value was added in version 1.1
	prevents Changes // the modifications that the value prohibits, including implied ones (P1 2.5.5.5, K16)
}

// modifications are the values of prohibited-modification. content includes translation and
// re-organisation; the appearance of a text is its style (P1 2.5.5.5, K16).
var modifications = []modification{
	{"any", false, anyChange},
	{"format", false, FormatChange},
	{"style", false, StyleChange | AppearanceChange},
	{"translation", false, TranslationChange},
	{"annotation", false, AnnotationChange},
	{"appearance", true, AppearanceChange | StyleChange},
	{"content", true, ContentChange | TranslationChange | StructureChange},
	{"metadata", true, MetadataChange},
	{"structure", true, StructureChange},
}

func modificationNamed(name string) (m modification, known bool) {
	for _, m := range modifications {
		if m.name == name {
			return m, true
		}
	}
	return m, false
}

// prevented returns the modifications that several values of prohibited-modification prohibit
// together.
func prevented(names []string) (c Changes) {
	for _, name := range names {
		m, _ := modificationNamed(name)
		c |= m.prevents
	}
	return c
}

// String returns the kinds of modification as words, for example "format, style and content".
func (c Changes) String() string {
	var names []string
	for i, name := range [...]string{"format", "style", "appearance", "translation", "content", "annotation",
		"metadata", "structure"} {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// changes holds, for each usage, the modifications that this form of presentation always makes (P1
// 2.5.5.5; K02 and X28: a snippet and a thumbnail change the resource).
var changes = [kinds]Changes{
	kSnippet:      ContentChange | StructureChange,
	kOldSnippet:   ContentChange | StructureChange,
	kThumbnail:    StyleChange | AppearanceChange | FormatChange | ContentChange,
	kOldThumbnail: StyleChange | AppearanceChange | FormatChange | ContentChange,
}

// Changes returns the modifications that the usage u always makes. If a presentation makes further
// modifications, pass them to Decision.Changing.
func (u Usage) Changes() Changes {
	if k := u.kind(); k != noKind {
		return changes[k]
	}
	return 0
}

// Changing returns d, or a refusal if one of the modifications c is prohibited. why describes what
// makes the modifications, for example "a part is left out".
func (d Decision) Changing(c Changes, why string) Decision {
	if !d.Allowed {
		return d
	}
	k := d.Usage.kind()
	for _, s := range d.bound() {
		if bad := s.limits.prevents & c; bad != 0 && s.binds("prohibited-modification", k) {
			return Decision{Usage: d.Usage, Reason: ByProhibition, Because: s.field,
				Note: why + ", which changes " + bad.String()}
		}
	}
	return d
}
