package view

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

const base = "https://archive.example"

// ask sends a request to a server that the visitor knows as base. The target is sent exactly as written.
func ask(h *Handler, method, sent string, header ...string) *httptest.ResponseRecorder {
	return askFrom(h, Visitor{Base: base}, method, sent, header...)
}

func askFrom(h *Handler, v Visitor, method, sent string, header ...string) *httptest.ResponseRecorder {
	return askWithin(context.Background(), h, v, method, sent, header...)
}

func askWithin(ctx context.Context, h *Handler, v Visitor, method, sent string, header ...string,
) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, "/", nil)
	r.RequestURI = strings.TrimPrefix(sent, base)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(WithVisitor(r.Context(), v)))
	return w
}

func stocked(t testing.TB) (*stock.Stock, *Handler) {
	t.Helper()
	s := stock.New(t)
	h, err := New(Options{Presenter: s})
	if err != nil {
		t.Fatal(err)
	}
	return s, h
}

// webLink is a link that was read from a Link header or a TimeMap (RFC 8288 3).
type webLink struct {
	target string
	params map[string]string
}

func (l webLink) has(rel string) bool { return slices.Contains(strings.Fields(l.params["rel"]), rel) }

func links(t testing.TB, text string) (list []webLink) {
	t.Helper()
	link := regexp.MustCompile(`^\s*<([^>]*)>((?:; [a-z]+="[^"]*")*)\s*(?:,|$)`)
	for text = strings.TrimSpace(text); text != ""; {
		m := link.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no link at %.80q", text)
		}
		l := webLink{m[1], map[string]string{}}
		for _, p := range regexp.MustCompile(`; ([a-z]+)="([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
			l.params[p[1]] = p[2]
		}
		list, text = append(list, l), text[len(m[0]):]
	}
	return list
}

// targets returns the targets of the links with a relation.
func targets(list []webLink, rel string) (out []string) {
	for _, l := range list {
		if l.has(rel) {
			out = append(out, l.target)
		}
	}
	return out
}

func every(list []webLink, is func(webLink) bool) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(l webLink) bool { return !is(l) })
}

// must is a demand of RFC 7089, and whether the answers obey it. TestMustsOfTimeGates, TestMustsOfTimeMaps and
// TestMustsOfMementos have a row for each MUST for a server whose TimeGates redirect to mementos (pattern 2.1).
type must struct {
	paragraph, text string
	obeyed          bool
}

func checkMusts(t *testing.T, list []must) {
	t.Helper()
	for _, one := range list {
		if !one.obeyed {
			t.Errorf("RFC 7089 %s: %s: does not hold", one.paragraph, one.text)
		}
	}
}

// tides is a page with three versions, fetched at tideTimes.
const (
	tides     = stock.Site + "/tides?at=north,south&x=%7C"
	tideTimes = "20000620180259 20010320133610 20080409203051"
	middle    = "Tue, 20 Mar 2001 13:36:10 GMT"
)

// holdTides archives tides. uri returns the address of a version, from 0.
func holdTides(t *testing.T) (s *stock.Stock, h *Handler, uri func(int) string) {
	s, h = stocked(t)
	times := strings.Fields(tideTimes)
	for i, one := range times {
		at, _ := memento.ParseTimestamp(one)
		s.Hold(strings.TrimPrefix(tides, stock.Site), "<p>version "+string(rune('1'+i)), at)
	}
	return s, h, func(i int) string { return base + "/raw/" + times[i] + "/" + tides }
}

func TestMustsOfTimeGates(t *testing.T) {
	_, h, uri := holdTides(t)
	gate := func(at string) *httptest.ResponseRecorder {
		return ask(h, "GET", "/timegate/"+tides, "Accept-Datetime", at)
	}
	answer, none := gate(middle), ask(h, "GET", "/timegate/"+tides)
	gateLinks := links(t, answer.Header().Get("Link"))
	checkMusts(t, []must{
		{"2.1.1", "a datetime is an RFC 1123 date in GMT", every(gateLinks, func(l webLink) bool {
			_, err := memento.ParseDate(l.params["datetime"])
			return !l.has("memento") || err == nil
		})},
		{"2.1.2", "Vary of a TimeGate contains accept-datetime", answer.Header().Get("Vary") == "accept-datetime"},
		{"2.2.1", "a TimeGate links to the original", slices.Equal(targets(gateLinks, "original"), []string{tides})},
		{"2.2.2", "the link timegate leads to the TimeGate",
			slices.Equal(targets(gateLinks, "timegate"), []string{base + "/timegate/" + tides})},
		{"2.2.3", "the link timemap leads to the TimeMap, and has its type",
			slices.Equal(targets(gateLinks, "timemap"), []string{base + "/timemap/link/" + tides}) &&
				every(gateLinks, func(l webLink) bool {
					return !l.has("timemap") || l.params["type"] == "application/link-format"
				})},
		{"2.2.4", "each link to a memento has the time of the memento", every(gateLinks, func(l webLink) bool {
			at, err := memento.ParseDate(l.params["datetime"])
			return !l.has("memento") || err == nil && strings.Contains(l.target, memento.Timestamp(at))
		})},
		{"4.2.1", "a TimeGate redirects with status 302 to a memento",
			answer.Code == 302 && answer.Header().Get("Location") == uri(1)},
		{"4.2.1", "a TimeGate sends no Memento-Datetime", answer.Header().Get("Memento-Datetime") == ""},
		{"4.2.1", "HEAD has the same header", headers(ask(h, "HEAD", "/timegate/"+tides, "Accept-Datetime", middle)) ==
			headers(answer)},
		{"4.5.3", "without Accept-Datetime the TimeGate selects the latest memento",
			none.Code == 302 && none.Header().Get("Location") == uri(2) &&
				none.Header().Get("Vary") == "accept-datetime"},
		{"4.5.3", "a time before the first memento selects the first",
			gate("Mon, 01 Jan 1990 00:00:00 GMT").Header().Get("Location") == uri(0)},
		{"4.5.3", "a time after the last memento selects the last",
			gate("Wed, 01 Jan 2020 00:00:00 GMT").Header().Get("Location") == uri(2)},
		{"4.5.3", "a malformed Accept-Datetime is status 400", gate("2001-03-20").Code == 400 &&
			gate("Tue, 20 Mar 2001 13:36:10 EST").Code == 400 && gate("").Code == 400},
	})
}

func TestMustsOfTimeMaps(t *testing.T) {
	_, h, uri := holdTides(t)
	table := ask(h, "GET", "/timemap/link/"+tides)
	listed := links(t, table.Body.String())
	checkMusts(t, []must{
		{"2.1.1", "a datetime is an RFC 1123 date in GMT, the time of the memento", every(listed, func(l webLink) bool {
			at, err := memento.ParseDate(l.params["datetime"])
			return !l.has("memento") || err == nil && strings.Contains(l.target, memento.Timestamp(at))
		})},
		{"4.5.6", "Vary of a TimeMap lacks accept-datetime", table.Header().Get("Vary") == ""},
		{"5", "a TimeMap lists the original", slices.Equal(targets(listed, "original"), []string{tides})},
		{"5", "a TimeMap lists every memento once",
			slices.Equal(targets(listed, "memento"), []string{uri(0), uri(1), uri(2)})},
		{"5", "a TimeMap says of each resource what it is", every(listed, func(l webLink) bool {
			return l.has("original") || l.has("timegate") || l.has("self") || l.has("memento")
		})},
		{"5", "a TimeMap has the type application/link-format",
			table.Code == 200 && table.Header().Get("Content-Type") == "application/link-format"},
		{"4.5.3", "only a TimeGate obeys Accept-Datetime", ask(h, "GET", "/timemap/link/"+tides, "Accept-Datetime",
			"x").Body.String() == table.Body.String()},
		{"5", "a TimeMap is no memento", table.Header().Get("Memento-Datetime") == ""},
		// These are SHOULD.
		{"5", "a TimeMap lists the TimeGate", slices.Equal(targets(listed, "timegate"),
			[]string{base + "/timegate/" + tides})},
		{"5", "a TimeMap lists itself, with the time that it covers", every(listed, func(l webLink) bool {
			return !l.has("self") || l.target == base+"/timemap/link/"+tides &&
				l.params["from"] == "Tue, 20 Jun 2000 18:02:59 GMT" &&
				l.params["until"] == "Wed, 09 Apr 2008 20:30:51 GMT"
		})},
	})
}

func TestMustsOfMementos(t *testing.T) {
	s, h, uri := holdTides(t)
	copied, other := ask(h, "GET", uri(1)), ask(h, "GET", "/raw/20030101000000/"+tides)
	copyLinks := links(t, copied.Header().Get("Link"))
	listed := links(t, ask(h, "GET", "/timemap/link/"+tides).Body.String())
	moved, failed := statuses(t, s, h)
	never := ask(h, "GET", "/raw/20030101000000/"+stock.Site+"/never")
	checkMusts(t, []must{
		{"2.1.1", "Memento-Datetime is an RFC 1123 date in GMT, the time of the memento",
			copied.Header().Get("Memento-Datetime") == middle},
		{"2.1.1", "Memento-Datetime of a memento never changes", ask(h, "GET", uri(1), "Accept-Datetime",
			"Wed, 01 Jan 2020 00:00:00 GMT").Header().Get("Memento-Datetime") == middle},
		{"2.2.1", "a memento links to the original", slices.Equal(targets(copyLinks, "original"), []string{tides})},
		{"2.2.2", "a memento links to the TimeGate",
			slices.Equal(targets(copyLinks, "timegate"), []string{base + "/timegate/" + tides})},
		{"2.2.4", "a link to a memento has its Memento-Datetime", every(slices.Concat(copyLinks, listed),
			func(l webLink) bool {
				return !l.has("memento") ||
					ask(h, "HEAD", l.target).Header().Get("Memento-Datetime") == l.params["datetime"]
			})},
		{"4.2.1", "a memento answers with status 200 and Memento-Datetime",
			copied.Code == 200 && copied.Header().Get("Memento-Datetime") != ""},
		{"4.2.1", "Vary of a memento lacks accept-datetime", !varies(copied)},
		{"4.5.4", "a memento of a redirect has its status, Memento-Datetime and the link to the original",
			moved.Code == 301 && isMemento(t, moved, stock.Site+"/moved")},
		{"4.5.5", "a memento of an error has its status, Memento-Datetime and the link to the original",
			failed.Code == 404 && isMemento(t, failed, stock.Site+"/failed")},
		{"4.5.5", "an answer without memento has no Memento-Datetime",
			never.Code == 404 && never.Header().Get("Memento-Datetime") == ""},
		{"4.5.7", "a redirect to a memento has no Memento-Datetime",
			other.Code == 302 && other.Header().Get("Memento-Datetime") == ""},
		{"4.5.7", "a redirect to a memento links to the original", slices.Equal(targets(links(t,
			other.Header().Get("Link")), "original"), []string{tides})},
		{"4.5.7", "Vary of a redirect that is no TimeGate lacks accept-datetime", !varies(other)},
	})
}

// statuses returns the answers for archived answers with status 301 and 404.
func statuses(t *testing.T, s *stock.Stock, h *Handler) (moved, failed *httptest.ResponseRecorder) {
	at := time.Date(2008, 1, 1, 0, 0, 0, 0, time.UTC)
	s.HoldAnswer(stock.Site+"/moved", 301, http.Header{"Location": {"/failed"}}, []byte{}, at)
	s.HoldAnswer(stock.Site+"/failed", 404, http.Header{"Content-Type": {"text/plain"}}, []byte("no"), at)
	return ask(h, "GET", "/raw/20080101000000/"+stock.Site+"/moved"),
		ask(h, "GET", "/raw/20080101000000/"+stock.Site+"/failed")
}

func varies(w *httptest.ResponseRecorder) bool {
	return strings.Contains(strings.ToLower(strings.Join(w.Header().Values("Vary"), ",")), "accept-datetime")
}

func isMemento(t *testing.T, w *httptest.ResponseRecorder, original string) bool {
	return w.Header().Get("Memento-Datetime") == "Tue, 01 Jan 2008 00:00:00 GMT" && !varies(w) &&
		slices.Equal(targets(links(t, w.Header().Get("Link")), "original"), []string{original})
}

// TestMementoClient follows the links of RFC 7089 as a client does that knows only where the TimeGate is: from the
// original to the TimeGate, its TimeMap, and every memento.
func TestMementoClient(t *testing.T) {
	s, h := stocked(t)
	const page = stock.Site + "/news?day=1"
	bodies := map[string]string{}
	for i := range 5 {
		at := time.Date(2020+i, 2, 3, 4, 5, 6, 0, time.UTC)
		bodies[memento.Date(at)] = "<p>version " + string(rune('1'+i))
		s.Hold("/news?day=1", bodies[memento.Date(at)], at)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(WithVisitor(r.Context(), Visitor{Base: "http://" + r.Host})))
	}))
	defer server.Close()
	fetch := func(address, datetime string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if datetime != "" {
			r.Header.Set("Accept-Datetime", datetime)
		}
		answer, err := server.Client().Do(r) // follows redirects
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != 200 {
			t.Fatalf("%s: %d, %v", address, answer.StatusCode, err)
		}
		return answer, string(body)
	}
	const wanted = "Sat, 01 Jan 2022 00:00:00 GMT"
	answer, body := fetch(server.URL+"/timegate/"+page, wanted)
	if at := answer.Header.Get("Memento-Datetime"); at != "Wed, 03 Feb 2021 04:05:06 GMT" || body != bodies[at] {
		t.Fatalf("%s: %s", at, body)
	}
	maps := targets(links(t, answer.Header.Get("Link")), "timemap")
	if len(maps) != 1 {
		t.Fatal(maps)
	}
	_, list := fetch(maps[0], "")
	seen := map[string]string{}
	for _, l := range links(t, list) {
		if l.has("memento") {
			answer, body := fetch(l.target, "")
			if at := answer.Header.Get("Memento-Datetime"); at != l.params["datetime"] {
				t.Errorf("%s: %s, listed with %s", l.target, at, l.params["datetime"])
			}
			seen[l.params["datetime"]] = body
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d mementos", len(seen))
	}
	for at, body := range bodies {
		if seen[at] != body {
			t.Errorf("%s: %q, want %q", at, seen[at], body)
		}
	}
}

// headers returns status and header of an answer as text.
func headers(w *httptest.ResponseRecorder) string {
	var b strings.Builder
	b.WriteString(http.StatusText(w.Code) + "\n")
	w.Header().Write(&b)
	return b.String()
}

// TestMementoStatus checks what TimeGate and TimeMap answer if nothing may be shown: the same status, no
// Memento-Datetime, not to be stored, and for a page without a link the same bytes as for one that was
// never archived.
func TestMementoStatus(t *testing.T) {
	s, h := stocked(t)
	at := time.Now().Add(-time.Hour)
	s.Hold("/a", "<p>secret", at)
	s.Hold("/gone", "<p>secret", at)
	s.Erase("/gone", "a time limit has ended", at)
	check := func(name, path string, v Visitor, status int) {
		t.Helper()
		for _, prefix := range []string{"/timegate/", "/timemap/link/", "/timemap/json/", "/timemap/link/1/"} {
			w := askFrom(h, v, "GET", prefix+stock.Site+path)
			if w.Code != status || w.Header().Get("Memento-Datetime") != "" ||
				status >= 400 && w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %s%s: %d, want %d; %v", name, prefix, path, w.Code, status, w.Header())
			}
			other := "/" + strings.Repeat("z", len(path)-1)
			never := askFrom(h, v, "GET", prefix+stock.Site+other)
			body := strings.ReplaceAll(never.Body.String(), stock.Site+other+"<", stock.Site+path+"<")
			if status == 404 && (w.Body.String() != body || headers(w) != headers(never)) {
				t.Errorf("%s: %s%s: the answer differs from that for a page never archived", name, prefix, path)
			}
			if status >= 400 && strings.Contains(headers(w)+w.Body.String(), memento.Timestamp(at)) {
				t.Errorf("%s: %s%s: the answer contains the time of a version", name, prefix, path)
			}
		}
	}
	nobody := Visitor{Base: base}
	france := Visitor{Base: base, Reader: acap.Target{Country: "FR"}}
	if w := ask(h, "GET", "/timegate/"+stock.Site+"/a"); w.Code != 302 {
		t.Fatalf("a page that may be shown: %d", w.Code)
	}
	check("never held", "/never", nobody, 404)
	check("erased", "/gone", nobody, 410)
	s.SetRobots("ACAP-disallow-present-currentcopy: /\nACAP-disallow-present-oldcopy: /")
	check("no copy, a link", "/a", nobody, 451)
	s.SetRobots("ACAP-disallow-present: /")
	check("not even a link", "/a", nobody, 404)
	check("erased, not even a link", "/gone", nobody, 404)
	s.SetRobots("ACAP-allow-present: / target-condition=prohibitedcountrylist:FR")
	check("not even a link in this country", "/a", france, 404)
	s.SetRobots("ACAP-request-take-down: /a")
	check("taken down", "/a", nobody, 410)
	s.SetUnread()
	check("no policy", "/a", nobody, 503)
	for _, sent := range []string{"/timegate/quay.example", "/timemap/link/", "/timemap/link/0/" + stock.Site + "/a",
		"/timemap/link/01/" + stock.Site + "/a", "/timemap/json/99999999999999999999/" + stock.Site + "/a"} {
		if w := ask(h, "GET", sent); w.Code != 400 {
			t.Errorf("%s: %d", sent, w.Code)
		}
	}
}
