package second

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// shrink removes parts of a question as long as bad returns true for the rest. It returns the
// smallest question for which bad is true.
func shrink(q *question, bad func(*question) bool) *question {
	for again := true; again; {
		again = false
		for _, smaller := range smallerOnes(q) {
			if bad(smaller) {
				q, again = smaller, true
				break
			}
		}
	}
	return q
}

func clone(q *question) *question {
	var out question
	if err := json.Unmarshal([]byte(text(q)), &out); err != nil {
		panic(err)
	}
	return &out
}

// smallerOnes returns copies of a question, each without one part.
func smallerOnes(q *question) []*question {
	var out []*question
	with := func(change func(*question)) {
		c := clone(q)
		change(c)
		if text(c) != text(q) {
			out = append(out, c)
		}
	}
	for _, u := range sortedKeys(q.Web) {
		with(func(c *question) { delete(c.Web, u) })
	}
	with(func(c *question) { c.Held = nil })
	with(func(c *question) { c.Preferences = nil })
	with(func(c *question) { c.OperatorKind, c.OperatorCountry = "", "" })
	with(func(c *question) { c.TDMRepCoversAI, c.ContentSignalUse = nil, nil })
	if q.Held != nil {
		for _, u := range sortedKeys(q.Held.Web) {
			with(func(c *question) { delete(c.Held.Web, u) })
			for _, body := range smallerTexts(q.Held.Web[u].Body) {
				with(func(c *question) { r := c.Held.Web[u]; r.Body = body; c.Held.Web[u] = r })
			}
			for name := range maps.Keys(q.Held.Web[u].Header) {
				with(func(c *question) { delete(c.Held.Web[u].Header, name) })
			}
		}
	}
	with(func(c *question) { c.Cannot = nil })
	with(func(c *question) { c.Purposes = nil })
	with(func(c *question) { c.Target = nil })
	with(func(c *question) { c.Strict = false })
	with(func(c *question) { c.Crawler = c.Crawler[:1] })
	with(func(c *question) { c.Facts = facts{Now: c.Facts.Now} })
	for i := range q.Cannot {
		with(func(c *question) { c.Cannot = slices.Delete(c.Cannot, i, i+1) })
	}
	if q.Purposes != nil && len(*q.Purposes) > 1 {
		for i := range *q.Purposes {
			with(func(c *question) { *c.Purposes = slices.Delete(*c.Purposes, i, i+1) })
		}
	}
	for _, u := range sortedKeys(q.Web) {
		for _, body := range smallerTexts(q.Web[u].Body) {
			with(func(c *question) { r := c.Web[u]; r.Body = body; c.Web[u] = r })
		}
		for name := range maps.Keys(q.Web[u].Header) {
			with(func(c *question) { delete(c.Web[u].Header, name) })
			for i := range q.Web[u].Header[name] {
				with(func(c *question) { h := c.Web[u].Header; h[name] = slices.Delete(h[name], i, i+1) })
			}
		}
	}
	return out
}

// smallerTexts returns variants of a text: without a block of lines, without a line, and without a
// word other than the first of its line.
func smallerTexts(s string) []string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\ufeff", "").Replace(s)
	out := []string{s}
	lines := strings.Split(s, "\n")
	for size := len(lines) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(lines); i += size {
			out = append(out, strings.Join(slices.Delete(slices.Clone(lines), i, i+size), "\n"))
		}
	}
	for i, l := range lines {
		words := strings.Split(l, " ")
		for k := 1; k < len(words); k++ {
			rest := slices.Clone(lines)
			rest[i] = strings.Join(slices.Delete(slices.Clone(words), k, k+1), " ")
			out = append(out, strings.Join(rest, "\n"))
		}
	}
	return out
}
