//go:build unix

package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
)

// testTime is the time limit for a page: enough on a busy machine.
const testTime = 8 * time.Second

// TestMain checks at the end that no goroutine is left.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// browse starts a browser and checks at the end of the test that no file and no process of it is
// left.
func browse(t *testing.T) *Browser {
	t.Helper()
	return browseFor(t, testTime)
}

// browseFor starts a browser with this time limit for a page.
func browseFor(t *testing.T, limit time.Duration) *Browser {
	t.Helper()
	program, sandbox := pagecheck.Chromium(t)
	o := Options{Program: program, Home: filepath.Join(t.TempDir(), "browser"), Time: limit, Unguarded: !sandbox}
	b, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	group := b.now.cmd.Process.Pid
	t.Cleanup(func() {
		b.Close()
		awaitEnd(t, group)
		for _, dir := range []string{o.Home, tempOf(o.Home)} {
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("its files are left: %v", err)
			}
		}
	})
	return b
}

// awaitEnd waits until no process of a group is left. A killed process that the system has not yet removed counts as
// left, and that takes long on a busy machine.
func awaitEnd(t *testing.T, group int) {
	t.Helper()
	for until := time.Now().Add(time.Minute); syscall.Kill(-group, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("processes are left")
		}
	}
}

// listener accepts connections and counts them.
func listener(t *testing.T) (address string, came *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	came = new(atomic.Int32)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			conn.Close()
		}
	}()
	return l.Addr().String(), came
}

// parts are the resources of a page by path; asked are the paths that were requested.
type parts struct {
	have map[string]Part

	mu    sync.Mutex
	asked []string
}

func (p *parts) get(_ context.Context, rawurl string, kind Kind) (Part, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, path, _ := strings.Cut(strings.TrimPrefix(rawurl, "http://"), "/")
	p.asked = append(p.asked, map[Kind]string{Sheet: "sheet ", Image: "image "}[kind]+path)
	part, ok := p.have[path]
	if !ok {
		return part, errors.New("not at hand")
	}
	if part.URL == "" {
		part.URL = rawurl
	}
	return part, nil
}

func sheet(css string) Part { return Part{Page: Page{ContentType: "text/css", Body: []byte(css)}} }

func filled(c color.Color) Part {
	img := image.NewRGBA(image.Rect(0, 0, 10, 10))
	for i := range 100 {
		img.Set(i%10, i/10, c)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return Part{Page: Page{ContentType: "image/png", Body: b.Bytes()}}
}

var (
	red   = color.NRGBA{R: 255, A: 255}
	green = color.NRGBA{G: 255, A: 255}
	blue  = color.NRGBA{B: 255, A: 255}
	white = color.NRGBA{255, 255, 255, 255}
)

func draw(t *testing.T, b *Browser, p Page, have *parts) image.Image {
	t.Helper()
	body, err := b.Draw(t.Context(), p, have.get)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func html(address, body string) Page {
	return Page{URL: address, ContentType: "text/html; charset=utf-8", Body: []byte("<!doctype html>" + body)}
}

func colours(t *testing.T, img image.Image, want map[image.Point]color.NRGBA) {
	t.Helper()
	for at, c := range want {
		if got := color.NRGBAModel.Convert(img.At(at.X, at.Y)); got != c {
			t.Errorf("at %v %v, want %v", at, got, c)
		}
	}
}

// Only style sheets and images are fetched, and only through the caller. Nothing else is requested.
func TestDraw(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	address, came := listener(t)
	there := "http://" + address + "/"
	body := strings.ReplaceAll(
		`<title>Quay</title><link rel=stylesheet href=THERE/style.css><link rel=preconnect href=THERE><link rel=dns-prefetch href=THERE>
<link rel=prefetch href=THERE/prefetch.html><link rel=prerender href=THERE/prerender.html><link rel=preload as=script href=THERE/preload.js>
<link rel=preload as=font crossorigin href=THERE/preload.woff2><link rel=modulepreload href=THERE/module.js><link rel=manifest href=THERE/manifest.json>
<link rel=icon href=THERE/icon.png>
<script type=speculationrules>{"prefetch":[{"source":"list","urls":["THERE/speculation.html"]}]}</script>
<meta http-equiv=refresh content="0;url=THERE/refresh.html"><style>@font-face{font-family:Quay;src:url(THERE/font.woff2)}p{font-family:Quay}</style>
<script src=THERE/script.js></script><script>document.body.innerHTML='';new WebSocket('ws://ADDRESS/');fetch('THERE/fetch')</script>
<div id=sheet></div><div id=import></div><img src=THERE/moved.png><img src=THERE/not.png><img src="data:image/gif;base64,R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==">
<a href=THERE/link.html ping=THERE/ping>a</a><iframe src=THERE/frame.html></iframe><iframe sandbox srcdoc="<img src=THERE/inframe.png>"></iframe>
<object data=THERE/object.svg></object><embed src=THERE/embed.svg><video src=THERE/film.mp4 autoplay poster=THERE/poster.png></video><audio autoplay src=THERE/sound.ogg></audio>
<svg><image href="file:///etc/passwd"/></svg><img src="file:///usr/share/pixmaps/debian-logo.png"><p>words</p><form action=THERE/form><input autofocus onfocus="form.submit()"></form>`,
		"THERE/", there)
	body = strings.ReplaceAll(strings.ReplaceAll(body, "THERE", there), "ADDRESS", address)
	have := &parts{have: map[string]Part{
		"style.css": sheet(`@import "import.css"; body{margin:0;background:url(/back.png)} ` +
			`#sheet{height:100px;background:#00f} img{display:block;width:100px;height:100px}`),
		"import.css": sheet(`#import{height:100px;background:#0f0}`),
		"moved.png":  {Page: Page{URL: there + "elsewhere/here.png", ContentType: "image/png", Body: filled(red).Body}},
		"back.png":   filled(red),
		"poster.png": filled(blue),
	}}
	img := draw(t, b, html(there+"a.html", body), have)
	colours(t, img, map[image.Point]color.NRGBA{
		{600, 50}: blue, {600, 150}: green, {50, 250}: red, {600, 250}: red, {50, 450}: red, {1200, 950}: red})
	if n := came.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
	slices.Sort(have.asked)
	want := "image back.png,image moved.png,image not.png,image poster.png,sheet import.css,sheet style.css"
	if got := strings.Join(have.asked, ","); got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}

// A page whose requests are not intercepted still cannot reach the network, with or without
// scripts.
func TestWalls(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	address, came := listener(t)
	_, port, _ := net.SplitHostPort(address)
	udp, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	for _, host := range []string{address, "localhost:" + port, "[::ffff:127.0.0.1]:" + port, "rebound.example:" +
		port} {
		tab, cancel := chromedp.NewContext(b.now.ctx, chromedp.WithNewBrowserContext())
		got, err := chromedp.Run(tab, func(ctx context.Context, t *chromedp.Target) (page.NavigateResult, error) {
			said, err := chromedp.Evaluate[string](`(async () => {
	const host = "`+host+`", ends = p => p.then(x => "got " + x, () => "-");
	new RTCPeerConnection({iceServers: [{urls: "stun:" + host}]}).createDataChannel("x");
	const ice = new RTCPeerConnection({iceServers: [{urls: "turn:" + host + "?transport=tcp", username: "a", credential: "b"}, {urls: "stun:" + host}]});
	ice.createDataChannel("x");
	const gathered = new Promise(done => { ice.onicegatheringstatechange = () => ice.iceGatheringState == "complete" && done("-"); setTimeout(() => done("-"), 2000) });
	await ice.setLocalDescription(await ice.createOffer());
	navigator.sendBeacon("http://" + host + "/beacon", "x");
	document.head.innerHTML = '<link rel=preconnect href="http://' + host + '"><link rel=prefetch href="http://' + host + '/p"><link rel=dns-prefetch href="//' + host + '">';
	const socket = new Promise((ok, no) => { const s = new WebSocket("ws://" + host + "/"); s.onopen = ok; s.onerror = no });
	const image = new Promise((ok, no) => { const i = new Image(); i.onload = ok; i.onerror = no; i.src = "http://" + host + "/i.png" });
	return (await Promise.all([ends(fetch("http://" + host + "/", {mode: "no-cors"})), ends(fetch("file:///etc/hostname")), ends(socket), ends(image), gathered])).join("")
})()`, chromedp.EvalAwaitPromise)(ctx, t)
			if err != nil || said != "-----" {
				return page.NavigateResult{}, fmt.Errorf("scripts say %s, %w", said, err)
			}
			return cdp.Call(ctx, t, page.Navigate, page.NavigateParams{URL: "http://" + host + "/"})
		})
		if err != nil || got.ErrorText == "" {
			t.Errorf("%s: %+v, %v", host, got, err)
		}
		cancel()
	}
	if n := came.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
	if err := udp.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, from, err := udp.ReadFrom(make([]byte, 100)); err == nil {
		t.Errorf("a packet from %v", from)
	}
}

// waits is a Fetch that gets nothing until its time is over.
func waits(ctx context.Context, _ string, _ Kind) (Part, error) {
	<-ctx.Done()
	return Part{}, ctx.Err()
}

const slowPage = `<body style="background:lime"><img src=/late.png>`

// A page that loads slowly is drawn in the state that it has reached.
func TestDrawInTime(t *testing.T) {
	t.Parallel()                  // it waits for the time limit
	b := browseFor(t, 3*testTime) // the page is drawn in the last part of it
	body, err := b.Draw(t.Context(), html("http://quay.example/", slowPage), waits)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	colours(t, img, map[image.Point]color.NRGBA{{600, 600}: green})
}

// Draw ends before its time limit if nobody waits for the picture any more.
func TestDrawForNobody(t *testing.T) {
	const limit = time.Minute
	b := browseFor(t, limit)
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if body, err := b.Draw(ctx, html("http://quay.example/", slowPage), waits); err == nil {
		t.Errorf("drawn although nobody waits: %d bytes", len(body))
	}
	if took := time.Since(start); took > limit/2 {
		t.Errorf("it took %v", took)
	}
}

// If Fetch ignores its context, the page is drawn all the same, and other pages get their turn.
func TestDrawWithoutLateParts(t *testing.T) {
	t.Parallel()               // it waits for the time limit
	const limit = 3 * testTime // the page is drawn in the last part of it
	b := browseFor(t, limit)
	start := time.Now()
	returned := false
	late := func(context.Context, string, Kind) (Part, error) {
		for len(b.turns) > 0 && time.Since(start) < 4*limit {
			time.Sleep(time.Millisecond)
		}
		returned = true
		return filled(red), nil
	}
	body, err := b.Draw(t.Context(), html("http://quay.example/", `<body style="background:lime"><img src=/late.png>`),
		late)
	if err != nil {
		t.Fatal(err)
	}
	if !returned {
		t.Error("it was left behind")
	}
	img, err := png.Decode(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	colours(t, img, map[image.Point]color.NRGBA{{5, 5}: green, {600, 600}: green})
}

// The browser shows the given document for any address, including addresses that it treats
// specially.
func TestDrawAnywhere(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	for _, address := range []string{"https://quay.example/a?b=c", "http://quay.dev/", "http://localhost/",
		"https://[::1]:8443/", "http://192.0.2.1/%E2%82%AC|a b"} {
		have := func(_ context.Context, rawurl string, _ Kind) (Part, error) {
			part := sheet("body{background:lime}")
			part.URL = rawurl
			return part, nil
		}
		body, err := b.Draw(t.Context(), html(address, `<link rel=stylesheet href=/style.css crossorigin>`), have)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		img, err := png.Decode(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		colours(t, img, map[image.Point]color.NRGBA{{600, 600}: green})
	}
}

func TestDrawBounds(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	have := &parts{have: map[string]Part{}}
	var body strings.Builder
	for i := range 2 * mostRequests {
		path := strings.Repeat("i", i+1) + ".png"
		have.have[path] = filled(red)
		body.WriteString("<img src=/" + path + ">")
	}
	draw(t, b, html("http://quay.example/", body.String()), have)
	if n := len(have.asked); n != mostRequests {
		t.Errorf("%d requests", n)
	}
	have = &parts{have: map[string]Part{"large.css": {Page: Page{ContentType: "text/css",
		Body: append(make([]byte, mostBytes), "body{background:red}"...)}}}}
	img := draw(t, b, html("http://quay.example/", `<link rel=stylesheet href=/large.css>`), have)
	colours(t, img, map[image.Point]color.NRGBA{{600, 600}: white})
	if _, err := b.Draw(t.Context(), Page{URL: "http://quay.example/", ContentType: "text/html",
		Body: make([]byte, mostBytes+1)}, have.get); err == nil {
		t.Error("a page without end was drawn")
	}
	if _, err := b.Draw(t.Context(), Page{URL: "http://quay.example/", ContentType: "application/octet-stream",
		Body: []byte("x")}, have.get); err == nil {
		t.Error("what is no page was drawn")
	}
	if _, err := b.Draw(t.Context(), Page{URL: "about:blank", ContentType: "text/html", Body: []byte("x")},
		have.get); err == nil {
		t.Error("what is at no address of the web was drawn")
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()                   // most of the time it waits for the browser
	b := browseFor(t, time.Minute) // no page is drawn before cancel is called
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	entered, ended := make(chan struct{}, atOnce+mostWait), make(chan error, atOnce+mostWait)
	waits := func(ctx context.Context, _ string, _ Kind) (Part, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return Part{}, ctx.Err()
	}
	var wg sync.WaitGroup
	for range atOnce + mostWait {
		wg.Go(func() {
			_, err := b.Draw(ctx, html("http://quay.example/", `<img src=/late.png>`), waits)
			ended <- err
		})
	}
	for len(b.waiting) < cap(b.waiting) && len(ended) == 0 {
		runtime.Gosched()
	}
	select {
	case <-entered:
	case err := <-ended:
		t.Fatal(err)
	}
	if _, err := b.Draw(t.Context(), html("http://quay.example/", ""), waits); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
	cancel()
	wg.Wait()
	draw(t, b, html("http://quay.example/", ""), &parts{})
}

// A browser that is killed or hangs is started again, but only a limited number of times.
func TestKilled(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	var once sync.Once
	first := b.now.cmd.Process.Pid
	kills := func(ctx context.Context, _ string, _ Kind) (Part, error) {
		once.Do(func() { _ = syscall.Kill(first, syscall.SIGKILL) })
		<-ctx.Done()
		return Part{}, ctx.Err()
	}
	if _, err := b.Draw(t.Context(), html("http://quay.example/", `<img src=/a.png>`), kills); err == nil {
		t.Error("a killed browser has drawn")
	}
	img := draw(t, b, html("http://quay.example/", `<body style="background:lime">`), &parts{})
	colours(t, img, map[image.Point]color.NRGBA{{600, 600}: green})
	awaitEnd(t, first)
	b.starts = mostStarts
	_ = syscall.Kill(-b.now.cmd.Process.Pid, syscall.SIGKILL)
	<-b.now.ctx.Done()
	if _, err := b.Draw(t.Context(), html("http://quay.example/", ""), kills); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	b.Close()
	if _, err := b.Draw(t.Context(), html("http://quay.example/", ""), kills); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}

func TestStart(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no such display >&2; exit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"missing": filepath.Join(t.TempDir(), "missing"),
		"a directory": t.TempDir(), "broken": broken} {
		home := filepath.Join(t.TempDir(), "browser")
		if b, err := Start(t.Context(), Options{Program: program, Home: home, Unguarded: true}); err == nil {
			b.Close()
			t.Errorf("%s: started", name)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: its files are left", name)
		}
	}
	if os.Geteuid() == 0 {
		if _, err := Start(t.Context(), Options{Program: "true", Home: t.TempDir()}); !errors.Is(err, ErrRoot) {
			t.Errorf("root: %v", err)
		}
	}
}
