package conformance

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSays is the maximum length of a requirement in characters.
const maxSays = 140

// Gaps returns what is wrong with the requirements: a duplicate id, a case that the corpus lacks,
// an unknown reading, a requirement without case, test or reason. hasTest reports whether a Go test
// exists.
func Gaps(docs []Document, samples []Sample, hasTest func(string) bool) []string {
	cases := map[string]bool{}
	for _, s := range samples {
		cases[s.Name] = true
	}
	ids := map[string]int{}
	for _, d := range docs {
		for _, r := range d.Requirements {
			ids[r.ID]++
		}
	}
	var out []string
	for _, d := range docs {
		for _, r := range d.Requirements {
			gap := func(format string, args ...any) { out = append(out, r.ID+" "+fmt.Sprintf(format, args...)) }
			if r.ID == "" || ids[r.ID] > 1 {
				gap("stands twice in %s, or has no id", d.Name)
			}
			if n := utf8.RuneCountInString(r.Says); n == 0 || n > maxSays {
				gap("says %d characters, not 1 to %d", n, maxSays)
			}
			for _, name := range slices.Concat(r.Decides, r.Contrary) {
				if !cases[name] {
					gap("names the case %q, which the corpus does not have", name)
				}
			}
			for _, id := range r.Readings {
				if ids[id] == 0 {
					gap("names the reading %q, which does not exist", id)
				}
			}
			if r.Test != "" && !hasTest(r.Test) {
				gap("names the test %q, which does not exist", r.Test)
			}
			if missing := r.missing(); missing != "" {
				gap("%s", missing)
			}
		}
	}
	return out
}

// missing returns what the requirement lacks, or "" if it is complete.
func (r *Requirement) missing() string {
	both := slices.ContainsFunc(r.Decides, func(name string) bool { return slices.Contains(r.Contrary, name) })
	switch {
	case r.Unobservable != "" && (len(r.Decides) > 0 || len(r.Contrary) > 0 || r.Test != ""):
		return "is called unobservable and has cases"
	case r.Unobservable != "":
		return ""
	case r.Level == "example" && len(r.Readings) == 0:
		return "is an example and names no reading that settles it"
	case both:
		return "is decided and not decided by the same case"
	case len(r.Decides) > 0 != (len(r.Contrary) > 0):
		return "needs cases of both kinds: deciding and contrary"
	case len(r.Decides) == 0 && r.Test == "":
		return "is shown by nothing"
	}
	return ""
}

// Page returns docs/conformance.md: every requirement with its cases.
func Page(docs []Document, samples []Sample) []byte {
	var b strings.Builder
	b.WriteString(`# Conformance

Every statement of the documents, and every reading of this project, with the cases of the corpus that show it. A case under
*decided by* comes out as it does because of the statement; a case under *otherwise* is its near neighbour, where the statement
does not apply and something else comes out. Run them all with ` + "`go test ./internal/conformance`" + `.

This page is generated from ` + "`internal/conformance/requirements`" + ` and the corpus: ` +
		"`go test ./internal/conformance -run TestConformancePage -update`" + `.

`)
	for _, d := range docs {
		fmt.Fprintf(&b, "- [%s](#%s): %d\n", d.Title, strings.ToLower(d.Name), len(d.Requirements))
	}
	b.WriteString("- [What cannot be observed](#unobservable)\n- [Totals](#totals)\n")
	for _, d := range docs {
		fmt.Fprintf(&b, "\n<a id=\"%s\"></a>\n\n## %s\n", strings.ToLower(d.Name), d.Title)
		if d.Name == readings {
			table(&b, d.Requirements, func(r Requirement) string { return r.Section })
			continue
		}
		for rest := d.Requirements; len(rest) > 0; {
			n := slices.IndexFunc(rest, func(r Requirement) bool { return r.Section != rest[0].Section })
			if n < 0 {
				n = len(rest)
			}
			fmt.Fprintf(&b, "\n### %s %s\n", d.Name, rest[0].Section)
			table(&b, rest[:n], func(r Requirement) string {
				return strings.Join(append([]string{r.Level},
					r.Readings...), ", ")
			})
			rest = rest[n:]
		}
	}
	unobservable(&b, docs)
	totals(&b, docs)
	used := map[string]bool{}
	for _, d := range docs {
		for _, r := range d.Requirements {
			for _, name := range slices.Concat(r.Decides, r.Contrary) {
				used[name] = true
			}
		}
	}
	fmt.Fprintf(&b, "\nThis page names %d cases.\n\n", len(used))
	for _, s := range samples {
		if used[s.Name] {
			fmt.Fprintf(&b, "[%s]: ../internal/conformance/corpus/%s.txtar\n", s.Name, s.File)
		}
	}
	return []byte(b.String())
}

// table writes a table of requirements with their cases, each with a note. A requirement that
// cannot be observed has a link to the list of such requirements.
func table(b *strings.Builder, list []Requirement, note func(Requirement) string) {
	b.WriteString("\n| id | says | decided by | otherwise |\n|---|---|---|---|\n")
	for _, r := range list {
		decides := links(r.Decides)
		switch {
		case r.Unobservable != "":
			decides = "[not observable](#unobservable)"
		case r.Test != "":
			decides = strings.TrimSpace(decides + " test `" + r.Test + "`")
		}
		fmt.Fprintf(b, "| %s | %s *(%s)* | %s | %s |\n", r.ID, cell(r.Says), note(r), decides, links(r.Contrary))
	}
}

func unobservable(b *strings.Builder, docs []Document) {
	b.WriteString("\n<a id=\"unobservable\"></a>\n\n## What cannot be observed\n\n| id | says | why it cannot be " +
		"seen |\n|---|---|---|\n")
	for _, d := range docs {
		for _, r := range d.Requirements {
			if r.Unobservable != "" {
				fmt.Fprintf(b, "| %s | %s | %s |\n", r.ID, cell(r.Says), cell(r.Unobservable))
			}
		}
	}
}

func totals(b *strings.Builder, docs []Document) {
	b.WriteString("\n<a id=\"totals\"></a>\n\n## Totals\n\n| document | statements | by cases | by a test alone | " +
		"unobservable |\n|---|---|---|---|---|\n")
	for _, d := range docs {
		var byCases, byTest, hidden int
		for _, r := range d.Requirements {
			switch {
			case r.Unobservable != "":
				hidden++
			case len(r.Decides) > 0:
				byCases++
			default:
				byTest++
			}
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", d.Name, len(d.Requirements), byCases, byTest, hidden)
	}
}

// cell escapes text for a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`, "_", `\_`, "[", `\[`).Replace(s)
}

// links returns the names as reference links. Their targets are at the end of the page.
func links(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "[" + n + "]"
	}
	return strings.Join(out, " ")
}
