package check

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// Limits on the number of questions, for hostile files.
const (
	maxNamed     = 100       // crawlers
	maxStated    = 5_000     // patterns in newer vocabularies
	maxWitnesses = 20_000    // addresses
	maxMeetings  = 4_000     // pairs of patterns with an asterisk
	maxQuestions = 4_000_000 // questions in total
	maxPreferred = 1_000_000 // questions about newer vocabularies
)

// Questions returns the questions to ask about some documents: for every crawler that they name and
// one other crawler, for every usage that they name, and for addresses that their patterns cover.
// base is the root URL of the site.
func Questions(base *url.URL, docs ...*Document) Ask {
	var files []*acap.File
	for _, d := range docs {
		files = append(files, d.File, d.conventional())
		for _, r := range d.Referred {
			files = append(files, r)
		}
	}
	statements := make([][]acap.Statement, len(files))
	for i, f := range files {
		statements[i] = f.Statements()
	}
	patterns := patternsOf(files, statements)
	for _, d := range docs {
		if len(d.Vocabularies) > 0 {
			patterns = append(patterns, preference.Patterns(d.File, d.Files, maxStated)...)
		}
	}
	paths, left := witnesses(patterns)
	ask := Ask{Crawlers: crawlersOf(files), Usages: usagesOf(statements), Addresses: addresses(base, paths), Left: left}
	return ask.Bounded()
}

// Bounded returns the questions up to the limits. The field Left of the result says which questions
// it leaves out.
func (a Ask) Bounded() Ask { return a.AtMost(maxQuestions) }

// AtMost is Bounded with a limit on the number of questions.
func (a Ask) AtMost(questions int) Ask {
	leave := func(n, most int, what string) int {
		if n <= most {
			return n
		}
		a.Left = append(slices.Clip(a.Left), fmt.Sprintf("%d of %d %s were left out, because there are too many to "+
			"compare all of them", n-most, n, what))
		return most
	}
	a.Crawlers = a.Crawlers[:leave(len(a.Crawlers), maxNamed, "crawlers")]
	each := questions / max(1, len(a.Crawlers)*len(a.Usages))
	a.Addresses = a.Addresses[:leave(len(a.Addresses), each, "addresses")]
	return a
}

// crawlersOf returns a crawler without names, which stands for any other crawler, and the crawlers
// that the files name. P1 2.3.1 (C05): a version after a crawler name is not part of the name.
func crawlersOf(files []*acap.File) []acap.Crawler {
	out := []acap.Crawler{{}}
	seen := map[string]bool{"": true}
	for _, f := range files {
		for _, name := range f.Crawlers() {
			c := named(name)
			if lower := strings.ToLower(first(c.Names)); !seen[lower] {
				seen[lower] = true
				out = append(out, c)
			}
		}
	}
	return out
}

// usagesOf returns crawl and the usages in the statements of files. P1 2.5.6 (F19): a statement
// about the usage "other" is about every basic usage.
func usagesOf(files [][]acap.Statement) []acap.Usage {
	said := map[acap.Usage]bool{acap.Crawl: true}
	for _, s := range slices.Concat(files...) {
		for _, u := range s.Usages {
			said[u] = true
		}
	}
	if said[acap.Other] {
		for _, u := range []acap.Usage{acap.Follow, acap.Index, acap.Preserve, acap.Present} {
			said[u] = true
		}
	}
	return slices.DeleteFunc(acap.Usages(), func(u acap.Usage) bool { return !said[u] })
}

func patternsOf(files []*acap.File, statements [][]acap.Statement) []string {
	var out []string
	seen := map[string]bool{}
	add := func(p string) {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	for i, f := range files {
		for _, s := range statements[i] {
			for _, p := range s.Patterns {
				add(p)
			}
		}
		for _, g := range f.Groups() {
			for _, r := range g.Rules {
				add(r.Pattern)
			}
		}
	}
	return out
}

// witnesses returns paths that one or two of the patterns cover, and paths that perhaps no pattern
// covers. left says what was left out because of the limits.
func witnesses(patterns []string) (out, left []string) {
	seen := map[string]bool{}
	add := func(most int, paths ...string) (all bool) {
		for _, p := range paths {
			switch {
			case seen[p]:
			case len(out) >= most:
				return false
			default:
				seen[p] = true
				out = append(out, p)
			}
		}
		return true
	}
	all := true
	var starred []string
	for _, p := range patterns {
		all = add(maxWitnesses, acap.Examples(p)...) && all
		if strings.Contains(p, "*") {
			starred = append(starred, p)
		}
	}
	add(maxWitnesses+2, "/", "/any-other-page.html")
	met := 0
	for i := 0; i < len(starred) && met <= maxMeetings && all; i++ {
		for _, q := range patterns {
			if met++; met > maxMeetings {
				left = append(left, "not all intersections of patterns with an asterisk were "+
					"compared, because there are too many")
				break
			}
			all = add(maxWitnesses, meetings(starred[i], q)...) && all
		}
	}
	if !all {
		left = append(left, fmt.Sprintf("not all addresses that the %d patterns cover were compared, because there "+
			"are too many", len(patterns)))
	}
	return out, left
}

// meetings returns paths that two patterns may both cover.
func meetings(p, q string) []string {
	p, q = strings.TrimSuffix(p, "$"), strings.TrimSuffix(q, "$")
	head, tail, _ := strings.Cut(p, "*")
	other, rest, _ := strings.Cut(q, "*")
	if !strings.HasPrefix(head, other) && !strings.HasPrefix(other, head) {
		return nil
	}
	if len(other) > len(head) {
		head = other
	}
	var out []string
	for _, order := range []string{head + "*" + tail + "*" + rest, head + "*" + rest + "*" + tail} {
		out = append(out, acap.Examples(order + "$")[0])
	}
	return out
}

// otherCase returns each path with the case of its letters swapped. It leaves out paths that stay
// the same.
func otherCase(paths []string) []string {
	var out []string
	for _, p := range paths {
		other := strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z':
				return r - 'a' + 'A'
			case r >= 'A' && r <= 'Z':
				return r - 'A' + 'a'
			}
			return r
		}, p)
		if other != p {
			out = append(out, other)
		}
	}
	return out
}

func addresses(base *url.URL, paths []string) []Address {
	root := base.Scheme + "://" + base.Host
	var out []Address
	for _, p := range paths {
		if u, err := url.Parse(root + p); err == nil {
			out = append(out, NewAddress(u))
		}
	}
	return out
}

// OtherCase returns the addresses with the case of their letters swapped. It leaves out addresses
// that stay the same. P1 2.9 (F10): ACAP ignores letter case; conventional rules do not.
func OtherCase(list []Address) []Address {
	return changed(list, otherCase)
}

// Deeper returns the addresses with directories in front of their paths, for a reader that searches
// for patterns anywhere in a path.
func Deeper(list []Address) []Address {
	return changed(list, func(paths []string) (deeper []string) {
		for _, p := range paths {
			deeper = append(deeper, "/0/0"+p)
		}
		return deeper
	})
}

func changed(list []Address, change func([]string) []string) []Address {
	if len(list) == 0 {
		return nil
	}
	var paths []string
	for _, a := range list {
		paths = append(paths, a.URL.RequestURI())
	}
	return addresses(list[0].URL, change(paths))
}
