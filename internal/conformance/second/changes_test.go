package second

import (
	"maps"
	"math/rand/v2"
	"net/url"
	"strings"
)

// change is a function that turns a question into another question, or returns false if that is not
// possible.
type change struct {
	name string
	make func(q *question, r *rand.Rand) bool
}

// robotsURL returns the address of a question's robots.txt, "" if there is none that can be read.
func robotsURL(q *question) string {
	u, err := url.Parse(q.URL)
	if err != nil {
		return ""
	}
	at := root(u, "/robots.txt").String()
	r, ok := q.Web[at]
	if !ok || r.Error != "" || r.Status != 0 && r.Status != 200 {
		return ""
	}
	return at
}

// eachLine changes the lines of every robots.txt and reference.
func eachLine(q *question, f func(string) string) bool {
	changed := false
	for u, r := range maps.Clone(q.Web) {
		if !strings.HasSuffix(u, ".txt") || r.Body == "" {
			continue
		}
		lines := strings.Split(normalLines(r.Body), "\n")
		for i, l := range lines {
			if s := f(l); s != l {
				lines[i], changed = s, true
			}
		}
		r.Body = strings.Join(lines, "\n")
		q.Web[u] = r
	}
	return changed
}

func normalLines(s string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
}

// nothing lists changes of a question that must not change its answer.
func nothing() []change {
	return []change{
		{"comments", func(q *question, r *rand.Rand) bool {
			return eachLine(q, func(l string) string {
				if r.IntN(2) == 0 {
					return l + " # Disallow: /\n# ACAP-disallow-crawl: /\n\n"
				}
				return l
			})
		}},
		{"line ends", func(q *question, r *rand.Rand) bool {
			end := []string{"\n", "\r\n", "\r"}[r.IntN(3)]
			for u, w := range maps.Clone(q.Web) {
				if strings.HasSuffix(u, ".txt") {
					w.Body = strings.ReplaceAll(normalLines(w.Body), "\n", end)
					q.Web[u] = w
				}
			}
			return true
		}},
		{"letter case of names", func(q *question, r *rand.Rand) bool {
			return eachLine(q, func(l string) string { return swapNames(l, r) })
		}},
		{"letter case of patterns", func(q *question, _ *rand.Rand) bool {
			return eachLine(q, swapPattern)
		}},
		{"percent forms", func(q *question, r *rand.Rand) bool {
			return eachLine(q, func(l string) string { return escapeLetters(l, r) })
		}},
		{"other crawlers' records", addOthers},
		{"order of records", reorder},
		{"a reference", moveToReference},
	}
}

// swapNames changes the letter case of a field name or a crawler name.
func swapNames(l string, r *rand.Rand) string {
	name, value, ok := strings.Cut(l, ":")
	if !ok || strings.HasPrefix(l, "#") {
		return l
	}
	if strings.HasSuffix(strings.ToLower(name), "crawler") || strings.EqualFold(name, "user-agent") {
		value = strings.ToUpper(value)
	}
	if r.IntN(2) == 0 {
		return strings.ToUpper(name) + ":" + value
	}
	return strings.ToLower(name) + ":" + value
}

// plainPattern returns the parts of a permission or prohibition that has a standard usage other
// than crawl and one plain pattern.
func plainPattern(l string) (before, pattern, after string, ok bool) {
	lower := strings.ToLower(l)
	at := strings.Index(l, ": /")
	if at < 0 || !strings.HasPrefix(lower, "acap-allow-") && !strings.HasPrefix(lower, "acap-disallow-") ||
		strings.Contains(lower, "-crawl") || strings.Contains(lower[:at], "(") {
		return "", "", "", false
	}
	pattern, after, _ = strings.Cut(l[at+2:], " ")
	return l[:at+2], pattern, strings.TrimRight(" "+after, " "), !strings.Contains(pattern, "%")
}

// swapPattern changes the letter case of an ACAP pattern. It does not change patterns of crawl,
// because such a pattern cancels a conventional rule only if both have the same letter case. P1
// 2.10.2 (O04).
func swapPattern(l string) string {
	before, pattern, after, ok := plainPattern(l)
	if !ok {
		return l
	}
	return before + strings.ToUpper(pattern) + after
}

// escapeLetters writes one letter of an ACAP pattern as a percent escape.
func escapeLetters(l string, r *rand.Rand) string {
	before, pattern, after, ok := plainPattern(l)
	if !ok || r.IntN(2) == 0 {
		return l
	}
	return before + strings.NewReplacer("b", "%62", "a", "%61").Replace(pattern) + after
}

// addOthers adds records for other crawlers after all records.
func addOthers(q *question, _ *rand.Rand) bool {
	at := robotsURL(q)
	if at == "" {
		return false
	}
	r := q.Web[at]
	body := strings.TrimRight(normalLines(r.Body), "\n")
	last := strings.ToLower(body[strings.LastIndex(body, "\n")+1:])
	if body == "" || strings.HasPrefix(last, "acap-crawler") || hasOpenGroup(body) {
		return false // the names of the new records would join a record that addresses this crawler
	}
	r.Body = body + "\nACAP-crawler: zzz\nACAP-disallow-crawl: /\nACAP-disallow-present: /a/\nACAP-allow-index: /\n" +
		"User-agent: zzz\nDisallow: /\nUser-agent: zzz2\nAllow: /\n"
	q.Web[at] = r
	return true
}

// hasOpenGroup reports whether a file's last conventional line is a User-agent line, or its last
// ACAP line starts a record.
func hasOpenGroup(body string) bool {
	group, head := false, false
	for _, l := range readLines(body) {
		switch {
		case l.name == "user-agent":
			group = true
		case l.name == "allow", l.name == "disallow":
			group = false
		case l.name == "acap-crawler":
			head = true
		case strings.HasPrefix(l.name, "acap-allow-"), strings.HasPrefix(l.name, "acap-disallow-"):
			head = false
		}
	}
	return group || head
}

// records splits a robots.txt body into the text before the first ACAP record and the list of
// records. ok is false if conventional lines or definitions are between the records.
func records(body string) (before string, list []string, ok bool) {
	head := false
	for _, l := range strings.Split(strings.TrimRight(normalLines(body), "\n"), "\n") {
		lower := strings.ToLower(strings.TrimSpace(l))
		crawler := strings.HasPrefix(lower, "acap-crawler")
		if crawler && !head {
			list = append(list, "")
		}
		if lower != "" && !strings.HasPrefix(lower, "#") {
			head = crawler
		}
		if len(list) == 0 {
			before += l + "\n"
			continue
		}
		if !strings.HasPrefix(lower, "acap-") && lower != "" && !strings.HasPrefix(lower, "[v1.1]") &&
			!qualifierStart.MatchString(lower) || strings.HasPrefix(lower, "acap-version") ||
			strings.HasPrefix(lower, "acap-ignore") || strings.HasPrefix(lower, "acap-foo") ||
			strings.HasPrefix(lower, "acap-qualified") || strings.HasPrefix(lower, "acap-composite") ||
			strings.HasPrefix(lower, "acap-resource") {
			return "", nil, false
		}
		list[len(list)-1] += l + "\n"
	}
	for _, s := range list {
		if strings.TrimSpace(s) == "" || endsInHead(s) {
			return "", nil, false
		}
	}
	return before, list, len(list) > 0
}

func endsInHead(s string) bool {
	lines := readLines(s)
	return len(lines) == 0 || lines[len(lines)-1].name == "acap-crawler"
}

// reorder changes the order of the ACAP records of robots.txt. P1 2.2.1: the order has no meaning.
func reorder(q *question, r *rand.Rand) bool {
	at := robotsURL(q)
	before, list, ok := records(q.Web[at].Body)
	if at == "" || !ok || len(list) < 2 {
		return false
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	w := q.Web[at]
	w.Body = before + strings.Join(list, "")
	q.Web[at] = w
	return true
}

// moveToReference moves the ACAP records of robots.txt into another file, to which robots.txt then
// refers for any crawler. P1 2.3.2 (D04).
func moveToReference(q *question, _ *rand.Rand) bool {
	at := robotsURL(q)
	before, list, ok := records(q.Web[at].Body)
	body := strings.ToLower(q.Web[at].Body)
	if at == "" || !ok || strings.Contains(body, "acap-permissions-reference") || strings.Contains(body,
		"acap-composite") ||
		strings.Contains(body, "acap-qualified") || strings.Contains(body, "##acap") || orphans(before) {
		return false
	}
	version := ""
	for _, l := range strings.Split(before, "\n") {
		if strings.Contains(strings.ToLower(l), "acap-version") {
			version += strings.TrimPrefix(l, "\ufeff") + "\n"
		}
	}
	w := q.Web[at]
	w.Body = before + "ACAP-crawler: *\nACAP-permissions-reference: /all.txt\n"
	q.Web[at] = w
	q.Web[strings.TrimSuffix(at, "robots.txt")+"all.txt"] = response{Body: version + strings.Join(list, "")}
	return true
}

// orphans reports whether the text before the records contains fields that belong in records, for
// example after a byte-order mark.
func orphans(before string) bool {
	before = strings.ToLower(before)
	return strings.Contains(before, "acap-allow") || strings.Contains(before, "acap-disallow") ||
		strings.Contains(before, "acap-crawler")
}

// restrictions lists changes of a question after which the answer must not permit more.
func restrictions() []change {
	return []change{
		{"an added prohibition", addProhibition},
		{"an added prohibition in META", func(q *question, r *rand.Rand) bool {
			return addToPage(q, `<meta name="robots" content="ACAP disallow-`+usages()[r.IntN(14)]+`">`)
		}},
		{"an added conventional rule in META", func(q *question, r *rand.Rand) bool {
			return addToPage(q, `<meta name="robots" content="`+[]string{"noindex", "nosnippet", "none",
				"noarchive", "max-snippet:3",
				"unavailable_after: 2020-01-01"}[r.IntN(6)]+`">`)
		}},
		{"a later clock", func(q *question, r *rand.Rand) bool {
			q.Facts.Now = q.Facts.Now.AddDate(0, 0, 1+r.IntN(400))
			return true
		}},
		{"less ability", func(q *question, r *rand.Rand) bool {
			all := append(usages(), "time-limit", "max-length", "must-use-resource", "must-include-resource",
				"element-level",
				"prohibited-modification", "prohibited-context", "required-context", "target-condition", "usage-ref",
				"location")
			q.Cannot = append(q.Cannot, all[r.IntN(len(all))])
			return true
		}},
	}
}

// addProhibition adds a prohibition for any crawler. It overrides no other statement, because a
// record for a named crawler is more specific. P1 2.2.1 (C02).
func addProhibition(q *question, r *rand.Rand) bool {
	at := robotsURL(q)
	w := q.Web[at]
	if at == "" || endsInHead(w.Body) || hasOpenGroup(w.Body) {
		return false
	}
	paths := []string{"/", "/a/", "/a/b", "/*", "*b", "/a*", "", "/a/b$"}
	w.Body = strings.TrimRight(normalLines(w.Body), "\n") + "\nACAP-crawler: *\nACAP-disallow-" +
		usages()[r.IntN(14)] + ": " +
		paths[r.IntN(len(paths))] + "\n"
	q.Web[at] = w
	return true
}

func addToPage(q *question, element string) bool {
	u, err := url.Parse(q.URL)
	if err != nil {
		return false
	}
	at := u.ResolveReference(u).String()
	w, ok := q.Web[at]
	if !ok || !strings.Contains(w.Body, "</head>") {
		return false
	}
	w.Body = strings.Replace(w.Body, "</head>", element+"</head>", 1)
	q.Web[at] = w
	return true
}
