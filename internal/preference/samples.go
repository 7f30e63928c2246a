package preference

import (
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Patterns returns path patterns that preferences of a site name: those of Content-Usage lines, and
// those of the files of vocabularies. It returns at most the given number, without duplicates.
func Patterns(f *acap.File, files []acap.Reference, most int) (list []string) {
	seen := map[string]bool{}
	add := func(pattern string) {
		if !seen[pattern] && pattern != nowhere && len(list) < most {
			seen[pattern] = true
			list = append(list, pattern)
		}
	}
	nothing := func(*acap.Field, string, acap.Severity, string, string) {}
	groups, _ := f.LineGroups(lineNames()...)
	for _, g := range groups {
		for _, l := range g.Lines {
			if l.Name == contentUsage {
				if path, _ := readUsageLine(l, false, nothing); path != "" {
					add(path)
				}
			}
		}
	}
	for _, r := range files {
		switch {
		case r.Err != nil, len(list) == most:
		case r.Vocabulary == tdmrep{}.Name():
			locations, _ := newTDMReader(r.URL, r.Text, nothing).read()
			for _, p := range locations {
				add(p)
			}
		case r.Vocabulary == rsl{}.Name():
			doc, err := readDocument(r.URL, 1, r.Text)
			if err != nil {
				continue
			}
			of := associated{root: f.Root()}
			for _, c := range doc.contents {
				add(of.pattern(c.url))
			}
		}
	}
	return slices.Clip(list)
}

// LicenceLines returns the License lines of a robots.txt with usable addresses, for all crawlers,
// those before any User-agent line first.
func LicenceLines(f *acap.File) (list []acap.Line) {
	groups, before := f.LineGroups(lineNames()...)
	for _, g := range groups {
		before = append(before, g.Lines...)
	}
	for _, l := range before {
		if _, err := acap.LicenceURL(l.Value, f.Root()); l.Name == license && err == nil {
			list = append(list, l)
		}
	}
	return list
}

// Groups returns the indexes, in File.Groups, of the groups that have preferences.
func Groups(f *acap.File) map[int]bool {
	found := map[int]bool{}
	groups, _ := f.LineGroups(lineNames()...)
	for _, g := range groups {
		if len(g.Lines) > 0 {
			found[g.Group] = true
		}
	}
	return found
}

// Crawlers returns the names of crawlers for which a robots.txt has preferences of their own.
func Crawlers(f *acap.File) (list []string) {
	groups, _ := f.LineGroups(lineNames()...)
	for _, g := range groups {
		for _, name := range g.Agents {
			if len(g.Lines) > 0 && name != "*" && name != "" && !slices.Contains(list, name) && len(list) < maxAgents {
				list = append(list, name)
			}
		}
	}
	return list
}
