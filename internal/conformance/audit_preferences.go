package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/terms"
)

// VocabularyVerdict is the verdict of one vocabulary on a usage of an address.
type VocabularyVerdict struct {
	Vocabulary string     `json:"vocabulary"`
	Verdict    string     `json:"verdict"` // prohibit, agreement or permit
	By         *AuditLine `json:"by"`
	Terms      string     `json:"terms,omitempty"` // where the terms of an agreement are
}

// Disagreement is a usage about which vocabularies say different things. The strictest decides.
type Disagreement struct {
	Usages   []acap.Usage
	Verdicts []VocabularyVerdict
	Pages    []string
}

// usages returns the usages that the audit reports: those of ACAP, and the newer ones if the
// crawler obeys newer vocabularies.
func (a *auditor) usages() []acap.Usage {
	if len(a.site.Who.Vocabularies) == 0 {
		return acap.Usages()
	}
	return append(acap.Usages(), acap.NewerUsages()...)
}

// Usages returns the usages of the columns of the effects.
func (a *Audit) Usages() (list []acap.Usage) {
	if len(a.Effects) == 0 || len(a.Effects[0].Rows) == 0 {
		return acap.Usages()
	}
	for _, c := range a.Effects[0].Rows[0].Cells {
		list = append(list, c.Usage)
	}
	return list
}

// verdicts returns the verdict of each vocabulary on a usage if at least two vocabularies have
// different verdicts; otherwise nil.
func verdicts(t *terms.Reached, u acap.Usage) (list []VocabularyVerdict) {
	by, _ := t.By(u)
	differ := false
	for _, s := range by.Policy().Opinions(u, by.Resource()) {
		v := VocabularyVerdict{s.Vocabulary, s.Verdict.String(), lineOf(s.Because), s.Terms}
		differ = differ || len(list) > 0 && list[0].Verdict != v.Verdict
		list = append(list, v)
	}
	if !differ {
		return nil
	}
	return list
}

// Disagreements returns the usages about which vocabularies say different things, each with all
// addresses where they do so.
func (e Effects) Disagreements() (list []Disagreement) {
	for _, row := range e.Rows {
		for _, c := range row.Cells {
			if len(c.By) == 0 {
				continue
			}
			i := slices.IndexFunc(list, func(d Disagreement) bool {
				return slices.EqualFunc(d.Verdicts, c.By, sameVerdict)
			})
			if i < 0 {
				i = len(list)
				list = append(list, Disagreement{Verdicts: c.By})
			}
			d := &list[i]
			if !slices.Contains(d.Usages, c.Usage) {
				d.Usages = append(d.Usages, c.Usage)
			}
			if !slices.Contains(d.Pages, row.URL) {
				d.Pages = append(d.Pages, row.URL)
			}
		}
	}
	return list
}

func sameVerdict(v, w VocabularyVerdict) bool {
	return v.Vocabulary == w.Vocabulary && v.Verdict == w.Verdict && *v.By == *w.By
}

// Says returns the vocabulary and its verdict in words.
func (v VocabularyVerdict) Says() string {
	return v.Vocabulary + map[string]string{"prohibit": " prohibits", "permit": " permits",
		"agreement": " needs an agreement"}[v.Verdict]
}

// writeDisagreements writes what each vocabulary says where they differ, with the numbers of the
// lines.
func (e Effects) writeDisagreements(b *strings.Builder, lines []*AuditLine) {
	list := e.Disagreements()
	if len(list) > 0 {
		b.WriteString("  Vocabularies differ, and the strictest decides:\n")
	}
	for _, d := range list {
		var says []string
		for _, v := range d.Verdicts {
			says = append(says, fmt.Sprintf("%s (%d)", v.Says(), numberOf(lines, v.By)))
		}
		fmt.Fprintf(b, "    %s: %s\n      on %s\n", usageList(d.Usages), strings.Join(says, ", "), pages(d.Pages))
	}
}

// vocabularyFiles reports the files of newer vocabularies that were needed: tdmrep.json and licence
// documents of robots.txt.
func (a *auditor) vocabularyFiles() {
	for _, ref := range a.surface.Origin.References {
		if ref.Vocabulary == "" || slices.ContainsFunc(a.Files, func(f AuditFile) bool { return f.URL == ref.URL }) {
			continue
		}
		answer := a.site.Answers.Of(ref.URL, ref.Final)
		f := AuditFile{URL: ref.URL, Final: ref.Final, Status: answer.Status, Type: answer.Header.Get("Content-Type"),
			Bytes: len(answer.Body), Vocabulary: ref.Vocabulary}
		if ref.Err != nil {
			f.Why = ref.Err.Error()
		}
		a.Files = append(a.Files, f)
	}
}

// lookedAtFile returns a sentence about a file of a newer vocabulary.
func (f *AuditFile) lookedAtFile() string {
	switch {
	case f.Why == "":
		return fmt.Sprintf("%s is a file of %s.", f.URL, f.Vocabulary)
	case f.Status == 404 || f.Status == 410:
		return fmt.Sprintf("There is no %s, a file of %s.", f.URL, f.Vocabulary)
	}
	return fmt.Sprintf("%s could not be read: %s.", f.URL, f.Why)
}
