package course

import (
	"bytes"
	"embed"
	"fmt"
	"net/http"
	"strings"
)

// origin is one host of the course with its own robots.txt.
type origin struct {
	name, says string
	closed     bool // robots.txt prohibits the front page, so it cannot be a seed
}

// origins lists all origins, the index first.
var origins = []origin{
	{name: "index", says: "the index, which links to every station"},
	{name: "rules", says: "groups and rules of RFC 9309"},
	{name: "groups", says: "robots.txt has three groups, two of them for any crawler"},
	{name: "shared", says: "robots.txt has one group for two names, the second of which is *"},
	{name: "lines", says: "robots.txt has unknown lines between its rules"},
	{name: "blank", says: "robots.txt has a blank line between its rules"},
	{name: "named", says: "robots.txt names the visitor"},
	{name: "cased", says: "robots.txt names the visitor, in another letter case"},
	{name: "twice", says: "robots.txt names the visitor in two groups"},
	{name: "ways", says: "redirects, sitemaps, images and other links to prohibited addresses"},
	{name: "elsewhere", says: "the targets of redirects and references of other origins"},
	{name: "tags", says: "nofollow in pages and headers"},
	{name: "slow", says: "robots.txt has a Crawl-delay"},
	{name: "gone", says: "robots.txt does not exist"},
	{name: "down", says: "robots.txt is answered with 503", closed: true},
	{name: "broken", says: "the connection breaks when robots.txt is requested", closed: true},
	{name: "moved", says: "five redirects lead to robots.txt"},
	{name: "large", says: "robots.txt has more than 500 KiB"},
	{name: "bom", says: "robots.txt begins with a byte order mark"},
	{name: "cr", says: "lines of robots.txt end with a carriage return only"},
	{name: "markup", says: "robots.txt has HTML around its lines, although its Content-Type is text/plain"},
	{name: "acap", says: "ACAP fields for the usage crawl"},
	{name: "records", says: "robots.txt has two ACAP records for any crawler"},
	{name: "addressed", says: "an ACAP record names the visitor, next to a record for any crawler"},
	{name: "among", says: "an ACAP record names the visitor and other crawlers"},
	{name: "shut", says: "ACAP prohibits everything except one folder", closed: true},
	{name: "follow", says: "ACAP fields, META tags and classes for the usage follow"},
	{name: "refer", says: "robots.txt refers to other files"},
	{name: "lost", says: "robots.txt refers to a file that is answered with 503", closed: true},
	{name: "both", says: "ACAP fields next to conventional records"},
	{name: "ignore", says: "conventional records that ACAP-ignore-conventional-records disables"},
	{name: "tdm", says: "tdmrep.json reserves text and data mining"},
	{name: "tdmshut", says: "robots.txt prohibits tdmrep.json"},
	{name: "rsl", says: "robots.txt names a licence document, by which some pages need a licence server"},
	{name: "rslpages", says: "pages name or contain licences"},
	{name: "rslnamed", says: "robots.txt names licence documents for the visitor and for others"},
	{name: "rslall", says: "every page needs a licence server", closed: true},
	{name: "rslloop", says: "the licence document redirects in a circle"},
	{name: "rslmany", says: "robots.txt names a hundred licence documents"},
	{name: "rslpaid", says: "pages are answered with 401 and 402, and ask for a licence"},
}

// Origins returns the names of the origins, the index first.
func Origins() []string {
	var list []string
	for _, o := range origins {
		list = append(list, o.name)
	}
	return list
}

// Seeds returns the names of the origins whose front page a crawler may request.
func Seeds() []string {
	var list []string
	for _, o := range origins {
		if !o.closed {
			list = append(list, o.name)
		}
	}
	return list
}

//go:embed sites
var sites embed.FS

const (
	robotsPath = "/robots.txt"
	// tdmPath is the file of TDMRep. It may be requested although a licence needs a server, but
	// only if robots.txt permits it.
	tdmPath = "/.well-known/tdmrep.json"
	// policyRoot is the folder of the files to which robots.txt redirects or refers, and of licence
	// documents. RFC 9309 2.2.2 (F23): policy files may always be fetched, whatever the rules say.
	policyRoot = "/policy/"
)

// policyFile reports whether a path of the course is robots.txt or below policyRoot.
func policyFile(path string) bool { return path == robotsPath || strings.HasPrefix(path, policyRoot) }

// policyFiles returns robots.txt of an origin and the files below policyRoot, by path. They contain
// placeholders for the visitor's names.
func policyFiles(o string) map[string]Answer {
	switch o {
	case "gone":
		return map[string]Answer{robotsPath: plain(http.StatusNotFound, []byte("There is no robots.txt here.\n"))}
	case "down":
		return map[string]Answer{robotsPath: plain(http.StatusServiceUnavailable, []byte("Not now.\n"))}
	case "broken":
		return map[string]Answer{robotsPath: {}}
	case "moved":
		return map[string]Answer{
			robotsPath:              to("{{moved}}/policy/robots/1"),
			policyRoot + "robots/1": to("{{elsewhere}}/policy/robots/2"),
			policyRoot + "robots/3": to("{{moved}}/policy/robots/4"),
			policyRoot + "robots/4": to("{{moved}}/policy/robots/5"),
			policyRoot + "robots/5": plain(http.StatusOK, read("moved.txt")),
		}
	case "elsewhere":
		return map[string]Answer{
			robotsPath:               plain(http.StatusOK, read("elsewhere.txt")),
			policyRoot + "robots/2":  to("{{moved}}/policy/robots/3"),
			policyRoot + "terms.txt": plain(http.StatusOK, read("policy/elsewhere.txt")),
		}
	case "refer":
		return map[string]Answer{
			robotsPath:               plain(http.StatusOK, read("refer.txt")),
			policyRoot + "terms.txt": plain(http.StatusOK, read("policy/refer.txt")),
		}
	case "lost":
		return map[string]Answer{
			robotsPath: plain(http.StatusOK, read("lost.txt")),
			// D07: a referenced file that cannot be read prohibits everything. The status is 503,
			// because a crawler may take 404 for a file without rules.
			policyRoot + "lost.txt": plain(http.StatusServiceUnavailable, []byte("Not now.\n")),
		}
	case "tdm", "tdmshut", "rsl", "rslpages", "rslnamed", "rslall", "rslloop", "rslmany", "rslpaid":
		return preferenceFiles(o)
	case "large":
		return map[string]Answer{robotsPath: plain(http.StatusOK, large())}
	}
	return map[string]Answer{robotsPath: plain(http.StatusOK, read(o+".txt"))}
}

// plain returns an answer with the media type that robots.txt must have.
func plain(status int, body []byte) Answer { return typed(status, "text/plain; charset=utf-8", body) }

func typed(status int, kind string, body []byte) Answer {
	return Answer{Status: status, Header: http.Header{"Content-Type": {kind}}, Body: body}
}

// to returns a redirect.
func to(place string) Answer {
	return Answer{Status: http.StatusMovedPermanently, Header: http.Header{"Location": {place}}}
}

// read returns a file of the folder sites.
func read(name string) []byte {
	src, err := sites.ReadFile("sites/" + name)
	if err != nil {
		panic(err) // cannot happen: the files are embedded
	}
	return src
}

// large returns a robots.txt of more than 500 KiB. One rule comes after 400 KiB, and one after 520
// KiB. A crawler need not read the second one.
func large() []byte {
	var b bytes.Buffer
	b.WriteString("# The course: a robots.txt that is too large.\nUser-agent: *\n")
	fill := func(size int) {
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, "Disallow: /large/page-%06d/of/an/archive/that/nobody/should/read/by/machine.html\n", i)
		}
	}
	fill(400 << 10)
	b.WriteString("Disallow: /large/trap.html\n")
	fill(520 << 10)
	b.WriteString("Disallow: /beyond/open.html\n")
	return b.Bytes()
}
