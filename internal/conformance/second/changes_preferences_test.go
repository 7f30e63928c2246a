package second

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestPreferencesUnchanged checks that changes without meaning change nothing about preferences.
func TestPreferencesUnchanged(t *testing.T) {
	metamorphic(t, makePreferences, meaningless(), func(before, after *answer) string {
		if s := compare("", before.Decisions, after.Decisions); s != "" {
			return s
		}
		for _, u := range sortedKeys(before.Decisions) {
			if a, b := before.Decisions[u].Reason, after.Decisions[u].Reason; a != b {
				return u + ": reason " + a + ", then " + b
			}
		}
		return verdictsChange(before, after, func(a, b int) bool { return a == b })
	})
}

// TestPreferencesRestrict checks that an added prohibition in any vocabulary never allows a use.
func TestPreferencesRestrict(t *testing.T) {
	metamorphic(t, makePreferences, prohibitions(), func(before, after *answer) string {
		if unread(before.Decisions, after.Decisions) {
			return ""
		}
		if s := freer("", before.Decisions, after.Decisions); s != "" {
			return s
		}
		return verdictsChange(before, after, func(a, b int) bool { return a <= b })
	})
}

// verdictsChange returns where two joint verdicts are not as wanted, "" if all are.
func verdictsChange(before, after *answer, wanted func(a, b int) bool) string {
	rank := func(p preference) int {
		return slices.Index([]string{"unknown", "permit", "agreement", "prohibit"}, p.Verdict)
	}
	for _, u := range sortedKeys(before.Preferences) {
		if a, b := before.Preferences[u], after.Preferences[u]; !wanted(rank(a), rank(b)) {
			return "verdict on " + u + ": " + text(a) + ", then " + text(b)
		}
	}
	return ""
}

// webs calls change with each response of a question, also at the fetch of a held copy, and stores
// what it returns. It reports whether anything changed.
func webs(q *question, change func(url string, r response) response) bool {
	changed := false
	for _, web := range []map[string]response{q.Web, heldWeb(q)} {
		for _, u := range sortedKeys(web) {
			before := text(web[u])
			web[u] = change(u, web[u])
			changed = changed || text(web[u]) != before
		}
	}
	return changed
}

func heldWeb(q *question) map[string]response {
	if q.Held == nil {
		return nil
	}
	return q.Held.Web
}

// lines changes the lines of each robots.txt.
func robotsLines(q *question, change func(lines []string) []string) bool {
	return webs(q, func(u string, r response) response {
		if strings.HasSuffix(u, "/robots.txt") && r.Body != "" {
			r.Body = strings.Join(change(strings.Split(normalLines(r.Body), "\n")), "\n")
		}
		return r
	})
}

// nameOf returns the name of a line, in lower case.
func nameOf(l string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(l, "\ufeff"), ":")
	return strings.ToLower(strings.TrimSpace(name))
}

func ofVocabulary(l string) bool {
	return slices.Contains([]string{"content-usage", "content-signal", "content-signals", "license"}, nameOf(l))
}

// meaningless lists changes that mean nothing.
func meaningless() []change {
	return []change{
		{"order of lines in a group", func(q *question, r *rand.Rand) bool {
			return robotsLines(q, func(lines []string) []string { return shuffleRuns(lines, r) })
		}},
		{"lines twice", func(q *question, _ *rand.Rand) bool {
			return robotsLines(q, func(lines []string) []string {
				var out []string
				for _, l := range lines {
					if out = append(out, l); ofVocabulary(l) {
						out = append(out, strings.TrimPrefix(l, "\ufeff"))
					}
				}
				return out
			})
		}},
		{"letter case of names", func(q *question, r *rand.Rand) bool {
			return robotsLines(q, func(lines []string) []string {
				for i, l := range lines {
					if ofVocabulary(l) {
						lines[i] = swapNames(l, r)
					}
				}
				return lines
			})
		}},
		{"another crawler's group", func(q *question, _ *rand.Rand) bool {
			return robotsLines(q, func(lines []string) []string {
				last := slices.IndexFunc(lines,
					func(l string) bool { return ofVocabulary(l) || nameOf(l) == "disallow" })
				if last < 0 || endsInAgents(lines) {
					return lines
				}
				return append(lines, "User-agent: zzz", "Content-Usage: train-ai=n, ai-use=n, search=n",
					"Content-Signal: use=immediate", "License: https://l.example/gone.xml")
			})
		}},
		{"order of contents", func(q *question, r *rand.Rand) bool {
			return webs(q, func(u string, w response) response {
				if strings.HasSuffix(u, ".xml") {
					w.Body = shuffleBlocks(w.Body, "<content", "</content>\n", r)
				}
				return w
			})
		}},
		{"order of licences", func(q *question, r *rand.Rand) bool {
			return webs(q, func(u string, w response) response {
				for part := range strings.SplitSeq(w.Body, "</content>") {
					if strings.HasSuffix(u, ".xml") && strings.Contains(part, "<license") {
						w.Body = strings.Replace(w.Body, part, shuffleBlocks(part, "<license", "</license>\n", r), 1)
					}
				}
				return w
			})
		}},
	}
}

// endsInAgents reports whether User-agent lines are after the last line that ends a group.
func endsInAgents(lines []string) bool {
	for _, l := range slices.Backward(lines) {
		switch name := nameOf(l); {
		case name == "user-agent":
			return true
		case name == "allow", name == "disallow":
			return false
		}
	}
	return true
}

// shuffleRuns changes the order of adjacent lines of newer vocabularies.
func shuffleRuns(lines []string, r *rand.Rand) []string {
	for i := 0; i < len(lines); i++ {
		end := i
		for end < len(lines) && ofVocabulary(lines[end]) && !strings.HasPrefix(lines[end], "\ufeff") {
			end++
		}
		run := lines[i:end]
		r.Shuffle(len(run), func(a, b int) { run[a], run[b] = run[b], run[a] })
		i = max(i, end-1)
	}
	return lines
}

// shuffleBlocks changes the order of adjacent blocks of a text, each from one mark to another.
func shuffleBlocks(s, from, to string, r *rand.Rand) string {
	first := strings.Index(s, from)
	last := strings.LastIndex(s, to)
	if first < 0 || last < first {
		return s
	}
	blocks := strings.SplitAfter(s[first:last+len(to)], to)
	blocks = blocks[:len(blocks)-1]
	for _, b := range blocks {
		if !strings.HasPrefix(b, from) {
			return s // there is something else between the blocks
		}
	}
	r.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	return s[:first] + strings.Join(blocks, "") + s[last+len(to):]
}

// prohibitions lists changes that add a prohibition in one vocabulary.
func prohibitions() []change {
	page := func(f func(r response) response) func(*question, *rand.Rand) bool {
		return func(q *question, _ *rand.Rand) bool {
			return webs(q, func(u string, r response) response {
				if u == q.URL {
					r = f(r)
				}
				return r
			})
		}
	}
	header := func(name, value string) func(*question, *rand.Rand) bool {
		return page(func(r response) response {
			r.Header = canonical(r.Header)
			r.Header[name] = append(r.Header[name], value)
			return r
		})
	}
	// a line of robots.txt is added where another line has ended the list of user agents
	added := func(values ...string) func(*question, *rand.Rand) bool {
		return func(q *question, r *rand.Rand) bool {
			value := values[r.IntN(len(values))]
			return robotsLines(q, func(lines []string) []string {
				var out []string
				grouped := false
				for _, l := range lines {
					out = append(out, l)
					grouped = grouped || nameOf(l) == "user-agent"
					if grouped && (ofVocabulary(l) || nameOf(l) == "allow" || nameOf(l) == "disallow") {
						out = append(out, value)
					}
				}
				return out
			})
		}
	}
	return []change{
		{"aipref", added("Content-Usage: train-ai=n", "Content-Usage: ai-use=n", "Content-Usage: search=n")},
		{"aipref with a path", added("Content-Usage: /a train-ai=n, ai-use=n, search=n")},
		{"aipref header", header("Content-Usage", "train-ai=n")},
		{"content-signal", added("Content-Signal: search=no", "Content-Signal: ai-train=no, ai-input=no",
			"Content-Signal: use=immediate", "Content-Signal: use=reference")},
		{"content-signal header", header("Content-Signal", "search=no, use=reference")},
		{"tdmrep header", header("Tdm-Reservation", "1")},
		{"tdmrep file", func(q *question, _ *rand.Rand) bool {
			return webs(q, func(u string, r response) response {
				if strings.HasSuffix(u, "/tdmrep.json") && strings.HasPrefix(r.Body, "[{") {
					r.Body = `[{"location": "/", "tdm-reservation": 1}, ` + r.Body[1:]
				}
				return r
			})
		}},
		{"noai header", header("X-Robots-Tag", "noai")},
		{"noai", page(func(r response) response {
			r.Body = strings.Replace(r.Body, "</head>", `<meta name="robots" content="noai"></head>`, 1)
			return r
		})},
		{"rsl", func(q *question, r *rand.Rand) bool {
			token := []string{"ai-train", "ai-all", "all", "search"}[r.IntN(4)]
			return webs(q, func(_ string, r response) response {
				r.Body = strings.ReplaceAll(r.Body, "</license>\n</content>",
					`</license><license><prohibits type="usage">`+token+"</prohibits></license>\n</content>")
				return r
			})
		}},
	}
}
