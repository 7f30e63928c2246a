//go:build unix

package render

import (
	"slices"
	"strings"
	"testing"
)

// A frame without an address gets nothing, however scripts use it; the page goes on.
func TestRunFrames(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	b := browse(t)
	s := &served{parts: map[string]Part{there + "page.txt": made("text/plain", "the page goes on")}}
	r, err := b.Run(t.Context(), html(there+"a.html", `<body><iframe id=first></iframe><script>
const frame = (change = () => 0) => {
	const f = document.createElement("iframe");
	change(f);
	return document.body.appendChild(f);
};
const image = "<img src=/image.png>", script = "<script src=/script.js></"+"script>";
for (const f of [
	() => first.contentWindow.fetch("first"), () => frame().contentWindow.fetch("fetch"),
	() => { const x = new (frame().contentWindow.XMLHttpRequest)(); x.open("GET", "xhr"); x.send() },
	() => { frame().contentDocument.body.innerHTML = image },
	() => frame().contentDocument.write(script),
	() => { const d = frame().contentDocument; d.open(); d.write(image + script); d.close() },
	() => frame(f => { f.src = "javascript:fetch('/javascript')" }),
	() => frame(f => { f.src = "javascript:'" + image + "'" }), () => frame(f => { f.srcdoc = image + script }),
	() => { const f = frame().contentDocument.createElement("iframe"); frame().contentDocument.body.append(f);
		f.contentWindow.fetch("inner") },
	() => { const d = frame().contentDocument; d.documentElement.remove(); d.defaultView.fetch("bare") },
	() => { const f = frame(); f.onload = () => { f.onload = null; f.contentWindow.fetch("again") };
		f.src = "about:blank" },
	() => { const o = document.createElement("object"); document.body.append(o);
		for (let i = 0; i < frames.length; i++) frames[i].fetch("each") },
]) try { const p = f(); if (p && p.catch) p.catch(() => 0) } catch {}
document.body.append(frame().contentWindow.eval("'evaluated'"));
fetch("page.txt").then(r => r.text()).then(x => document.body.append(x))</script>`),
		Budget{Time: budget.Time, Requests: 50, Bytes: 1 << 20, Images: true}, s.get)
	if err != nil || !strings.Contains(string(r.HTML), "evaluatedthe page goes on") || r.Unmade < 5 {
		t.Errorf("%s, %d not made, %v", r.HTML, r.Unmade, err)
	}
	if !slices.Equal(s.asked, []string{there + "page.txt"}) {
		t.Errorf("requests for %q", s.asked)
	}
}
