//go:build unix

package render

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// budget is enough for the pages of the tests, also on a busy machine: they end when they make no more requests.
var budget = Budget{Time: time.Minute, Requests: 50, Bytes: 1 << 20, Screens: 10}

// served are parts by address, for Run; asked are the addresses that were requested.
type served struct {
	parts map[string]Part

	mu    sync.Mutex
	asked []string
}

func (s *served) get(_ context.Context, rawurl string, _ Kind) (Part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, rawurl)
	part, ok := s.parts[rawurl]
	if !ok {
		return part, errors.New("refused")
	}
	if part.URL == "" {
		part.URL = rawurl
	}
	return part, nil
}

func made(contentType, body string, header ...string) Part {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return Part{Page: Page{ContentType: contentType, Body: []byte(body), Header: h}}
}

const there = "http://quay.example/"

// The document is what scripts make of it, with what they requested, also after the page was scrolled.
func TestRun(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	s := &served{parts: map[string]Part{
		there + "app.js": made("text/javascript", `fetch("data.json").then(r => r.json()).then(d => {
	document.getElementById("app").innerHTML = "<p>" + d.text + "</p><div style=height:3000px></div>";
	document.title = d.text;
	addEventListener("scroll", () => { if (!window.more) { window.more = 1; fetch("moved.json").then(r => r.text()).then(x => app.append(x)) } })
})`),
		there + "data.json": made("application/json", `{"text": "Zoë's quay"}`),
		there + "moved.json": {Page: Page{URL: there + "there/more.json", ContentType: "text/plain",
			Body: []byte("and more")}},
	}}
	r, err := b.Run(t.Context(), html(there+"a.html",
		`<title>x</title><div id=app></div><script src=app.js></script><img src=a.png>`), budget, s.get)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<!DOCTYPE html>", "<title>Zoë's quay</title>", "<p>Zoë's quay</p>", "and more",
		`<script src="app.js">`} {
		if !strings.Contains(string(r.HTML), want) {
			t.Errorf("%s lacks %s", r.HTML, want)
		}
	}
	slices.Sort(s.asked)
	if want := []string{there + "app.js", there + "data.json", there + "moved.json"}; !slices.Equal(s.asked, want) ||
		r.Ended != "" {
		t.Errorf("asked for %v, ended %q", s.asked, r.Ended)
	}
}

// Data are also JSON modules and preloads. The page is not finished while its scripts wait for a pause of scrolling.
func TestRunData(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	var all sync.WaitGroup
	for _, c := range []struct{ name, body string }{
		{"a JSON module", `<script type=module>
import data from "./data.json" with {type: "json"};
document.body.append(data.text)</script>`},
		{"a preload", `<link rel=preload as=fetch crossorigin href=data.json><script>
onload = () => fetch("data.json").then(r => r.json()).then(data => document.body.append(data.text))</script>`},
		{"a pause of scrolling", `<div style="height:3000px"></div><script>
let timer;
addEventListener("scroll", () => { clearTimeout(timer); timer = setTimeout(() =>
	fetch("data.json").then(r => r.json()).then(data => document.body.append(data.text)), 400) })</script>`},
	} {
		all.Go(func() {
			s := &served{parts: map[string]Part{
				there + "data.json": made("application/json", `{"text": "the tide is high"}`)}}
			get := func(ctx context.Context, rawurl string, kind Kind) (Part, error) {
				if kind != Data {
					t.Errorf("%s: %s is of kind %d", c.name, rawurl, kind)
				}
				return s.get(ctx, rawurl, kind)
			}
			doc := html(there+"a.html", `<link rel=icon href=icon.ico><body>`+c.body)
			var r Result
			var err error
			for range 3 { // on a busy machine, a timer may be late
				r, err = b.Run(t.Context(), doc, budget, get)
				if err != nil || strings.Contains(string(r.HTML), "the tide is high") {
					break
				}
			}
			if err != nil || !strings.Contains(string(r.HTML), "the tide is high") || r.Unmade != 0 ||
				len(s.asked) == 0 {
				t.Errorf("%s: %s, %d not made, requests for %q, %v", c.name, r.HTML, r.Unmade, s.asked, err)
			}
		})
	}
	all.Wait()
}

// The browser enforces what the responses say of the use of their content by others.
func TestRunOrigins(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	const other = "http://other.example/"
	s := &served{parts: map[string]Part{
		other + "open.txt":  made("text/plain", "open", "Access-Control-Allow-Origin", "*"),
		other + "inner.txt": made("text/plain", "inner"),
	}}
	page := html(there+"a.html", `<p id=out></p><script>for (const name of ["open", "inner"])
	fetch("http://other.example/" + name + ".txt").then(r => r.text()).then(x => out.append(x), () => out.append("none"))</script>
<script src=inline.js></script>`)
	page.Header = http.Header{"Content-Security-Policy": {"script-src 'unsafe-inline'"}}
	r, err := b.Run(t.Context(), page, budget, s.get)
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := strings.Cut(string(r.HTML), "<script>")
	if !strings.Contains(got, "open") || !strings.Contains(got, "none") || strings.Contains(got, "inner") {
		t.Errorf("%s", got)
	}
	if slices.Contains(s.asked, there+"inline.js") {
		t.Error("a script was requested that the page's own policy prohibits")
	}
}

// Whatever scripts try, the network gets nothing, and the caller is asked only for GET requests of the page itself.
func TestRunWalls(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	address, came := listener(t)
	udp, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	at := "http://" + address + "/"
	js := strings.ReplaceAll(strings.ReplaceAll(`
const tries = [
	() => fetch("AT/post", {method: "POST", body: "x"}), () => fetch("AT/head", {method: "HEAD"}),
	() => fetch("AT/header", {headers: {"X-Secret": "1"}}), () => navigator.sendBeacon("AT/beacon", "x"),
	() => fetch("AT/alive", {method: "POST", keepalive: true}), () => new WebSocket("ws://ADDRESS/"),
	() => new EventSource("AT/events"), () => new Worker("AT/worker.js"), () => new SharedWorker("AT/shared.js"),
	() => new Worker(URL.createObjectURL(new Blob(["fetch('AT/blob')"]))), () => navigator.serviceWorker.register("AT/service.js"),
	() => open("AT/window.html"), () => { location.href = "AT/gone.html" }, () => document.forms[0].submit(),
	() => { const i = document.createElement("iframe"); i.src = "AT/frame.html"; document.body.append(i) },
	() => { const i = document.createElement("iframe"); i.srcdoc = "<img src=AT/inframe.png><script src=AT/inframe.js><\/script>"; document.body.append(i) },
	() => { const i = document.createElement("iframe"); document.body.append(i); i.contentWindow.fetch("AT/blank.json") },
	() => { const l = document.createElement("link"); l.rel = "prefetch"; l.href = "AT/prefetch"; document.head.append(l) },
	() => { const l = document.createElement("link"); l.rel = "preconnect"; l.href = "AT/"; document.head.append(l) },
	() => { const a = document.createElement("a"); a.ping = "AT/ping"; a.href = "AT/a.html"; document.body.append(a); a.click() },
	() => { const v = document.createElement("video"); v.src = "AT/film.mp4"; document.body.append(v) },
	() => { const o = document.createElement("object"); o.data = "AT/object.svg"; document.body.append(o) },
	() => new FontFace("f", "url(AT/font.woff2)").load(), () => new WebTransport("https://ADDRESS/"),
	() => { const p = new RTCPeerConnection({iceServers: [{urls: "stun:ADDRESS"}]}); p.createDataChannel("x"); p.createOffer().then(o => p.setLocalDescription(o)) },
	() => import("AT/module.js"), () => navigator.credentials.get({identity: {providers: [{configURL: "AT/fedcm", clientId: "1"}]}}),
	() => fetch("file:///etc/passwd").then(r => r.text()).then(x => document.body.append(x)),
	() => alert(1), () => prompt("x"), () => { onbeforeunload = () => "stay" }, () => print(),
];
for (const f of tries) try { const p = f(); if (p && p.catch) p.catch(() => {}) } catch (e) {}
document.body.append("tried");
`, "AT/", at), "ADDRESS", address)
	s := &served{parts: map[string]Part{at + "app.js": made("text/javascript", js)}}
	r, err := b.Run(t.Context(), html(at+"a.html",
		`<body><form action=`+at+`form method=post></form><script src=app.js></script>`), budget, s.get)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(r.HTML); !strings.Contains(text, "tried") || strings.Contains(text, "root:") {
		t.Errorf("%s", text)
	}
	if n := came.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
	_ = udp.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if _, from, err := udp.ReadFrom(make([]byte, 100)); err == nil {
		t.Errorf("a packet from %v", from)
	}
	for _, asked := range s.asked {
		if name := strings.TrimPrefix(asked, at); name != "app.js" && name != "module.js" && name != "header" {
			t.Errorf("asked for %s", asked)
		}
	}
}

// Each budget ends the work of scripts; the document is what they have made until then.
func TestRunBudgets(t *testing.T) {
	t.Parallel() // it waits for time limits
	b := browse(t)
	large := made("text/plain", strings.Repeat("x", 2000))
	s := &served{parts: map[string]Part{there + "1.txt": large, there + "2.txt": large, there + "3.txt": large}}
	var all sync.WaitGroup
	small := Budget{Time: time.Minute, Requests: 5, Bytes: 4000, Screens: 2}
	for _, c := range []struct{ name, script, ended string }{
		{"requests", `for (let i = 0; i < 10; i++) fetch("a" + i)`, "it makes more than 5 requests"},
		{"bytes", `for (let i = 1; i < 4; i++) fetch(i + ".txt")`,
			"it requests more than 4000 bytes"},
		{"time", `setInterval(() => fetch("a"), 10); fetch("a")`, ""},
		{"scrolling without end", `addEventListener("scroll", () => { ` +
			`const d = document.createElement("div"); d.style.height = "9000px"; document.body.append(d) })
const d = document.createElement("div"); d.style.height = "9000px"; document.body.append(d)`, ""},
	} {
		all.Go(func() {
			limits := small
			if c.name == "time" {
				limits.Time = time.Second
			}
			r, err := b.Run(t.Context(), html(there+"a.html", "<body>begin<script>"+c.script+"</script>"),
				limits, s.get)
			if err != nil || !strings.Contains(string(r.HTML), "begin") || c.ended != "" && r.Ended != c.ended {
				t.Errorf("%s: %q, %v", c.name, r.Ended, err)
			}
			if c.name == "time" && r.Ended == "" {
				t.Errorf("%s: not ended", c.name)
			}
		})
	}
	all.Wait()
	small.Bytes = 1 << 20
	if _, err := b.Run(t.Context(),
		html(there+"a.html", "<script>document.write('<p hidden>' + 'x'.repeat(2 << 20))</script>"),
		small, s.get); !errors.Is(err, errLarge) {
		t.Errorf("a large document: %v", err)
	}
	small.Time = time.Second
	if _, err := b.Run(t.Context(),
		html(there+"a.html", "<body><script>setTimeout(() => { for (;;); }, 100)</script>"),
		small, s.get); !errors.Is(err, ErrScripts) {
		t.Errorf("a script without end: %v", err)
	}
	r, err := b.Run(t.Context(), html(there+"b.html", "<p>next"), budget, s.get)
	if err != nil || !strings.Contains(string(r.HTML), "<p>next") {
		t.Errorf("the next page: %v", err)
	}
}

// A page whose browser ends meanwhile is rendered in the next browser.
func TestRunKilled(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	first := b.now.cmd.Process.Pid
	var both, all sync.WaitGroup
	both.Add(2)
	var kills sync.Once
	for _, name := range []string{"a", "b"} {
		all.Go(func() {
			entered := false
			script := &served{parts: map[string]Part{
				there + "app.js": made("text/javascript", "document.body.append('run')")}}
			get := func(ctx context.Context, rawurl string, kind Kind) (Part, error) {
				if entered {
					return script.get(ctx, rawurl, kind)
				}
				entered = true
				both.Done()
				both.Wait() // so both pages are open
				kills.Do(func() { _ = syscall.Kill(-first, syscall.SIGKILL) })
				<-ctx.Done()
				return Part{}, ctx.Err()
			}
			r, err := b.Run(t.Context(), html(there+name, "<body><script src=app.js></script>"), budget, get)
			if err != nil || !strings.Contains(string(r.HTML), "run") {
				t.Errorf("%s: %s, %v", name, r.HTML, err)
			}
		})
	}
	all.Wait()
	awaitEnd(t, first)
	b.starts = mostStarts
	kill := func(ctx context.Context, _ string, _ Kind) (Part, error) {
		_ = syscall.Kill(-b.now.cmd.Process.Pid, syscall.SIGKILL)
		<-ctx.Done()
		return Part{}, ctx.Err()
	}
	if _, err := b.Run(t.Context(), html(there, "<script src=app.js></script>"),
		budget, kill); !errors.Is(err, ErrGone) {
		t.Errorf("a browser that may not start again: %v", err)
	}
}

// A page whose own process ends is reported, and the browser goes on.
func TestCrashed(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	crash := func(ctx context.Context, _ string, kind Kind) (Part, error) {
		if kind != Sheet { // the session below makes the browser request the document again
			return Part{}, errors.New("refused")
		}
		list, err := chromedp.Targets(b.now.ctx)
		for _, info := range list {
			if strings.HasPrefix(info.URL, there) {
				session, cancel := chromedp.NewContext(b.now.ctx, chromedp.WithTargetID(info.TargetID))
				defer cancel()
				defer context.AfterFunc(ctx, cancel)()
				_, err = chromedp.Run(session, func(ctx context.Context, t *chromedp.Target) (cdp.Empty, error) {
					return cdp.Call(ctx, t, page.Crash, cdp.Empty{})
				})
			}
		}
		<-ctx.Done()
		return Part{}, err
	}
	p, start := html(there, "<link rel=stylesheet href=a.css>"), b.now
	if _, err := b.Run(t.Context(), p, budget, crash); !errors.Is(err, errCrashed) {
		t.Errorf("Run: %v", err)
	}
	if _, err := b.Draw(t.Context(), p, crash); !errors.Is(err, errCrashed) {
		t.Errorf("Draw: %v", err)
	}
	if b.now != start {
		t.Error("the browser was started again")
	}
}

// A page is loaded although its scripts try to leave it. If they replace it by one from elsewhere, it is refused.
func TestRunLeaves(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	var all sync.WaitGroup
	for _, c := range []struct {
		name, body, want string
		opens            string
		unmade           int
		fails            error
	}{
		{"navigation while it loads", "<p>a<script>location = '/x'</script><p>b", "<p>a", there + "x", 0,
			nil},
		{"META refresh", `<meta http-equiv=refresh content="0;url=/x"><p>a`, "<p>a", there + "x", 0, nil},
		{"document.write", "<p>a<script>onload = () => { document.open(); document.write('<p>new'); " +
			"document.close() }</script>", "<p>new", "", 0, nil},
		{"hidden properties", "<form name=childNodes></form><script>const f = document.createElement('form'); " +
			"document.documentElement.remove(); document.append(f); " +
			"f.innerHTML = '<input name=outerHTML>'</script>", `<form><input name="outerHTML">`, "", 0, nil},
		{"requests", "<p>a<script>for (const method of ['HEAD', 'POST']) fetch('x', {method}); " +
			"fetch('x' + 'y'.repeat(1 << 14)); fetch('refused')</script>", "<p>a", "", 3, nil},
		{"about:blank", "<p>a<script>location = 'about:blank'</script>", "", "", 0, errLeft},
		{"about:blank later", "<p>a<script>onload = () => { location = 'about:blank' }</script>", "", "", 0, errLeft},
		{"blob:", "<p>a<script>location = URL.createObjectURL(new Blob(['<p>b'], {type: 'text/html'}))</script>", "",
			"", 0, errLeft},
		{"javascript:", "<p>a<script>onload = () => { location = 'javascript:\"<p>b\"' }</script>", "<p>b", "", 0,
			nil},
	} {
		all.Go(func() {
			s := &served{}
			r, err := b.Run(t.Context(), html(there+"a.html", c.body), budget, s.get)
			if !errors.Is(err, c.fails) || !strings.Contains(string(r.HTML), c.want) || r.Ended != "" ||
				r.Unmade != c.unmade || r.Opens != c.opens {
				t.Errorf("%s: %s, ended %q, opens %q, %d not made, %v", c.name, r.HTML, r.Ended, r.Opens, r.Unmade, err)
			}
		})
	}
	all.Wait()
}
