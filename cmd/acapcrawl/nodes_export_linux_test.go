package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/warc"
)

// warcRecord is a record of a WARC file with its block.
type warcRecord struct {
	*warc.Record
	block []byte
}

// warcRecords returns the records of a file. It fails the test if one is not complete.
func warcRecords(t *testing.T, file []byte) (list []warcRecord) {
	t.Helper()
	for in := warc.NewReader(bytes.NewReader(file)); ; {
		rec, err := in.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(rec.Block)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, warcRecord{rec, block})
	}
}

// pagesIn returns how often each address has a response in a list of records.
func pagesIn(list []warcRecord) map[string]int {
	n := map[string]int{}
	for _, r := range list {
		if r.Type() == warc.Response {
			n[r.Target()]++
		}
	}
	return n
}

// exported exports to a new file, and returns what the verb prints as JSON, and the records.
func (f *running) exported(t *testing.T, name string) (out map[string]any, list []warcRecord) {
	t.Helper()
	name = filepath.Join(f.dir, name)
	out = f.object("archive", "export", "-o", name)
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return out, warcRecords(t, file)
}

// An export of all nodes is one WARC file with an index. What a node refuses is in it from no node, and nothing is in
// it of a node that has not sent everything.
func TestExportOfNodes(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a", "b")
	home := "http://" + f.hosts[2] + "/"

	t.Run("whole", func(t *testing.T) {
		out, list := f.exported(t, "whole.warc.gz")
		f.wholly(out, 2)
		if n := pagesIn(list); len(n) != 2*runningHosts || n[home] != 1 {
			t.Errorf("%v", n)
		}
		if out["captures"] != float64(2*runningHosts) || out["records"] != float64(len(list)) ||
			out["withheld"] != 0.0 {
			t.Errorf("%v for %d records", out, len(list))
		}
		f.checkIndex(t, "whole", 2*runningHosts)
		again := f.run("archive", "export", "-o", filepath.Join(f.dir, "whole.warc.gz"))
		if again.status != statusUsage || !strings.Contains(again.stderr, "exists") {
			t.Errorf("the file exists: %+v", again)
		}
		got := f.run("archive", "export", "-o", "-", "--url", home)
		if n := pagesIn(warcRecords(t, []byte(got.stdout))); got.status != statusDone || len(n) != 2 || n[home] != 1 {
			t.Errorf("of one site: %d, %v, %s", got.status, n, got.stderr)
		}
		plain := filepath.Join(f.dir, "plain.warc")
		if got := f.run("archive", "export", "-o", plain); got.status != statusDone {
			t.Errorf("%+v", got)
		}
		f.checkIndex(t, "plain", 2*runningHosts)
		none := f.run("archive", "export", "-o", filepath.Join(f.dir, "none.warc"), "--url", "http://none.example/")
		if _, err := os.Stat(filepath.Join(f.dir, "none.warc")); none.status != statusNothing || !os.IsNotExist(err) {
			t.Errorf("nothing to export: %+v, %v", none, err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		unknown := false
		impostor(t, f.servers, "evil", exporting(func(conn net.Conn) {
			capture := fmt.Sprintf(`{"capture":{"url":%q,"version":1,"why":"it was taken down","unknown":%t}}`,
				home, unknown)
			say(conn, statusDone, `{"began":"2026-01-01T00:00:00Z"}`+"\n"+capture+"\n", "[]")
		}))
		out, list := f.exported(t, "refused.warc.gz")
		f.wholly(out, 3)
		if n := pagesIn(list); len(n) != 2*runningHosts-1 || n[home] != 0 || out["withheld"] != 2.0 {
			t.Errorf("%v, %v", n, out)
		}
		f.checkIndex(t, "refused", 2*runningHosts-1)
		unknown = true // the node that crawls the host knows better
		if _, list := f.exported(t, "unknown.warc.gz"); pagesIn(list)[home] != 1 {
			t.Error("a node that does not crawl the host and does not know the policy hides the page")
		}
	})
	for _, bad := range []struct{ name, parts string }{
		{"ends within a record", part("http://evil.example/", record(t, "http://evil.example/")+"and more")},
		{"another page", part(home, record(t, "http://evil.example/"))},
		{"two records",
			part("http://evil.example/", record(t, "http://evil.example/")+record(t, "http://evil.example/b"))},
		{"no record", part("http://evil.example/", "WARC/1.1\r\n")},
		{"no part", "{"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			impostor(t, f.servers, "evil", exporting(func(conn net.Conn) {
				good := "http://good.example/"
				text := `{"began":"2026-01-01T00:00:00Z"}` + "\n" + part(good, record(t, good)) + bad.parts
				if bad.name == "ends within a record" {
					say(conn, -1, text[:len(text)-12], "[]")
				} else {
					say(conn, statusDone, text, "[]")
				}
			}))
			out, list := f.exported(t, bad.name+".warc.gz")
			in, _ := json.Marshal(out["shards"])
			if !strings.HasPrefix(string(in), `{"answered":2,"missing":[{"node":"evil"`) {
				t.Errorf("%s", in)
			}
			if n := pagesIn(list); len(n) != 2*runningHosts {
				t.Errorf("%v", n)
			}
			if first := string(list[0].block); !strings.Contains(first, "these nodes are missing: evil ") {
				t.Errorf("the first record does not name the missing node: %q", first)
			}
		})
	}
	t.Run("manifest", func(t *testing.T) {
		impostor(t, f.servers, "evil", exporting(func(conn net.Conn) { say(conn, -1, "", "[]") }))
		got := f.run("archive", "export", "--for", "train-ai", "-o", filepath.Join(f.dir, "training.warc.gz"))
		text, err := os.ReadFile(filepath.Join(f.dir, "training.manifest.jsonl"))
		if err != nil {
			t.Fatalf("%v, %+v", err, got)
		}
		urls, lines := map[string]string{}, strings.Split(strings.TrimSpace(string(text)), "\n")
		for _, line := range lines {
			var entry struct{ Node, URL string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(err)
			}
			urls[entry.URL] = entry.Node
		}
		if urls[home] != "a" && urls[home] != "b" || len(urls) != 2*runningHosts+1 {
			t.Errorf("%v", urls)
		}
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, `{"missing":[{"node":"evil","why":"`) {
			t.Errorf("the last line is %s", last)
		}
	})
	t.Run("erased meanwhile", func(t *testing.T) {
		good, gone := "http://good.example/", "http://gone.example/"
		impostor(t, f.servers, "c", exporting(func(conn net.Conn) {
			say(conn, statusDone, `{"began":"2026-01-02T00:00:00Z"}`+"\n"+part(good, record(t, good))+
				part(gone, record(t, gone)),
				`[{"url":"http://gone.example/","when":"2026-01-03T00:00:00Z"},`+
					`{"url":"http://good.example/","when":"2026-01-01T00:00:00Z"}]`)
		}))
		out, list := f.exported(t, "erased.warc.gz")
		f.wholly(out, 3)
		if n := pagesIn(list); n[good] != 1 || n[gone] != 0 {
			t.Errorf("%v", n)
		}
	})
}

// checkIndex checks that each line of the index of an export is the place of a record of its address.
func (f *running) checkIndex(t *testing.T, stem string, want int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, stem+".cdxj"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, line)
		var at struct {
			URL, Filename  string
			Offset, Length int64 `json:",string"`
		}
		if err := json.Unmarshal([]byte(line[strings.Index(line, "{"):]), &at); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(filepath.Join(f.dir, at.Filename))
		if err != nil {
			t.Fatal(err)
		}
		list := warcRecords(t, file[at.Offset:at.Offset+at.Length])
		if len(list) != 1 || list[0].Target() != at.URL {
			t.Errorf("%s: %d records", line, len(list))
		}
	}
	if len(lines) != want || !slices.IsSorted(lines) {
		t.Errorf("%d lines in the index, want %d, in order", len(lines), want)
	}
}

// record returns the compressed record of a response.
func record(t *testing.T, url string) string {
	t.Helper()
	var b bytes.Buffer
	_, err := warc.NewWriter(&b, true).Write(warc.Entry{Type: warc.Response, ID: warc.NewID(), Date: time.Now(),
		Target: url, ContentType: warc.TypeResponse, Head: []byte("HTTP/1.1 200 OK\r\n\r\n"), Payload: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// part returns a part of an export with a record.
func part(url, record string) string {
	return fmt.Sprintf(`{"url":%q,"bytes":%d}`+"\n%s", url, len(record), record)
}

// exporting calls say for each verb that an export runs on a node.
func exporting(answer func(net.Conn)) func(net.Conn, request) {
	return func(conn net.Conn, req request) { answer(asked{conn, strings.Join(req.Args[:2], " ")}) }
}

// asked is the connection of a verb.
type asked struct {
	net.Conn
	verb string
}

// say answers the verb archive export with parts, and archive erasures with a list. If status is negative, the answer
// ends without one.
func say(conn net.Conn, status int, parts, erasures string) {
	out := bufio.NewWriter(conn)
	defer out.Flush()
	to, text := json.NewEncoder(out), parts
	if conn.(asked).verb == "archive erasures" {
		text, status = erasures, statusDone
	}
	to.Encode(message{})
	to.Encode(message{Out: []byte(text)})
	if status >= 0 {
		to.Encode(message{Status: &status})
	}
}

// Verbs that need a data directory of this machine refuse --cluster, and say what to do instead.
func TestLocalVerbs(t *testing.T) {
	for _, args := range [][]string{{"archive", "import", "x.warc"}, {"archive", "backup", "x.tar"},
		{"archive", "restore", "x.tar"}, {"watch"}} {
		got := call(t.Context(), t.TempDir(), append(args, "--cluster", "nats://127.0.0.1:1")...)
		if got.status != statusUsage || !strings.Contains(got.stderr, "does not work with --cluster: ") ||
			!strings.Contains(got.stderr, "Try: acapcrawl ") || got.stdout != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
