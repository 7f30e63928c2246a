package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/display"
)

// demoWidth is the width of the demo's table, in columns.
const demoWidth = 80

// printDemoRows prints the rows as a table of at most 80 columns. Below each address it prints what
// was refused and which line decided. Rows with the same outcome and reasons share these lines.
// Rows without refusals are counted, and listed only with all.
func printDemoRows(w io.Writer, rows []demoRow, all, styled bool) error {
	var b strings.Builder
	paint := func(style, text string) string {
		if !styled {
			return text
		}
		return style + text + display.Plain
	}
	b.WriteString(paint(display.Strong, demoLine("ADDRESS", "OUTCOME", "KEPT", "INDEXED", "SHOWN AS")) + "\n")
	plain := 0
	for i, r := range rows {
		switch {
		case r.uneventful() && !all:
			plain++
			continue
		// already printed with the first row that has these refusals
		case len(r.refusals) > 0 && slices.IndexFunc(rows, r.same) < i:
			continue
		}
		for _, like := range rows[i:] {
			if like.Path == r.Path || len(r.refusals) > 0 && r.same(like) {
				b.WriteString(like.line() + "\n")
			}
		}
		for _, refusal := range r.reasons() {
			what := ""
			if refusal.what != "" {
				what = refusal.what + ": "
			}
			text := wrap(what+refusal.why, demoWidth-4)
			text[0] = paint(display.Warning, text[0][:len(what)]) + text[0][len(what):]
			b.WriteString("    " + strings.Join(text, "\n    ") + "\n")
		}
	}
	if plain > 0 {
		fmt.Fprintf(&b, "\n%s fetched, kept and indexed without a refusal (--all lists them).\n",
			several(plain, "other page"))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// uneventful reports whether nothing was refused for the page of the row.
func (r demoRow) uneventful() bool {
	return len(r.refusals) == 0 && r.Stored && r.Indexed && len(r.Shown) == 3
}

// same reports whether two rows are equal except for their addresses.
func (r demoRow) same(other demoRow) bool {
	return r.State == other.State && r.Stored == other.Stored && r.Indexed == other.Indexed &&
		slices.Equal(r.Shown, other.Shown) && slices.Equal(r.refusals, other.refusals)
}

// line returns a row as one line of the table.
func (r demoRow) line() string {
	mark := map[bool]string{true: "yes", false: "-"}
	return demoLine(r.Path, r.State, mark[r.Stored], mark[r.Indexed], strings.Join(r.Shown, " "))
}

// demoLine returns an address and further columns, aligned as a line of the table. An address that
// is too long for its column gets a separate line.
func demoLine(address string, columns ...any) string {
	if len(address) > 34 {
		address += "\n" + strings.Repeat(" ", 34)
	}
	return strings.TrimRight(fmt.Sprintf("%-34s  ", address)+fmt.Sprintf("%-10s  %-4s  %-7s  %s", columns...), " ")
}

// reasons returns the refusals of a row. Refusals with the same reason are joined into one, for
// example "no link, no snippet".
func (r demoRow) reasons() []demoRefusal {
	var list []demoRefusal
	for _, refusal := range r.refusals {
		i := slices.IndexFunc(list, func(have demoRefusal) bool { return have.why == refusal.why })
		if i < 0 {
			list = append(list, refusal)
			continue
		}
		list[i].what += ", " + refusal.what
	}
	return list
}

// wrap breaks text at spaces into lines of at most width bytes. A word longer than width gets a
// line of its own.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
