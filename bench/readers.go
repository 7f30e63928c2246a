package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

const (
	thinks      = 5 * time.Second // average pause of a reader between two pages
	idleConns   = 10_000          // connections that send nothing, at most
	slowConns   = 100             // connections that send one byte a second
	mostLatency = 10 * time.Second
)

// reading is what readers requested, by kind of request.
type reading struct {
	mu     sync.Mutex
	took   map[string][]time.Duration
	failed map[string]int // by what went wrong
}

func (r *reading) note(kind string, took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed[err.Error()]++
		return
	}
	r.took[kind] = append(r.took[kind], took)
}

// measureReaders crawls the site, and lets readers read the archive through acapcrawl serve, first while a
// crawl runs, then next to idle and slow connections. It prints how long answers take.
func measureReaders(ctx context.Context, out io.Writer, o order, readers int, lasting time.Duration) error {
	s, err := newStage(ctx, out, o)
	if err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	stop, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer stop()
	data, n := filepath.Join(s.dir, "data"), strconv.Itoa(s.connections)
	crawl := append([]string{"crawl", "--delay", "0", "--concurrency", n, "--per-host", n}, s.site.seeds()...)
	if _, err := s.spend(ctx, data, crawl, false); err != nil {
		return err
	}
	address, serve, err := s.startServe(ctx, data)
	if err != nil {
		return err
	}
	defer func() {
		serve.Process.Signal(os.Interrupt)
		serve.Wait() // the status does not matter after the measurement
	}()
	w := watch(serve.Process.Pid)
	fmt.Fprintf(out, "%d pages of %d bytes, %d readers with pauses of %s for %s\n", o.pages, o.bytes, readers, thinks,
		lasting)
	again := append([]string{"crawl", "--refetch", "--delay", "100ms", "--max-time", lasting.String()},
		s.site.seeds()...)
	crawler := s.command(ctx, data, again)
	if err := crawler.Start(); err != nil {
		return err
	}
	during := s.read(ctx, address, readers, lasting)
	crawler.Wait() // it stops at its time limit
	if err := during.print(out, "while a crawl runs"); err != nil {
		return err
	}
	held, closeAll := crowd(ctx, address)
	beside := s.read(ctx, address, readers, lasting)
	closeAll()
	if err := beside.print(out, fmt.Sprintf("next to %d idle and %d slow connections", held, slowConns)); err != nil {
		return err
	}
	peak, _ := w.end()
	fmt.Fprintf(out, "largest anonymous memory of serve: %d MB\n", peak/1e6)
	return nil
}

// startServe starts acapcrawl serve on a free port with limits that allow many readers at one address.
func (s *stage) startServe(ctx context.Context, data string) (address string, cmd *exec.Cmd, err error) {
	cmd = s.command(ctx, data, []string{"serve", "--listen", "127.0.0.1:0"})
	cmd.Env = append(cmd.Env, "ACAPCRAWL_SERVE_REQUESTS_PER_SECOND=100000", "ACAPCRAWL_SERVE_BURST=100000",
		"ACAPCRAWL_SERVE_CLIENT_CONNECTIONS=16384", "ACAPCRAWL_ACTIONS_SEEN_WITHIN=1h")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, err
	}
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", nil, errors.Join(errors.New("serve ended at once"), cmd.Wait())
		}
		if _, rest, ok := strings.Cut(line, "Answering at "); ok {
			address, _, _ = strings.Cut(rest, ";")
			go io.Copy(os.Stderr, lines)
			return address, cmd, nil
		}
	}
}

// read lets readers search and open copies in turn for a time.
func (s *stage) read(ctx context.Context, address string, readers int, lasting time.Duration) *reading {
	ctx, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	out := &reading{took: map[string][]time.Duration{}, failed: map[string]int{}}
	client := &http.Client{Timeout: mostLatency, Transport: &http.Transport{MaxIdleConnsPerHost: readers}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(2, uint64(i)))
			for n := 0; ; n++ {
				select {
				case <-time.After(time.Duration(rnd.Float64() * 2 * float64(thinks))):
				case <-ctx.Done():
					return
				}
				kind, path := "search", "/search?q="+url.QueryEscape(phrase(rnd, 1+n%2))
				if n%2 == 1 {
					kind, path = "copy", "/raw/20990101000000/"+s.site.address(1+rnd.IntN(s.pages-1))
				}
				began := time.Now()
				err := fetch(client, address+path)
				out.note(kind, time.Since(began), err)
			}
		})
	}
	all.Wait()
	return out
}

// fetch requests an address, follows redirects, and reads the whole answer.
func fetch(client *http.Client, address string) error {
	resp, err := client.Get(address)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// crowd opens connections that send nothing and connections that send slowly, and returns how many are idle.
func crowd(ctx context.Context, address string) (idle int, closeAll func()) {
	ctx, cancel := context.WithCancel(ctx)
	var conns []net.Conn
	at := strings.TrimPrefix(address, "http://")
	for range idleConns {
		conn, err := net.Dial("tcp", at)
		if err != nil { // this system permits fewer open files
			break
		}
		conns = append(conns, conn)
	}
	idle = len(conns)
	for range slowConns {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			break
		}
		conns = append(conns, conn)
		go func() {
			for _, c := range []byte("GET /search?q=ba HTTP/1.1\r\nHost: " + at + "\r\n\r\n") {
				if _, err := conn.Write([]byte{c}); err != nil {
					return
				}
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return idle, func() {
		cancel()
		for _, conn := range conns {
			conn.Close()
		}
	}
}

// print prints the number of answers of each kind and how long they took.
func (r *reading) print(out io.Writer, when string) error {
	fmt.Fprintln(out, when)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "answer\tnumber\tmedian ms\tp99 ms\tlongest ms\t")
	for _, kind := range []string{"search", "copy"} {
		took := slices.Sorted(slices.Values(r.took[kind]))
		if len(took) == 0 {
			continue
		}
		ms := func(i int) float64 { return float64(took[i].Microseconds()) / 1000 }
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.1f\t\n", kind, len(took), ms(len(took)/2), ms(len(took)*99/100),
			ms(len(took)-1))
	}
	for what, n := range r.failed {
		fmt.Fprintf(w, "%d failed: %s\n", n, what)
	}
	return w.Flush()
}
