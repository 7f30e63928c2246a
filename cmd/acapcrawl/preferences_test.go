package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/warcio"
	"github.com/acapcrawl/acapcrawl/warc"
)

// preferringPage is a page of a site that states a preference in one of the places where publishers can.
type preferringPage struct {
	path, header, value string // a header of the answer
	head                string // content of the element head
	says                string // what the metadata record must say, apart from lines
}

// Every page is also permitted for ai-use by robots.txt.
func preferringPages() []preferringPage {
	const licence = `<rsl xmlns="https://rslstandard.org/rsl"><content url=""><license>%s</license></content></rsl>`
	return []preferringPage{
		{path: "/open.html"},
		{path: "/robots.html", says: "train-ai prohibit aipref"},
		{path: "/header.html", header: "Content-Usage", value: "train-ai=n, ai-use=y",
			says: "train-ai prohibit aipref, ai-use permit aipref"},
		{path: "/signal.html", header: "Content-Signal", value: "ai-train=no, ai-input=no",
			says: "train-ai prohibit content-signal, ai-use prohibit content-signal"},
		{path: "/file.html", says: "train-ai agreement tdmrep, ai-use agreement tdmrep, ai-index agreement tdmrep, " +
			"tdm agreement tdmrep"},
		{path: "/reserved.html", header: "TDM-Reservation", value: "1", says: "train-ai prohibit tdmrep, " +
			"ai-use prohibit tdmrep, ai-index prohibit tdmrep, tdm prohibit tdmrep"},
		{path: "/meta.html", head: `<meta name="tdm-reservation" content="0">`, says: "train-ai permit tdmrep, " +
			"ai-use permit tdmrep, ai-index permit tdmrep, tdm permit tdmrep"},
		{path: "/noai.html", head: `<meta name="robots" content="noai">`, says: "train-ai prohibit noai"},
		{path: "/tag.html", header: "X-Robots-Tag", value: "noai", says: "train-ai prohibit noai"},
		{path: "/tags.html", header: "Robots-Tag", value: "*; noai", says: "train-ai prohibit noai"},
		{path: "/site.html", says: "ai-index prohibit rsl"},
		{path: "/link.html", header: "Link", value: `<HOST/page.xml>; rel="license"; type="application/rsl+xml"`,
			says: "tdm agreement rsl, train-ai prohibit rsl, ai-use prohibit rsl, ai-index prohibit rsl"},
		{path: "/element.html", head: `<link rel="license" type="application/rsl+xml" href="HOST/page.xml">`,
			says: "tdm agreement rsl, train-ai prohibit rsl, ai-use prohibit rsl, ai-index prohibit rsl"},
		{path: "/script.html", head: `<script type="application/rsl+xml">` +
			fmt.Sprintf(licence, `<prohibits type="usage">ai-train</prohibits>`) + `</script>`,
			says: "train-ai prohibit rsl"},
		{path: "/image.png", says: "train-ai prohibit plus-dmi, ai-use prohibit plus-dmi, ai-index prohibit " +
			"plus-dmi, tdm prohibit plus-dmi"},
	}
}

// preferring returns a site with all places.
func preferring(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	serve := func(path, mime, header, value, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mime)
			if header != "" {
				w.Header().Set(header, strings.ReplaceAll(value, "HOST", s.URL))
			}
			io.WriteString(w, strings.ReplaceAll(body, "HOST", s.URL))
		})
	}
	serve("/robots.txt", "text/plain", "", "", "User-agent: *\nContent-Usage: /robots.html train-ai=n\n"+
		"Content-Signal: ai-input=yes\nLicense: HOST/site.xml\n")
	serve("/.well-known/tdmrep.json", "application/json", "", "",
		`[{"location": "/file.html", "tdm-reservation": 1, "tdm-policy": "https://tidewick.example/terms.json"}]`)
	serve("/site.xml", "application/rsl+xml", "", "",
		`<rsl xmlns="https://rslstandard.org/rsl"><content url="/site.html">`+
			`<license><prohibits type="usage">ai-index</prohibits></license></content></rsl>`)
	serve("/page.xml", "application/rsl+xml", "", "",
		`<rsl xmlns="https://rslstandard.org/rsl"><content url="">`+
			`<license><prohibits type="usage">ai-all</prohibits>`+
			`<permits type="usage">search</permits></license></content></rsl>`)
	var links strings.Builder
	for _, p := range preferringPages() {
		fmt.Fprintf(&links, "<a href=%q>%s</a>\n", p.path, p.path)
		if p.path == "/image.png" {
			serve(p.path, "image/png", "", "", picture("DMI-PROHIBITED"))
			continue
		}
		serve(p.path, "text/html", p.header, p.value, "<title>Heron</title>"+p.head+"<p>A heron of "+p.path)
	}
	serve("/{$}", "text/html", "", "", links.String())
	return s
}

// picture returns a PNG of one pixel with a term of PLUS in its XMP packet.
func picture(term string) string {
	var b bytes.Buffer
	b.WriteString("\x89PNG\r\n\x1a\n")
	chunk := func(kind, data string) {
		binary.Write(&b, binary.BigEndian, uint32(len(data)))
		b.WriteString(kind + data)
		binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE([]byte(kind+data)))
	}
	chunk("IHDR", "\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00")
	chunk("iTXt", "XML:com.adobe.xmp\x00\x00\x00\x00\x00"+`<x:xmpmeta xmlns:x="adobe:ns:meta/">`+
		`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" `+
		`xmlns:plus="http://ns.useplus.org/ldf/xmp/1.0/"><plus:DataMining>http://ns.useplus.org/ldf/vocab/`+term+
		`</plus:DataMining></rdf:Description></rdf:RDF></x:xmpmeta>`)
	chunk("IDAT", "\x78\x9c\x63\x60\x00\x00\x00\x02\x00\x01")
	chunk("IEND", "")
	return b.String()
}

// stated returns what the metadata records of a WARC file say about the newer usages, by path, without
// the lines.
func stated(t *testing.T, host string, blocks map[string]string) map[string][]string {
	out := map[string][]string{}
	for target, block := range blocks {
		path := strings.TrimPrefix(target, host)
		out[path] = []string{}
		for _, f := range warc.ParseFields([]byte(block)) {
			use, found := strings.CutPrefix(f.Name, "preference-")
			if !found {
				continue
			}
			verdict, rest, _ := strings.Cut(f.Value, " ")
			vocabulary, line, _ := strings.Cut(rest, " ")
			if !strings.Contains(line, host) {
				t.Errorf("%s: %s: %s names no line of the site", target, f.Name, f.Value)
			}
			out[path] = append(out[path], use+" "+verdict+" "+vocabulary)
		}
		slices.Sort(out[path])
	}
	return out
}

// expected returns what the metadata record of a page must say.
func (p preferringPage) expected() []string {
	says := []string{"ai-use permit content-signal"}
	for one := range strings.SplitSeq(p.says, ", ") {
		if one != "" {
			says = append(says, one)
		}
	}
	if strings.Contains(p.says, "ai-use prohibit content-signal") { // the header and robots.txt are one vocabulary
		says = says[1:]
	}
	slices.Sort(says)
	return says
}

// allows reports whether no vocabulary refuses the use of a page.
func (p preferringPage) allows(use string) bool {
	return !slices.ContainsFunc(p.expected(), func(s string) bool {
		return strings.HasPrefix(s, use+" prohibit") || strings.HasPrefix(s, use+" agreement")
	})
}

// Each place in which a publisher can state a preference is read. For each use, export and search leave
// out exactly the pages on which the use is not allowed, and so does a crawl.
func TestPreferencesEverywhere(t *testing.T) {
	t.Parallel()
	s, data := preferring(t), filepath.Join(t.TempDir(), "data")
	if said := call(t.Context(), data, "crawl", "--delay", "0", s.URL+"/"); said.status != statusDone {
		t.Fatal(said)
	}
	file := exported(t, data, "all.warc.gz")
	check := func(t *testing.T, got map[string][]string) {
		for _, p := range preferringPages() {
			if want := p.expected(); !slices.Equal(got[p.path], want) {
				t.Errorf("%s says %q, want %q", p.path, got[p.path], want)
			}
		}
	}
	check(t, stated(t, s.URL, metadata(t, file)))
	t.Run("warcio", func(t *testing.T) { check(t, stated(t, s.URL, metadataByWarcio(t, file))) })
	for _, use := range []string{"train-ai", "ai-use", "ai-index", "tdm"} {
		t.Run(use, func(t *testing.T) {
			var pages, found []string
			for _, p := range preferringPages() {
				if p.allows(use) {
					pages = append(pages, p.path)
					if p.path != "/image.png" {
						found = append(found, p.path)
					}
				}
			}
			part := filepath.Join(t.TempDir(), "part.warc")
			if said := call(t.Context(), data, "archive", "export", "--for", use, "-o",
				part); said.status != statusDone {
				t.Fatal(said)
			}
			compare(t, "export", s.URL, addresses(metadata(t, part)), append(pages, "/"))
			said := call(t.Context(), data, "search", "--for", use, "--limit", "99", "--json", "heron")
			compare(t, "search", s.URL, urls(t, said.stdout), found)
			other := filepath.Join(t.TempDir(), "other")
			if said := call(t.Context(), other, "crawl", "--delay", "0", "--for", use,
				s.URL+"/"); said.status != statusDone {
				t.Fatal(said)
			}
			said = call(t.Context(), other, "archive", "ls", "--json", "--for", "none")
			compare(t, "crawl", s.URL, urls(t, said.stdout), append(pages, "/"))
		})
	}
}

// compare compares lists of addresses of a site with paths, in any order.
func compare(t *testing.T, what, host string, got, want []string) {
	t.Helper()
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], host)
	}
	slices.Sort(got)
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("%s has %q, want %q", what, got, want)
	}
}

// urls returns the member url of each object of a JSON array.
func urls(t *testing.T, text string) (list []string) {
	t.Helper()
	var objects []struct{ URL string }
	if err := json.Unmarshal([]byte(text), &objects); err != nil {
		t.Fatal(err, text)
	}
	for _, o := range objects {
		list = append(list, o.URL)
	}
	return list
}

func addresses(blocks map[string]string) (list []string) {
	for address := range blocks {
		list = append(list, address)
	}
	return list
}

// metadata returns the metadata records of a WARC file by address.
func metadata(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for in := warc.NewReader(f); ; {
		rec, err := in.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(rec.Block)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Type() == warc.Metadata {
			out[rec.Target()] = string(block)
		}
	}
}

// metadataByWarcio returns the same as metadata, as npm's warcio reads it.
func metadataByWarcio(t *testing.T, file string) map[string]string {
	program, err := warcio.Find()
	if err != nil {
		t.Skip(err)
	}
	out, err := warcio.Node(t.Context(), program, `
import { createReadStream } from "node:fs";
const out = {};
for await (const r of new WARCIO.WARCParser(createReadStream(process.argv[2])))
  if (r.warcType === "metadata")
    out[r.warcTargetURI] = new TextDecoder().decode(await r.readFully(false));
console.log(JSON.stringify(out));`, file)
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	if err := json.Unmarshal(out, &blocks); err != nil {
		t.Fatal(err)
	}
	return blocks
}
