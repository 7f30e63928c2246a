package view

import (
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// emptyPage is the path of an empty page, in a sandbox like copies. netBrowser.open loads it last.
const emptyPage = "/last"

// recorder is a server that records what was requested: "STATUS PATH".
type recorder struct {
	*httptest.Server
	replay   string // domain below which unmodified copies have hosts of their own; "": none
	mu       sync.Mutex
	requests []string
	awaited  map[string]chan struct{} // closed when that was requested
}

// awaits returns a channel that is closed when a request, "STATUS PATH", was answered.
func (r *recorder) awaits(t *testing.T, request string) <-chan struct{} {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := make(chan struct{})
	if slices.Contains(r.requests, request) {
		close(c)
	} else {
		r.awaited[request] = c
	}
	return c
}

func (r *recorder) requested() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// record serves a Handler, and extra pages by path.
func record(t *testing.T, h *Handler, extra map[string]string) *recorder {
	t.Helper()
	r := &recorder{awaited: map[string]chan struct{}{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		kept := httptest.NewRecorder()
		if body, ok := extra[req.RequestURI]; ok {
			kept.Header().Set("Content-Type", "text/html; charset=utf-8")
			kept.WriteString(body)
		} else if req.RequestURI == emptyPage {
			kept.Header().Set("Content-Type", "text/html; charset=utf-8")
			kept.Header().Set("Content-Security-Policy", "sandbox")
		} else {
			h.ServeHTTP(kept, req.WithContext(WithVisitor(req.Context(), r.visitor(req))))
		}
		r.mu.Lock()
		done := strconv.Itoa(kept.Code) + " " + req.RequestURI
		r.requests = append(r.requests, done)
		if c := r.awaited[done]; c != nil {
			delete(r.awaited, done)
			defer close(c)
		}
		r.mu.Unlock()
		maps.Copy(w.Header(), kept.Header())
		w.WriteHeader(kept.Code)
		w.Write(kept.Body.Bytes())
	}))
	t.Cleanup(r.Close)
	return r
}

// visitor returns what the server in front of a Handler says of a request.
func (r *recorder) visitor(req *http.Request) Visitor {
	v := Visitor{Base: r.URL}
	if r.replay == "" {
		return v
	}
	port := r.URL[strings.LastIndex(r.URL, ":"):]
	v.Replay = "http://*." + r.replay + port
	if name, found := strings.CutSuffix(req.Host, "."+r.replay+port); found {
		v.Label, v.Ancestors = name, r.URL
	}
	return v
}

// ran is a script that requests a path of this server and of another one, if it runs.
const ran = `new Image().src='/ran';new Image().src='http://ran.localhost/';fetch('/ran');` +
	`parent.postMessage('ran','*');` +
	`document.cookie='ran=1'`

// hostile are parts of pages that try to run scripts, to leave the frame or to contact other hosts.
var hostile = map[string]string{
	"script": `<script>` + ran + `</script>` +
		`<script src="data:text/javascript,` + html.EscapeString(ran) + `"></script>`,
	"module":      `<script type=module>` + ran + `</script><script src=//script.localhost/x.js></script>`,
	"handler":     `<body onload="` + ran + `"><img src=x onerror="` + ran + `"><svg onload="` + ran + `">`,
	"speculation": `<script type=speculationrules>{"prefetch":[{"urls":["https://speculation.localhost/"]}]}</script>`,
	"worker":      `<script>navigator.serviceWorker.register('/raw/sw.js');` + ran + `</script>`,
	"frame": `<iframe src="javascript:` + ran + `"></iframe>` +
		`<iframe srcdoc="<script>` + ran + `</script>"></iframe>`,
	"far frame": `<iframe src=https://frame.localhost/></iframe><object data=//object.localhost/></object>` +
		`<embed src=//embed.localhost/x>`,
	"form": `<form id=f action=http://form.localhost/><input name=a autofocus onfocus="` + ran + `"></form>` +
		`<button form=f formaction="javascript:` + ran + `">`,
	"refresh": `<meta http-equiv=refresh content="0;url=http://refresh.localhost/">`,
	"style": `<style>@import "//import.localhost/x.css";@font-face{font-family:f;src:url(//font.localhost/f.woff)}` +
		`body{font-family:f;background:url(//css.localhost/i.png)}` +
		`input[value^=a]{background:url(//value.localhost/)}</style>` +
		`<link rel=stylesheet href=//sheet.localhost/x.css>` +
		`<p style="background:image-set('//set.localhost/i.png' 1x)">x<input value=a>`,
	"image": `<img src=//image.localhost/ srcset="//srcset.localhost/i.png 1x">` +
		`<picture><source srcset=//source.localhost/i.png>` +
		`<img src=x></picture><video poster=//poster.localhost/i.png src=//video.localhost/v.mp4></video>` +
		`<audio src=//audio.localhost/a.mp3 autoplay></audio><input type=image src=//input.localhost/>`,
	"base":    `<base href=http://base.localhost/><img src=i.png><link rel=icon href=i.ico>`,
	"connect": `<link rel=preconnect href=https://preconnect.localhost><link rel=dns-prefetch href=//dns.localhost>`,
	"fetch": `<link rel=prefetch href=//prefetch.localhost/x>` +
		`<link rel=preload as=image href=//preload.localhost/i.png>` +
		`<link rel=modulepreload href=//modulepreload.localhost/m.js><link rel=manifest href=//manifest.localhost/m>`,
	"svg": `<svg><image href=//svgimage.localhost/i.png /><use href="//use.localhost/s.svg#x"/>` +
		`<style>@import "//svgstyle.localhost/";</style>` +
		`<foreignObject><iframe src=//foreign.localhost/></iframe></foreignObject>` +
		`<script>` + ran + `</script></svg>`,
	"noscript": `<noscript><link rel=preconnect href=https://noscript.localhost></noscript>`,
	"shadow": `<div><template shadowrootmode=open><link rel=preconnect href=https://shadow.localhost>` +
		`<iframe src=//shadowframe.localhost/></iframe></template></div>`,
	"anchor": `<meta http-equiv=x-dns-prefetch-control content=on><a href=https://anchor.localhost/>x</a>` +
		`<link rel=icon href=//icon.localhost/i.ico><link rel="compression-dictionary" href=//dictionary.localhost/d>` +
		`<link rel="alternate stylesheet" href=//alternate.localhost/s.css><meta http-equiv=accept-ch content=dpr>`,
	"policy": `<meta http-equiv=Content-Security-Policy content="default-src * 'unsafe-inline'">` +
		`<script>` + ran + `</script>`,
	"top": `<a id=a href=http://top.localhost/ target=_top></a>` +
		`<script>top.location='http://top.localhost/';` + ran + `</script>`,
	"manifest": `<html manifest=//appcache.localhost/m><body background=//background.localhost/i.png>` +
		`<table background=//table.localhost/i.png><td>x</table>`,
	"ping": `<a href=x ping=//ping.localhost/ attributionsrc=//attribution.localhost/>x</a>` +
		`<img attributionsrc=//attribution.localhost/ src=y>`,
}

// documents are documents of other types than HTML, which try the same: media type and content.
var documents = map[string][2]string{
	"/evil.svg": {"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" onload="` + ran + `"><script>` + ran +
		`</script><image href="http://svg.localhost/i.png"/><style>@import "http://svgcss.localhost/";</style></svg>`},
	"/evil.xml": {"text/xml", `<?xml version="1.0"?>` +
		`<?xml-stylesheet type="text/xsl" href="http://xsl.localhost/x.xsl"?>` +
		`<!DOCTYPE a SYSTEM "http://dtd.localhost/a.dtd"><a xmlns:h="http://www.w3.org/1999/xhtml">` +
		`<h:link rel="preconnect" href="http://xml.localhost"/><h:script>` + ran + `</h:script></a>`},
	"/evil.xhtml": {"application/xhtml+xml",
		`<!DOCTYPE html [<!ENTITY e '<link rel="preconnect" href="http://entity.localhost"/>'>]>` +
			`<html xmlns="http://www.w3.org/1999/xhtml"><body>&e;<script>` + ran + `</script></body></html>`},
	"/evil.pdf": {"application/pdf", "%PDF-1.4\n1 0 obj<</OpenAction<</S/URI/URI(http://pdf.localhost/)>>>>"},
	"/evil.png": {"image/png", `<script>` + ran + `</script><link rel=preconnect href=http://png.localhost>`},
	"/evil.txt": {"text/plain", `<script>` + ran + `</script><link rel=preconnect href=http://txt.localhost>`},
	"/evil":     {"x/unknown", `<script>` + ran + `</script><link rel=preconnect href=http://unknown.localhost>`},
}

// connecting are the parts that make Chromium contact other hosts in spite of the policy: such a page is not shown
// unchanged.
var connecting = []string{"far frame", "connect", "fetch", "svg", "ping", "noscript", "shadow"}

// TestControl checks that the test notices what it looks for: without the headers of copies, Chromium runs the
// scripts and names the hosts.
func TestControl(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	_, h := stocked(t)
	server := record(t, h, map[string]string{"/page": hostile["connect"] + hostile["image"] + hostile["script"]})
	b := startBrowser(t)
	b.open(t, server, "/page", "404 /ran")
	hosts := b.hosts(t)
	for _, host := range []string{"preconnect.localhost", "dns.localhost", "srcset.localhost", "ran.localhost"} {
		if !slices.Contains(hosts, host) {
			t.Errorf("%s is not in %v", host, hosts)
		}
	}
	if !slices.Contains(server.requested(), "404 /ran") {
		t.Error(server.requested())
	}
}

// TestHostile checks in Chromium that copies run no script and contact no host but ours, rewritten or not, in
// the frame of the viewer and by themselves.
func TestHostile(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	const unmodified = "ACAP-allow-present: / prohibited-modification=any"
	for name, robots := range map[string]string{"rewritten": "", "unmodified": unmodified,
		"replay domain": unmodified} {
		t.Run(name, func(t *testing.T) {
			s, h := stocked(t)
			all, framed := "", []string(nil)
			for part, body := range hostile {
				path := "/" + strings.ReplaceAll(part, " ", "-")
				s.Hold(path, "<!doctype html>"+body, noon)
				all += `<iframe src="` + at("/raw/", path) + `"></iframe>`
				framed = append(framed, "200 "+at("/raw/", path))
			}
			whole := ""
			for part, body := range hostile {
				if robots == "" || !slices.Contains(connecting, part) {
					whole += body
				}
			}
			s.Hold("/all", "<!doctype html><title>All</title>"+whole, noon)
			for path, document := range documents {
				hold(s, path, document[0], document[1])
				all += `<iframe src="` + at("/raw/", path) + `"></iframe><img src="` + at("/raw/", path) + `">`
				framed = append(framed, "200 "+at("/raw/", path))
			}
			s.SetRobots(robots)
			server := record(t, h, map[string]string{"/frames": all})
			viewed := "200 " + at("/raw/", "/all")
			if name == "replay domain" {
				server.replay = "replay.localhost"
				viewed = "200 /all"
			}
			b := startBrowser(t)
			for path, awaited := range map[string][]string{"/frames": framed, at("/copy/", "/all"): {viewed},
				at("/raw/", "/all"): {"200 " + at("/raw/", "/all")}} {
				b.open(t, server, path, awaited...)
			}
			if hosts := b.hosts(t); len(hosts) > 0 {
				t.Errorf("Chromium contacts %v", hosts)
			}
			if slices.Contains(server.requested(), "404 /ran") {
				t.Error("a script ran")
			}
		})
	}
}

// TestFrame checks in Chromium that the viewer shows a copy in its frame with images, styles and fonts, if the terms
// permit that, and otherwise only what they permit.
func TestFrame(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := startBrowser(t)
	for _, c := range []struct {
		robots        string
		style, others string // status; "": not requested
	}{
		{"", "200", "200"},
		{"ACAP-allow-present: / prohibited-modification=any", "200", "200"},
		{"ACAP-allow-present: /d/a required-context=within-user-frame", "200", "200"},
		{"ACAP-allow-present: /d/a prohibited-context=within-user-frame", "", ""},
		{"ACAP-allow-present: /d/i prohibited-context=within-user-frame", "200", "451"},
	} {
		s, h := stocked(t)
		s.Hold("/d/a", "<!doctype html><link rel=stylesheet href=s.css><p>a<img src=i/i.png>", noon)
		hold(s, "/d/s.css", "text/css",
			"@font-face{font-family:f;src:url(i/f.woff2)}p{font-family:f;background:url(i/b.png)}")
		s.HoldPicture("/d/i/i.png", noon)
		s.HoldPicture("/d/i/b.png", noon.Add(2*time.Second)) // the time in its address leads to it
		hold(s, "/d/i/f.woff2", "font/woff2", "")
		s.SetRobots(c.robots)
		server := record(t, h, nil)
		var awaited []string
		if c.style != "" {
			later := strings.Replace(at("/raw/", "/d/i/b.png"), "120000", "120002", 1)
			awaited = []string{"200 " + at("/raw/", "/d/a"), c.style + " " + at("/raw/", "/d/s.css"),
				c.others + " " + at("/raw/", "/d/i/i.png"), c.others + " " + later,
				c.others + " " + at("/raw/", "/d/i/f.woff2")}
		}
		b.open(t, server, at("/copy/", "/d/a"), awaited...)
		for _, request := range server.requested() {
			if c.style == "" && strings.Contains(request, "/raw/") {
				t.Errorf("%s: %s", c.robots, request)
			}
		}
	}
}
