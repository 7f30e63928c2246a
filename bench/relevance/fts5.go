package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// tokenizers are the tokenizers of FTS5 that are compared.
var tokenizers = []string{"unicode61", "porter", "trigram"}

// askFTS5 runs each query on a new FTS5 table with the columns title and body. It returns the rank
// of each query's page; 0 if the page was not found.
func askFTS5(ctx context.Context, sqlite, tokenizer string, docs []document, queries []query) ([]int, error) {
	var script bytes.Buffer
	fmt.Fprintf(&script, "CREATE VIRTUAL TABLE pages USING fts5(title, body, tokenize=%s);\nBEGIN;\n",
		quoted(tokenizer))
	for i, d := range docs {
		fmt.Fprintf(&script, "INSERT INTO pages(rowid, title, body) VALUES (%d, %s, %s);\n", i+1, quoted(d.title),
			quoted(d.text))
	}
	script.WriteString("COMMIT;\n")
	for i, q := range queries {
		var match []string
		for _, w := range q.words {
			match = append(match, `"`+strings.ReplaceAll(w, `"`, " ")+`"`)
		}
		fmt.Fprintf(&script, "SELECT %d, rowid FROM pages WHERE pages MATCH %s ORDER BY rank, rowid LIMIT %d;\n", i,
			quoted(strings.Join(match, " ")), deepest)
	}
	run := exec.CommandContext(ctx, sqlite, "-batch", ":memory:")
	var failures bytes.Buffer
	run.Stdin, run.Stderr = &script, &failures
	out, err := run.Output()
	if err != nil || failures.Len() > 0 {
		return nil, fmt.Errorf("sqlite3 with %s: %w: %s", tokenizer, err, failures.String())
	}
	ranks, results := make([]int, len(queries)), make([]int, len(queries))
	for line := range strings.Lines(string(out)) {
		number, row, _ := strings.Cut(strings.TrimSpace(line), "|")
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(queries) {
			return nil, fmt.Errorf("sqlite3 printed %q", line)
		}
		results[i]++
		if row == strconv.Itoa(queries[i].page+1) {
			ranks[i] = results[i]
		}
	}
	return ranks, nil
}

// quoted returns s as a string literal of SQL.
func quoted(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", " "), "'", "''") + "'"
}
