package warc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/warcio"
)

// findWarcio returns the path of npm's warcio, or skips the test.
func findWarcio(t *testing.T) string {
	t.Helper()
	program, err := warcio.Find()
	if err != nil {
		t.Skip(err)
	}
	return program
}

func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("%s %v: %v\n%s", program, args, err, complaints.String())
	}
	return string(out)
}

// warcio reads files of this package without complaint and finds every record at the place that
// Writer reports. Its index has the same lines as ours, except for the keys and for conversions.
func TestWarcioReads(t *testing.T) {
	program := findWarcio(t)
	entries := exchange(30)
	first := entries[5]
	revisit := Entry{Type: Revisit, ID: NewID(), Date: noon, Target: "http://example.org:8080/again",
		ContentType: TypeResponse, Head: []byte("HTTP/1.1 206 Some\r\n\r\n"),
		Digest: Digest(first.Payload), More: Fields{{Profile, IdenticalPayload}, {RefersTo, Ref(first.ID)},
			{Truncated, "length"}}}
	odd := Entry{Type: Response, ID: NewID(), Date: noon.Truncate(1e9), Target: "http://127.0.0.1:8080/",
		ContentType: TypeResponse, Head: []byte("HTTP/1.1 301 Moved\r\n\r\n")}
	strange := Entry{Type: Response, ID: NewID(), Date: noon, Target: "http://example.org/%C3%A9?x",
		ContentType: TypeResponse,
		Head:        []byte("HTTP/1.1 200 OK\r\nContent-Type: text/h\u00f6ml \"<&>\"\r\nContent-Type: two\r\n\r\n")}
	rendered := Entry{Type: Conversion, ID: NewID(), Date: noon, Target: first.Target,
		ContentType: "text/html; charset=utf-8", Payload: []byte("<p>drawn"), More: Fields{{RefersTo, Ref(first.ID)}}}
	entries = append(entries, revisit, odd, strange, rendered)
	for _, name := range []string{"test.warc.gz", "test.warc"} {
		file, places := write(t, strings.HasSuffix(name, ".gz"), entries...)
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(output(t, program, "index", path)), "\n")
		if len(lines) != len(entries) {
			t.Fatalf("%s: index has %d lines for %d records", name, len(lines), len(entries))
		}
		for i, line := range lines {
			var l struct {
				Offset int64
				Type   string `json:"warc-type"`
				Target string `json:"warc-target-uri"`
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil || l.Offset != places[i].Offset ||
				l.Type != entries[i].Type || l.Target != entries[i].Target {
				t.Errorf("%s: record %d at %v: %s", name, i, places[i], line)
			}
		}
		var ours []string
		for i, e := range entries {
			if l, ok := e.Index(places[i], name); ok {
				ours = append(ours, l.String())
			}
		}
		theirs := strings.Split(strings.TrimSpace(output(t, program, "cdx-index", path)), "\n")
		if name == "test.warc" { // without compression, the lengths that warcio prints do not include newlines
			ours, theirs = withoutLength(ours), withoutLength(theirs)
		}
		theirs = slices.DeleteFunc(theirs, func(l string) bool { // warcio indexes conversions, see Entry.Index
			return strings.Contains(l, Digest(rendered.Payload)[len("sha256:"):])
		})
		ours, theirs = withoutKey(ours), withoutKey(theirs)
		slices.Sort(ours)
		slices.Sort(theirs)
		for i := range max(len(ours), len(theirs)) {
			if i >= len(ours) || i >= len(theirs) || ours[i] != theirs[i] {
				t.Fatalf("%s: line %d\nours   %s\ntheirs %s", name, i, ours[min(i, len(ours)-1)],
					theirs[min(i, len(theirs)-1)])
			}
		}
		checkDigests(t, program, path, len(entries))
	}
}

func withoutLength(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, regexp.MustCompile(`"length":"[0-9]+",`).ReplaceAllString(l, ""))
	}
	return out
}

// withoutKey removes the key from each line. Our keys are those of pywb, which differ from the keys
// of warcio.
func withoutKey(lines []string) (out []string) {
	for _, l := range lines {
		_, rest, _ := strings.Cut(l, " ")
		out = append(out, rest)
	}
	return out
}

// checkDigests verifies every digest with the library of warcio, because the command warcio cannot
// do this.
func checkDigests(t *testing.T, program, path string, records int) {
	t.Helper()
	out, err := warcio.Node(t.Context(), program, `
import { createReadStream } from "node:fs";
import { createHash } from "node:crypto";
const sum = (b) => "sha256:" + createHash("sha256").update(b).digest("hex");
for await (const r of new WARCIO.WARCParser(createReadStream(process.argv[2]), { parseHttp: false })) {
  const block = Buffer.from(await r.readFully(false));
  const head = /^application\/http/.test(r.warcContentType) ? block.indexOf("\r\n\r\n") + 4 : 0;
  const payload = r.warcPayloadDigest;
  console.log(r.warcBlockDigest === sum(block) && (!payload || r.warcType === "revisit" || payload === sum(block.subarray(head))) ? "right" : "WRONG " + r.warcTargetURI);
}`, path)
	if err != nil || strings.Count(string(out), "right\n") != records || strings.Contains(string(out), "WRONG") {
		t.Errorf("%s: %v\n%s", path, err, out)
	}
}

// This package reads the files that warcio writes: compressed and plain, in WARC 1.0 and 1.1.
func TestWarcioWrites(t *testing.T) {
	program := findWarcio(t)
	for _, how := range [][]string{{"WARC/1.0", "gz", "sha-1"}, {"WARC/1.1", "gz", "sha-256"},
		{"WARC/1.0", "plain", "sha-256"}, {"WARC/1.1", "plain", "sha-1"}} {
		file, err := warcio.Node(t.Context(), program, `
const [warcVersion, form, algo] = process.argv.slice(2);
const opts = { gzip: form === "gz", digest: { algo, prefix: algo.replace("-", "") + ":", base32: algo === "sha-1" } };
const put = async (r) => process.stdout.write(await WARCIO.WARCSerializer.serialize(r, opts));
const text = async function* () { yield new TextEncoder().encode("hello, wörld\r\n\r\n"); };
await put(WARCIO.WARCRecord.createWARCInfo({ filename: "x.warc", warcVersion }, { software: "test" }));
for (const type of ["response", "request", "resource", "metadata", "revisit"])
  await put(await WARCIO.WARCRecord.create({ url: "http://example.com/" + type, type, warcVersion, date: "2000-01-01T00:00:00Z",
    httpHeaders: { "Content-Type": "text/plain; charset=utf-8" }, refersToUrl: "http://example.com/response", refersToDate: "2000-01-01T00:00:00Z" },
    type === "revisit" ? undefined : text()));
`, how...)
		if err != nil {
			t.Fatal(err)
		}
		list := readAll(t, bufio.NewReader(bytes.NewReader(file)))
		if len(list) != 6 {
			t.Fatalf("%v: %d records", how, len(list))
		}
		for i, g := range list {
			if g.damage != nil || g.digest != "" || i > 0 && g.target != "http://example.com/"+g.kind {
				t.Errorf("%v: record %d: %+v", how, i, g)
			}
		}
	}
}
