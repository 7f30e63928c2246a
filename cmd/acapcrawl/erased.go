package main

import (
	"fmt"
	"io"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/display"
)

// shownErasures is how many erasures a verb prints one by one.
const shownErasures = 20

// printErased prints a sentence for each reason and line.
func printErased(w io.Writer, list []archive.Erasure) error {
	rest := archive.Erasure{}
	for i, e := range list {
		if i >= shownErasures {
			rest.Copies, rest.Pages = rest.Copies+e.Copies, rest.Pages+e.Pages
			continue
		}
		if _, err := fmt.Fprintln(w, display.Line(e.String())); err != nil {
			return err
		}
	}
	if len(list) <= shownErasures {
		return nil
	}
	_, err := fmt.Fprintf(w, "Erased %s of %s by %s more: acapcrawl archive erasures lists all.\n", copies(rest.Copies),
		several(rest.Pages, "page"), several(len(list)-shownErasures, "line"))
	return err
}
