package cdx

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/warc"
)

// shelf is a small archive. The notes in the tests number its records from 0 in the order of the
// index, in which www is dropped and the host is reversed.
var shelf = sorted(
	record("http://harbour.example/", "20130101000000", "text/html", "200"),                  // 0
	record("https://www.harbour.example/", "20140301120000", "text/html", "301"),             // 1
	record("http://harbour.example/", "20140601120000", "text/html", "200"),                  // 2
	record("http://harbour.example/", "20150101000000", "warc/revisit", ""),                  // 3
	record("http://harbour.example/path/", "20140101000000", "text/html", "200"),             // 4
	record("http://harbour.example/path/a.php", "20140101000000", "text/html", "404"),        // 5
	record("http://harbour.example/path/b.png", "20140101000000", "image/png", "200"),        // 6
	record("http://harbour.example/paths", "20140101000000", "application/xhtml+xml", "200"), // 7
	record("http://maps.harbour.example/c.php?d=1", "20140101000000", "text/html", "200"),    // 8
	record("http://harbour.example:8080/", "20140101000000", "text/html", "200"),             // 9
	record("http://harbours.example/", "20140101000000", "text/html", "200"),                 // 10
)

func record(address, timestamp, mime, status string) Record {
	return Record{URLKey: warc.URLKey(address), Timestamp: timestamp, URL: address, MIME: mime, Status: status,
		Digest: "sha256:" + timestamp, Length: "12"}
}

func sorted(list ...Record) []Record {
	slices.SortStableFunc(list, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.URLKey, b.URLKey), cmp.Compare(a.Timestamp, b.Timestamp))
	})
	return list
}

// from returns records, and counts how many were asked for.
func from(list []Record, asked *int) Records {
	return func(yield func(Record, error) bool) {
		for _, r := range list {
			if *asked++; !yield(r, nil) {
				return
			}
		}
	}
}

// numbers answers a query and returns the numbers of the records in shelf.
func numbers(t *testing.T, query string) string {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	q, err := Parse(values)
	if err != nil {
		return "error: " + err.Error()
	}
	var list []string
	asked := 0
	for r, err := range q.Select(from(shelf, &asked)) {
		if err != nil {
			return "error: " + err.Error()
		}
		list = append(list, fmt.Sprint(slices.Index(shelf, r)))
	}
	return strings.Join(list, " ")
}

// TestShelf checks the numbers in the comments of shelf.
func TestShelf(t *testing.T) {
	for i, part := range []string{"example,harbour)/", "example,harbour)/", "example,harbour)/", "example,harbour)/",
		"example,harbour)/path", "example,harbour)/path/a.php", "example,harbour)/path/b.png", "example,harbour)/paths",
		"example,harbour,maps)/c.php?d=1", "example,harbour:8080)/", "example,harbours)/"} {
		if shelf[i].URLKey != part {
			t.Errorf("record %d has the key %s", i, shelf[i].URLKey)
		}
	}
}

// TestQueries has the examples of pywb's documentation of its CDX server, on our records. Each row
// is named after its section there.
func TestQueries(t *testing.T) {
	for _, row := range []struct{ section, query, want string }{
		{"introduction", "url=http://harbour.example/*&page=0&filter=mime:text/html&limit=10", "0 1 2 4 5"},
		{"introduction", "url=http://harbour.example/*&page=1&filter=mime:text/html&limit=10",
			`error: page="1": there is no such page; the last page is 0`},
		{"url", "url=harbour.example", "0 1 2 3"},
		{"url", "url=https://WWW.harbour.example:443", "0 1 2 3"},
		{"url", "url=harbour.example/nothing", ""},
		{"from, to", "url=harbour.example&from=2014&to=2014", "1 2"},
		{"from, to", "url=harbour.example&from=201404", "2 3"},
		{"from, to", "url=harbour.example&to=20140601120000", "0 1 2"},
		{"from, to", "url=harbour.example&to=20140601115959", "0 1"},
		{"from, to", "url=harbour.example&from=2015&to=2014", ""},
		{"from, to", "url=harbour.example&from=201", "0 1 2 3"},
		{"matchType", "url=harbour.example&matchType=exact", "0 1 2 3"},
		{"matchType", "url=http://harbour.example/path/&matchType=prefix", "5 6"},
		{"matchType", "url=http://harbour.example/path/*", "5 6"},
		{"matchType", "url=http://harbour.example/path*", "4 5 6 7"},
		{"matchType", "url=http://harbour.example/path&matchType=prefix", "4 5 6 7"},
		{"matchType", "url=http://harbour.example/path/a.php&matchType=host", "0 1 2 3 4 5 6 7"},
		{"matchType", "url=http://harbour.example:8080/&matchType=host", "9"},
		{"matchType", "url=harbour.example&matchType=domain", "0 1 2 3 4 5 6 7 8"},
		{"matchType", "url=*.harbour.example", "0 1 2 3 4 5 6 7 8"},
		{"matchType", "url=*.example", "0 1 2 3 4 5 6 7 8 9 10"},
		{"matchType", "url=http://harbour.example/*&matchType=exact", ""}, // no wildcard with matchType
		{"limit", "url=harbour.example&limit=2", "0 1"},
		{"sort", "url=harbour.example&sort=reverse", "3 2 1 0"},
		{"sort", "url=harbour.example&sort=reverse&limit=2", "3 2"},
		{"sort", "url=*.harbour.example&sort=reverse&limit=1", "8"},
		{"sort", "url=harbour.example&sort=closest&closest=20140501", "2 1 3 0"},
		{"sort", "url=harbour.example&sort=closest&closest=20140501&limit=3", "2 1 3"},
		{"sort", "url=harbour.example&sort=closest&closest=20140401&limit=2", "1 2"},
		{"sort", "url=harbour.example&closest=20140601120000&limit=1", "2"},
		{"sort", "url=harbour.example&closest=1999&limit=1", "0"},
		{"sort", "url=harbour.example&closest=2999&limit=2", "3 2"},
		{"sort", "url=harbour.example&closest=2014041612&limit=2&filter==status:200", "2 0"},
		{"filter", "url=harbour.example/*&filter==mime:text/html&filter=!=status:200", "1 5"},
		{"filter", `url=harbour.example&matchType=domain&filter=~url:.*\.php$`, "5"},
		{"filter", `url=harbour.example&matchType=domain&filter=~url:.*\.php`, "5 8"},
		{"filter", "url=harbour.example/*&filter=mime:html", "0 1 2 4 5 7"},
		{"filter", "url=harbour.example/*&filter==mime:text/html", "0 1 2 4 5"},
		{"filter", "url=harbour.example/*&filter=~mime:.*/html$", "0 1 2 4 5"},
		{"filter", "url=harbour.example/*&filter=~mime:html", ""}, // it matches at the beginning
		{"filter", "url=harbour.example/*&filter=!mime:html", "3 6"},
		{"filter", "url=harbour.example/*&filter=!=mime:text/html", "3 6 7"},
		{"filter", "url=harbour.example/*&filter=!~mime:.*/html", "3 6 7"},
		{"filter", "url=harbour.example/*&filter=~mime:a|image", "6 7"}, // both alternatives at the beginning
		{"filter", "url=harbour.example/*&filter==status:", "3"},
		{"filter", "url=harbour.example&filter=!=statuscode:200&filter=mimetype:html&filter=original:www", "1"},
		{"filter", "url=harbour.example&filter=urlkey:)/&filter=digest:2013", "0"},
		{"page", "url=*.harbour.example&pageSize=4&page=0", "0 1 2 3"},
		{"page", "url=*.harbour.example&pageSize=4", "0 1 2 3"},
		{"page", "url=*.harbour.example&pageSize=4&page=2", "8"},
		{"page", "url=*.harbour.example&pageSize=4&page=1&limit=3", "4 5 6"},
		{"page", "url=*.harbour.example&pageSize=3&page=3",
			`error: page="3": there is no such page; the last page is 2`},
		{"page", "url=nothing.example&page=0", ""},
		{"page", "url=nothing.example&page=1", `error: page="1": there is no such page; the last page is 0`},
	} {
		row.query = strings.ReplaceAll(row.query, "+", "%2B")
		if got := numbers(t, row.query); got != row.want {
			t.Errorf("%s: %s: %q, not %q", row.section, row.query, got, row.want)
		}
	}
}

// TestRanges: which keys a query asks for.
func TestRanges(t *testing.T) {
	for _, row := range []struct {
		query string
		want  []Range
	}{
		{"url=http://a.example/path/file.html",
			[]Range{{"example,a)/path/file.html", "example,a)/path/file.html\x00"}}},
		{"url=http://a.example/path/file.html&matchType=prefix",
			[]Range{{"example,a)/path/file.html", "example,a)/path/file.htmm"}}},
		{"url=http://a.example/path/&matchType=prefix", []Range{{"example,a)/path/", "example,a)/path0"}}},
		{"url=http://a.example/path?&matchType=prefix", []Range{{"example,a)/path?", "example,a)/path@"}}},
		{"url=http://a.example/path/?&matchType=prefix", []Range{{"example,a)/path?", "example,a)/path@"}}},
		{"url=http://a.example/path/file.html&matchType=host", []Range{{"example,a)", "example,a*"}}},
		{"url=http://a.example/path/file.html&matchType=domain",
			[]Range{{"example,a)", "example,a*"}, {"example,a,", "example,a-"}}},
		{"url=com&matchType=domain", []Range{{"com)", "com*"}, {"com,", "com-"}}},
		{"url=urn:some:id", []Range{{"urn:some:id", "urn:some:id\x00"}}},
	} {
		values, _ := url.ParseQuery(row.query)
		q, err := Parse(values)
		if err != nil || !slices.Equal(q.Ranges(), row.want) {
			t.Errorf("%s: %q, error %v", row.query, q.Ranges(), err)
		}
	}
	if after("\xff\xff") != "" || !(Range{"a", ""}).Contains("b") {
		t.Error("a range without end")
	}
}

// TestRefused: a parameter that cannot be obeyed is an error that names it.
func TestRefused(t *testing.T) {
	long := strings.Repeat("a", 257)
	for query, parameter := range map[string]string{
		"":                                 "url",
		"url=":                             "url",
		"url=*":                            "url",
		"url=*.":                           "url",
		"url=" + strings.Repeat("a", 8001): "url",
		"url=a&url=b":                      "url",
		"url=a&matchType=range":            "matchType",
		"url=a&matchType=Exact":            "matchType",
		"url=mailto:a&matchType=host":      "url",
		"url=*.a.example:8080":             "url",
		"url=a&allowFuzzy=true":            "allowFuzzy",
		"url=a&showPagedIndex=true":        "showPagedIndex",
		"url=a&resolveRevisits=true":       "resolveRevisits",
		"url=a&from=20x4":                  "from",
		"url=a&from=201413":                "from",
		"url=a&to=20140230":                "to",
		"url=a&to=201401010000000":         "to",
		"url=a&to=-2014":                   "to",
		"url=a&limit=0":                    "limit",
		"url=a&limit=-1":                   "limit",
		"url=a&limit=%2B1":                 "limit",
		"url=a&limit=ten":                  "limit",
		"url=a&limit=99999999999999999999": "limit",
		"url=a&sort=forward":               "sort",
		"url=a&sort=closest":               "sort",
		"url=a&sort=closest&closest=x":     "closest",
		"url=a&closest=201":                "closest",
		"url=a&closest=20145":              "closest",
		"url=a&closest=2014&sort=reverse":  "closest",
		"url=a*&closest=2014":              "closest",
		"url=a&output=xml":                 "output",
		"url=a&filter=html":                "filter",
		// an example in pywb's documentation that names no field:
		"url=a&filter=!~text/.*":                      "filter",
		"url=a&filter=size:3":                         "filter",
		"url=a&filter=filename:a.warc":                "filter",
		"url=a&filter=offset:0":                       "filter",
		"url=a&filter=mime:a&filter=~url:(":           "filter",
		"url=a&filter=~url:a)|(b":                     "filter",
		"url=a&filter=~url:(%3f=a)":                   "filter",
		`url=a&filter=~url:a\`:                        "filter",
		"url=a&filter=~url:" + long:                   "filter",
		"url=a&filter=~url:(.{1000}){1000}":           "filter",
		"url=a&filter=~url:.{999}.{999}":              "filter",
		"url=a&filter=~url:.{600}&filter=~url:.{600}": "filter",
		"url=a" + strings.Repeat("&filter=url:a", 17): "filter",
		"url=a&fields=urlkey,nosuch":                  "fields",
		"url=a&fl=filename":                           "fl",
		"url=a&fl=offset":                             "fl",
		"url=a&fields=url,url":                        "fields",
		"url=a&fields=url,original":                   "fields",
		"url=a&fields=url,":                           "fields",
		"url=a&fields=url&fl=url":                     "fl",
		"url=a&fields=url&output=link":                "fields",
		"url=a&page=-1":                               "page",
		"url=a&page=x":                                "page",
		"url=a&pageSize=0":                            "pageSize",
		"url=a&pageSize=10001":                        "pageSize",
		"url=a&showNumPages=yes":                      "showNumPages",
		"url=a&page=0&sort=reverse":                   "sort",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		_, err = Parse(values)
		if e, is := errors.AsType[*Error](err); !is || e.Parameter != parameter || e.Reason == "" ||
			e.Value != values.Get(parameter) && parameter != "filter" {
			t.Errorf("%.60s: error %v", query, err)
		}
	}
	for _, query := range []string{"url=a&limit=&from=&to=&sort=&closest=&filter=&fields=&output=&page=&matchType=",
		`url=a&filter=~url:\Qa(`, "url=a&filter=~url:(?i)A", "url=a&filter=~url:" + long[:256],
		"url=a&showNumPages=false"} {
		values, _ := url.ParseQuery(query)
		if _, err := Parse(values); err != nil {
			t.Errorf("%.60s: error %v", query, err)
		}
	}
}

// answer writes the answer to a query.
func answer(t *testing.T, query string, list []Record) (text, contentType string) {
	t.Helper()
	values, _ := url.ParseQuery(query)
	q, err := Parse(values)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var b bytes.Buffer
	asked := 0
	err = q.Write(&b, from(list, &asked), func(r Record) string { return "/raw/" + r.Timestamp + "/" + r.URL })
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return b.String(), q.ContentType()
}

func TestOutputs(t *testing.T) {
	odd := []Record{{URLKey: "example,harbour)/%20", Timestamp: "20140101000000", URL: "http://harbour.example/ ",
		MIME: "text html\r\n\"<&>", Length: "0"}}
	for _, row := range []struct{ query, contentType, want string }{
		{"url=harbour.example&limit=2", "text/x-cdxj",
			`example,harbour)/ 20130101000000 {"url": "http://harbour.example/", ` +
				`"mime": "text/html", "status": "200", ` +
				`"digest": "sha256:20130101000000", "length": "12"}` + "\n" +
				`example,harbour)/ 20140301120000 {"url": "https://www.harbour.example/", "mime": "text/html", ` +
				`"status": "301", "digest": "sha256:20140301120000", "length": "12"}` + "\n"},
		{"url=harbour.example&limit=1&output=json", "text/x-ndjson", `{"urlkey": "example,harbour)/", ` +
			`"timestamp": "20130101000000", "url": "http://harbour.example/", "mime": "text/html", "status": "200", ` +
			`"digest": "sha256:20130101000000", "length": "12"}` + "\n"},
		{"url=harbour.example&limit=1&output=text", "text/plain; charset=utf-8",
			"example,harbour)/ 20130101000000 http://harbour.example/ text/html 200 sha256:20130101000000 12\n"},
		{"url=harbour.example&limit=2&output=link&from=2014", "application/link-format",
			`</raw/20140301120000/https://www.harbour.example/>; rel="memento"; ` +
				`datetime="Sat, 01 Mar 2014 12:00:00 GMT",
</raw/20140601120000/http://harbour.example/>; rel="memento"; datetime="Sun, 01 Jun 2014 12:00:00 GMT"
`},
		{"url=harbour.example&limit=1&fields=urlkey,timestamp", "text/x-cdxj", "example,harbour)/ 20130101000000 {}\n"},
		{"url=harbour.example&limit=1&fields=status,urlkey", "text/x-cdxj",
			`example,harbour)/ 20130101000000 {"status": "200"}` + "\n"},
		{"url=harbour.example&limit=1&fl=timestamp,urlkey&output=json", "text/x-ndjson",
			`{"timestamp": "20130101000000", "urlkey": "example,harbour)/"}` + "\n"},
		{"url=harbour.example&from=2015&fl=status,mimetype&output=text", "text/plain; charset=utf-8",
			"- warc/revisit\n"},
		{"url=harbour.example&from=2015&fl=status&output=json", "text/x-ndjson", "{}\n"},
		{"url=nothing.example", "text/x-cdxj", ""},
		{"url=nothing.example&output=link", "application/link-format", ""},
		{"url=*.harbour.example&showNumPages=true&pageSize=4", "application/json",
			`{"blocks": 9, "pages": 3, "pageSize": 4}` + "\n"},
		{"url=*.harbour.example&showNumPages=1&filter=mime:png", "application/json",
			`{"blocks": 1, "pages": 1, "pageSize": 1000}` + "\n"},
		{"url=nothing.example&showNumPages=true&limit=5&output=text", "application/json",
			`{"blocks": 0, "pages": 1, "pageSize": 1000}` + "\n"},
	} {
		if got, contentType := answer(t, row.query, shelf); got != row.want || contentType != row.contentType {
			t.Errorf("%s: %s:\n%s", row.query, contentType, got)
		}
	}
	if got, _ := answer(t, "url=harbour.example/*&output=text&fl=url,mime,digest", odd); got !=
		"http://harbour.example/ text%20html%20\"<&> -\n" {
		t.Errorf("white space in values: %q", got)
	}
	got, _ := answer(t, "url=harbour.example/*&fl=mime", odd)
	if got != `example,harbour)/%20 20140101000000 {"mime": "text html\r\n\"<&>"}`+"\n" {
		t.Errorf("quotation marks in values: %q", got)
	}
}

// TestPagesAreTheWhole: the pages together are all records.
func TestPagesAreTheWhole(t *testing.T) {
	for size := 1; size <= 5; size++ {
		var b strings.Builder
		query := fmt.Sprintf("url=*.harbour.example&pageSize=%d", size)
		var count struct{ Pages int }
		text, _ := answer(t, query+"&showNumPages=true", shelf)
		if err := json.Unmarshal([]byte(text), &count); err != nil {
			t.Fatal(err)
		}
		for n := range count.Pages {
			page, _ := answer(t, fmt.Sprintf("%s&page=%d", query, n), shelf)
			b.WriteString(page)
		}
		if all, _ := answer(t, "url=*.harbour.example", shelf); b.String() != all {
			t.Errorf("pages of %d: %s", size, b.String())
		}
	}
}

// TestReadsNoMore: records are asked for only as long as they are needed.
func TestReadsNoMore(t *testing.T) {
	for query, most := range map[string]int{
		"url=harbour.example&limit=2": 2, "url=harbour.example&pageSize=1&page=1": 2,
		"url=harbour.example&closest=2013&limit=1": 2,
	} {
		values, _ := url.ParseQuery(query)
		q, err := Parse(values)
		asked := 0
		if err != nil || q.Write(io.Discard, from(shelf, &asked), nil) != nil || asked != most {
			t.Errorf("%s: asked for %d records, error %v", query, asked, err)
		}
	}
}

// TestMemory: sort holds a limited number of records, or fails before it writes anything.
func TestMemory(t *testing.T) {
	many := func(n, length int) Records {
		return func(yield func(Record, error) bool) {
			r := record("http://harbour.example/", "", "text/html", "200")
			for i := range n {
				r.Timestamp, r.URL = fmt.Sprintf("2014%010d", i), strings.Repeat("a", length)
				if !yield(r, nil) {
					return
				}
			}
		}
	}
	for _, row := range []struct {
		query     string
		n, length int
		fails     bool
	}{
		{"sort=reverse", 10_000, 10, false},
		{"sort=reverse", 10_001, 10, true},
		{"sort=reverse&limit=20000", 10_001, 10, true},
		{"sort=reverse&limit=1000", 50_000, 10, false},
		{"sort=reverse", 3_000, 8_000, true},
		{"sort=reverse&limit=100", 3_000, 8_000, false},
		{"closest=2999", 10_001, 10, true},
		{"closest=2999&limit=1000", 50_000, 10, false},
		{"sort=", 50_000, 10, false},
	} {
		values, _ := url.ParseQuery("url=harbour.example&" + row.query)
		q, err := Parse(values)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		err = q.Write(&b, many(row.n, row.length), nil)
		if _, is := errors.AsType[*Error](err); is != row.fails || is && b.Len() > 0 || !is && b.Len() == 0 {
			t.Errorf("%s of %d records: %d bytes, error %v", row.query, row.n, b.Len(), err)
		}
	}
}

func TestErrorOfRecords(t *testing.T) {
	broken := errors.New("broken")
	records := func(yield func(Record, error) bool) {
		_ = yield(shelf[0], nil) && yield(Record{}, broken)
	}
	for _, query := range []string{"", "&limit=5", "&sort=reverse", "&closest=2014", "&page=0", "&showNumPages=true"} {
		values, _ := url.ParseQuery("url=harbour.example" + query)
		q, err := Parse(values)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Write(io.Discard, records, nil); !errors.Is(err, broken) {
			t.Errorf("%s: error %v", query, err)
		}
	}
	var bad = []Record{{URLKey: "example,a)/", Timestamp: "2014"}}
	values, _ := url.ParseQuery("url=a.example&output=link")
	q, _ := Parse(values)
	asked := 0
	if err := q.Write(io.Discard, from(bad, &asked), func(Record) string { return "" }); err == nil {
		t.Error("a record without a time became a link")
	}
}

// FuzzQuery answers arbitrary queries. The answer has one line for each record of Select, and each
// record is in the ranges.
func FuzzQuery(f *testing.F) {
	f.Add("url=*.harbour.example&filter=~url:.*php&fields=url,mime&output=text")
	f.Add("url=http://harbour.example/path/*&from=2014&to=20141&limit=3&sort=reverse")
	f.Add("url=harbour.example&closest=20140501&filter=!=status:200&output=link")
	f.Add("url=harbour.example&page=1&pageSize=2&showNumPages=true")
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		q, err := Parse(values)
		if err != nil {
			if _, is := errors.AsType[*Error](err); !is {
				t.Fatal(err)
			}
			return
		}
		asked, lines := 0, 0
		for r, err := range q.Select(from(shelf, &asked)) {
			if err == nil && !slices.ContainsFunc(q.Ranges(), func(keys Range) bool {
				return keys.Contains(r.URLKey)
			}) {
				t.Errorf("%s is outside of %v", r.URLKey, q.Ranges())
			}
			if err != nil {
				return
			}
			lines++
		}
		var b bytes.Buffer
		if err := q.Write(&b, from(shelf, &asked), func(r Record) string { return r.URL }); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "\n"); got != lines && !q.count {
			t.Errorf("%d lines for %d records:\n%s", got, lines, b.String())
		}
	})
}

// FuzzRecord writes arbitrary records. A value never ends a line or a field.
func FuzzRecord(f *testing.F) {
	f.Add("http://a.example/ b\n", "text/html\r\n", "200 \u2028")
	f.Fuzz(func(t *testing.T, address, mime, status string) {
		r := record(address, "20140101000000", mime, status)
		for _, output := range []string{"cdxj", "json", "text", "link"} {
			q, err := Parse(url.Values{"url": {"a.example"}, "output": {output}})
			if err != nil {
				t.Fatal(err)
			}
			q.ranges = []Range{{}}
			var b bytes.Buffer
			asked := 0
			if err := q.Write(&b, from([]Record{r}, &asked), func(r Record) string { return r.URL }); err != nil {
				t.Fatal(err)
			}
			line := strings.TrimSuffix(b.String(), "\n")
			if strings.ContainsAny(line, "\r\n") {
				t.Fatalf("%s: two lines: %q", output, line)
			}
			switch fields := strings.SplitN(line, " ", 3); {
			case output == "json" && !json.Valid([]byte(line)):
				t.Errorf("not JSON: %s", line)
			case output == "cdxj" && (len(fields) != 3 || !json.Valid([]byte(fields[2]))):
				t.Errorf("not CDXJ: %s", line)
			case output == "text" && len(strings.Split(line, " ")) != len(names):
				t.Errorf("not %d fields: %q", len(names), line)
			}
		}
	})
}
