package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/acapcrawl/acapcrawl/warc"
)

// hostileBytes is the size of a hostile page: the default of max_body. A bomb is eight times as
// large.
const hostileBytes = 32 << 20

// hostileStop is the limit of anonymous memory in bytes. A crawl that takes more is stopped.
const hostileStop = 3 << 30

// hostilePage is a kind of page that takes far more memory than its server needs to send it.
type hostilePage struct {
	name, mime, coding string
	head               string
	// text that is repeated until the page is long enough; i is the number of the repetition
	part func(i int) string
	size int
}

// always returns a function that always returns part.
func always(part string) func(int) string { return func(int) string { return part } }

// hostilePages are the kinds of hostile pages.
var hostilePages = []hostilePage{
	{name: "bomb-gzip", coding: "gzip", part: always(strings.Repeat("<p>x y z ", 1000)), size: 8 * hostileBytes},
	{name: "bomb-br", coding: "br", part: always(strings.Repeat("<p>x y z ", 1000)), size: 8 * hostileBytes},
	{name: "bomb-zstd", coding: "zstd", part: always(strings.Repeat("<p>x y z ", 1000)), size: 8 * hostileBytes},
	{name: "zeros", part: always(strings.Repeat("\x00", 1000))},
	{name: "tags", part: always("<a>")},
	{name: "tags-text", part: always("<i>x</i>")},
	{name: "formatting", head: formatting(500), part: always("<p>x")},
	{name: "attributes", head: "<a ", part: always("x ")},
	{name: "attributes-each", part: always("<p a b c d e f=1 g h>")},
	{name: "metas", part: always("<meta name=robots content=noindex>")},
	{name: "metas-purposes", part: always("<meta name=robots content='ACAP allow-index purpose=x'>")},
	{name: "marks", part: always("<p class=the-acap:disallow-index>x")},
	{name: "title", head: "<title>", part: always("Title of a page. "), size: 25 << 20},
	{name: "words", part: func(i int) string { return "w" + strconv.FormatInt(int64(i)*7919, 36) + " " }},
	{name: "words-plain", mime: "text/plain",
		part: func(i int) string { return "w" + strconv.FormatInt(int64(i)*7919, 36) + " " }},
	{name: "letters", part: always("a b c d e f g h ")},
	{name: "characters", head: "<meta charset=utf-8>", part: always("一七万三上下不与丐丑专且世丘丙业丛东丝")},
	{name: "links", part: func(i int) string { return fmt.Sprintf("<a href=/%d>x</a>", i) }},
	{name: "long-links", head: "<base href=/" + strings.Repeat("x", 200) + "/>",
		part: func(i int) string { return fmt.Sprintf("<a href=%d>", i) }},
	{name: "nesting", part: always("<div>")},
	{name: "nesting-fixed", part: always("<object>")},
	{name: "comments", part: always("<!---->")},
	{name: "references", part: always("&amp;")},
	{name: "noscript", part: always("<noscript><p>x</noscript>")},
	{name: "styles", part: always("<style>.a{display:none}</style>")},
	{name: "feed", mime: "application/rss+xml", head: "<rss><channel>", part: func(i int) string {
		return fmt.Sprintf("<item><title>x</title><link>http://h.example/%d</link></item>", i)
	}},
	{name: "markdown", mime: "text/markdown", part: always("- *a* [b](c)\n")},
}

// formatting returns formatting elements that are never closed. The parser opens them again in
// every block.
func formatting(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<b a=%d>", i)
	}
	return b.String()
}

// packed returns the body of the page as the server sends it.
func (p hostilePage) packed() ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch p.encoding() {
	case "br":
		w = brotli.NewWriterLevel(&out, brotli.BestSpeed)
	case "zstd":
		w, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	default:
		w, err = gzip.NewWriterLevel(&out, gzip.BestSpeed)
	}
	if err != nil {
		return nil, err
	}
	size := p.size
	if size == 0 {
		size = hostileBytes
	}
	left := size - len(p.head)
	_, err = io.WriteString(w, p.head)
	for i := 0; left > 0 && err == nil; i++ {
		part := p.part(i)
		left -= len(part)
		_, err = io.WriteString(w, part)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

func (p hostilePage) encoding() string {
	if p.coding == "" {
		return "gzip"
	}
	return p.coding
}

func (p hostilePage) contentType() string {
	if p.mime == "" {
		return "text/html"
	}
	return p.mime
}

// crawlHostile crawls copies of each kind of hostile page at once with default settings, each copy
// on its own host. Then it imports as many copies from a WARC file. It prints how much memory each
// crawl and each import takes.
func crawlHostile(ctx context.Context, out io.Writer, copies int, only string) error {
	dir, err := os.MkdirTemp("", "acapcrawl-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "crawl-under-test")
	if err := build(ctx, out, binary); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d copies of each page at once; MB of anonymous memory, and of all resident memory\n", copies)
	fmt.Fprintf(out, "%-16s %8s %11s %11s %6s %11s %11s %6s\n", "page", "sent kB", "crawl anon", "all", "s",
		"import anon", "all", "s")
	for _, p := range hostilePages {
		if only != "" && !strings.Contains(","+only+",", ","+p.name+",") {
			continue
		}
		body, err := p.packed()
		if err != nil {
			return err
		}
		crawled, err := hostileCrawl(ctx, dir, binary, p, body, copies)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		imported, err := hostileImport(ctx, dir, binary, p, body, copies)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(out, "%-16s %8d %s %s\n", p.name, len(body)/1000, crawled, imported)
	}
	return nil
}

// taken is the memory and time that one process took.
type taken struct {
	anonymous, resident int64 // maximum in bytes
	took                time.Duration
	stopped             bool
}

func (t taken) String() string {
	more := ""
	if t.stopped {
		more = ">"
	}
	return fmt.Sprintf("%11s %11s %6.1f", more+strconv.FormatInt(t.anonymous/1e6, 10),
		more+strconv.FormatInt(t.resident/1e6, 10), t.took.Seconds())
}

// hostileCrawl crawls copies of p, which is sent as body.
func hostileCrawl(ctx context.Context, dir, binary string, p hostilePage, body []byte, copies int) (taken, error) {
	args := []string{"crawl", "--json"}
	for range copies {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return taken{}, err
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", p.contentType())
			w.Header().Set("Content-Encoding", p.encoding())
			w.Write(body)
		})}
		defer server.Close()
		go server.Serve(l)
		args = append(args, "http://"+l.Addr().String()+"/")
	}
	return measured(ctx, dir, binary, append(args, "--depth", "0"))
}

// hostileImport imports copies of p from a WARC file, each with the payload body.
func hostileImport(ctx context.Context, dir, binary string, p hostilePage, body []byte, copies int) (taken, error) {
	name := filepath.Join(dir, "hostile.warc")
	f, err := os.Create(name)
	if err != nil {
		return taken{}, err
	}
	defer os.Remove(name)
	defer f.Close()
	w := warc.NewWriter(f, false)
	for i := range copies {
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Encoding: %s\r\n\r\n", p.contentType(),
			p.encoding())
		_, err := w.Write(warc.Entry{Type: warc.Response, ID: warc.NewID(), Date: time.Now().Add(-time.Hour),
			Target:      fmt.Sprintf("http://h%d.example/", i),
			ContentType: "application/http;msgtype=response", Head: []byte(head), Payload: body})
		if err != nil {
			return taken{}, err
		}
	}
	return measured(ctx, dir, binary, []string{"archive", "import", "--assume-policy", "none", name})
}

// measured runs acapcrawl with a new data directory, and returns how much memory and time the
// process took.
func measured(ctx context.Context, dir, binary string, args []string) (taken, error) {
	work, err := os.MkdirTemp(dir, "hostile-")
	if err != nil {
		return taken{}, err
	}
	defer os.RemoveAll(work)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, binary, append(args, "--data", filepath.Join(work, "data"))...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return taken{}, err
	}
	w := watchMost(cmd.Process.Pid, hostileStop, stop)
	err = cmd.Wait()
	t := taken{took: time.Since(start)}
	t.anonymous, _ = w.end()
	t.resident, t.stopped = w.resident, w.stopped
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		return t, err
	}
	if os.Getenv("HOSTILE_VERBOSE") != "" {
		fmt.Fprintln(os.Stderr, cmd.ProcessState, said.String())
	}
	return t, nil
}
