// Command relevance measures how well queries find the pages that they were made from, compared
// with SQLite FTS5 on the same texts.
//
//	go run ./bench/relevance [-queries 300] [-only vi,fa] [-kind passage] DIR
//
// DIR has a directory of HTML pages for each language, named by its tag. Each query is made from
// one page: a few words of one passage, a rare word with common ones, or words of its title. The
// command prints for each language the mean reciprocal rank of that page in the results of
// acapcrawl and of the FTS5 tokenizers unicode61, porter and trigram. It also prints the share of
// acapcrawl's snippets that contain all query words of the page. FTS5 needs the program sqlite3;
// without it those columns stay empty. The queries depend only on the pages and the seed.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// options are the command-line options.
type options struct {
	dir     string
	queries int
	only    []string
	kind    string
	seed    uint64
	verbose bool
	sqlite  string // path of the program sqlite3; "" if it is not installed
}

func main() {
	var o options
	flag.IntVar(&o.queries, "queries", 300, "queries for each language")
	only := flag.String("only", "", "measure only these languages, separated by commas")
	flag.StringVar(&o.kind, "kind", "", "use only queries of this kind: passage, rare or title")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the queries")
	flag.BoolVar(&o.verbose, "v", false, "print queries that FTS5 answers better, and snippets that lack words")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "relevance: name the directory with the pages, a directory for each language in it")
		os.Exit(2)
	}
	o.dir = flag.Arg(0)
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "relevance:", err)
		os.Exit(1)
	}
}

// run prints a line for each language.
func run(ctx context.Context, out io.Writer, o options) error {
	var err error
	if o.sqlite, err = exec.LookPath("sqlite3"); err != nil {
		fmt.Fprintln(out, "The columns of FTS5 are empty: the program sqlite3 was not found.")
	}
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-8s %6s %8s %7s", "language", "pages", "queries", "ours")
	for _, t := range tokenizers {
		fmt.Fprintf(out, " %10s", t)
	}
	fmt.Fprintf(out, " %9s\n", "snippets")
	var total share
	for _, e := range entries {
		if !e.IsDir() || len(o.only) > 0 && !slices.Contains(o.only, e.Name()) {
			continue
		}
		whole, err := measure(ctx, out, o, e.Name())
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		total.add(whole)
	}
	fmt.Fprintf(out, "All snippets: %s of %d contain all query words of their page.\n", total, total.all)
	return nil
}

// measure prints the line of one language. It returns the share of the snippets in this language
// that contain all query words.
func measure(ctx context.Context, out io.Writer, o options, language string) (whole share, err error) {
	docs, err := load(filepath.Join(o.dir, language))
	if err != nil {
		return whole, err
	}
	queries := makeQueries(docs, o)
	engine, err := newEngine(ctx, docs)
	if err != nil {
		return whole, err
	}
	defer func() { err = cmp.Or(err, engine.close()) }()
	ranks := make([]int, len(queries))
	var lacking []string
	for i, q := range queries {
		answer, err := engine.ask(ctx, q)
		if err != nil {
			return whole, err
		}
		ranks[i] = answer.rank
		whole.add(answer.whole)
		lacking = append(lacking, answer.lacking...)
	}
	fmt.Fprintf(out, "%-8s %6d %8d %7.3f", language, len(docs), len(queries), meanReciprocal(ranks))
	better := make([]string, len(queries))
	for _, tokenizer := range tokenizers {
		if o.sqlite == "" {
			fmt.Fprintf(out, " %10s", "-")
			continue
		}
		theirs, err := askFTS5(ctx, o.sqlite, tokenizer, docs, queries)
		if err != nil {
			return whole, err
		}
		fmt.Fprintf(out, " %10.3f", meanReciprocal(theirs))
		for i := range queries {
			if reciprocal(theirs[i]) > reciprocal(ranks[i]) {
				better[i] += fmt.Sprintf(" %s %d", tokenizer, theirs[i])
			}
		}
	}
	fmt.Fprintf(out, " %9s\n", whole)
	if o.verbose {
		for i, q := range queries {
			if better[i] != "" {
				fmt.Fprintf(out, "\t%s %s: ours %d,%s: %s\n", q.kind, docs[q.page].name, ranks[i], better[i], q.text())
			}
		}
		for _, s := range lacking {
			fmt.Fprintln(out, "\t"+s)
		}
	}
	return whole, nil
}

// reciprocal returns 1/rank; 0 for a page that was not found.
func reciprocal(rank int) float64 {
	if rank == 0 {
		return 0
	}
	return 1 / float64(rank)
}

func meanReciprocal(ranks []int) float64 {
	sum := 0.0
	for _, r := range ranks {
		sum += reciprocal(r)
	}
	return sum / float64(max(len(ranks), 1))
}

// share counts how many of all results are good.
type share struct{ good, all int }

func (s *share) add(o share) { s.good, s.all = s.good+o.good, s.all+o.all }

func (s share) String() string {
	return fmt.Sprintf("%.1f %%", 100*float64(s.good)/float64(max(s.all, 1)))
}
