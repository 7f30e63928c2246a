package view

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/stock"
	"github.com/acapcrawl/acapcrawl/memento"
)

const base = "https://archive.example"

// ask sends a request to a server that the visitor knows as base. The target is sent exactly as written.
func ask(h *Handler, method, sent string, header ...string) *httptest.ResponseRecorder {
	return askFrom(h, Visitor{Base: base}, method, sent, header...)
}

func askFrom(h *Handler, v Visitor, method, sent string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", nil)
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

// TestMemento has a row for each MUST of RFC 7089 for a server whose TimeGates redirect to mementos
// (pattern 2.1), for the answers of the handlers.
func TestMemento(t *testing.T) {
	s, h := stocked(t)
	const page = stock.Site + "/tides?at=north,south&x=%7C"
	times := []string{"20000620180259", "20010320133610", "20080409203051"}
	for i, one := range times {
		at, _ := memento.ParseTimestamp(one)
		s.Hold("/tides?at=north,south&x=%7C", "<p>version "+string(rune('1'+i)), at)
	}
	gate := func(at string) *httptest.ResponseRecorder {
		return ask(h, "GET", "/timegate/"+page, "Accept-Datetime", at)
	}
	uri := func(i int) string { return base + "/raw/" + times[i] + "/" + page }
	const middle = "Tue, 20 Mar 2001 13:36:10 GMT"
	answer, none := gate(middle), ask(h, "GET", "/timegate/"+page)
	gateLinks := links(t, answer.Header().Get("Link"))
	table := ask(h, "GET", "/timemap/link/"+page)
	listed := links(t, table.Body.String())
	withheld := ask(h, "GET", "/timegate/"+stock.Site+"/never", "Accept-Datetime", middle)
	for _, row := range []struct {
		paragraph, must string
		kept            bool
	}{
		{"2.1.1", "a datetime is an RFC 1123 date in GMT", every(slices.Concat(gateLinks, listed), func(l webLink) bool {
			_, err := memento.ParseDate(l.params["datetime"])
			return !l.has("memento") || err == nil
		})},
		{"2.1.2", "Vary of a TimeGate contains accept-datetime", answer.Header().Get("Vary") == "accept-datetime"},
		{"2.2.1", "a TimeGate links to the original", slices.Equal(targets(gateLinks, "original"), []string{page})},
		{"2.2.2", "the link timegate leads to the TimeGate",
			slices.Equal(targets(gateLinks, "timegate"), []string{base + "/timegate/" + page})},
		{"2.2.3", "the link timemap leads to the TimeMap, and has its type",
			slices.Equal(targets(gateLinks, "timemap"), []string{base + "/timemap/link/" + page}) &&
				every(gateLinks, func(l webLink) bool {
					return !l.has("timemap") || l.params["type"] == "application/link-format"
				})},
		{"2.2.4", "each link to a memento has the time of the memento", every(slices.Concat(gateLinks, listed),
			func(l webLink) bool {
				at, err := memento.ParseDate(l.params["datetime"])
				return !l.has("memento") || err == nil && strings.Contains(l.target, memento.Timestamp(at))
			})},
		{"4.2.1", "a TimeGate redirects with status 302 to a memento",
			answer.Code == 302 && answer.Header().Get("Location") == uri(1)},
		{"4.2.1", "a TimeGate sends no Memento-Datetime", answer.Header().Get("Memento-Datetime") == ""},
		{"4.2.1", "HEAD has the same header", headers(ask(h, "HEAD", "/timegate/"+page, "Accept-Datetime", middle)) ==
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
		{"4.5.3", "only a TimeGate obeys Accept-Datetime", ask(h, "GET", "/timemap/link/"+page, "Accept-Datetime",
			"x").Body.String() == table.Body.String()},
		{"4.5.5", "an answer without memento has no Memento-Datetime",
			withheld.Code == 404 && withheld.Header().Get("Memento-Datetime") == ""},
		{"4.5.6", "Vary of a TimeMap lacks accept-datetime", table.Header().Get("Vary") == ""},
		{"5", "a TimeMap lists the original", slices.Equal(targets(listed, "original"), []string{page})},
		{"5", "a TimeMap lists every memento once",
			slices.Equal(targets(listed, "memento"), []string{uri(0), uri(1), uri(2)})},
		{"5", "a TimeMap says of each resource what it is", every(listed, func(l webLink) bool {
			return l.has("original") || l.has("timegate") || l.has("self") || l.has("memento")
		})},
		{"5", "a TimeMap has the type application/link-format",
			table.Code == 200 && table.Header().Get("Content-Type") == "application/link-format"},
		{"5", "a TimeMap is no memento", table.Header().Get("Memento-Datetime") == ""},
		// These are SHOULD.
		{"5", "a TimeMap lists the TimeGate", slices.Equal(targets(listed, "timegate"),
			[]string{base + "/timegate/" + page})},
		{"5", "a TimeMap lists itself, with the time that it covers", every(listed, func(l webLink) bool {
			return !l.has("self") || l.target == base+"/timemap/link/"+page &&
				l.params["from"] == "Tue, 20 Jun 2000 18:02:59 GMT" &&
				l.params["until"] == "Wed, 09 Apr 2008 20:30:51 GMT"
		})},
	} {
		if !row.kept {
			t.Errorf("RFC 7089 %s: %s: does not hold", row.paragraph, row.must)
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
			never := askFrom(h, v, "GET", prefix+stock.Site+"/never")
			if status == 404 && (w.Body.String() != never.Body.String() || headers(w) != headers(never)) {
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
