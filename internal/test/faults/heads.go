package faults

import "strings"

// heads returns the faults of the status line and the header.
func heads() []Fault {
	const ok = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
	return []Fault{
		{Path: "/closed", End: Silent, serve: func(*exchange) {}},
		{Path: "/reset", End: Silent, serve: func(x *exchange) { x.reset() }},
		{Path: "/no-answer", End: Silent, Slow: true, serve: (*exchange).hold},
		text("/no-http", Broken, "This is no HTTP at all.\r\n\r\n"),
		text("/no-head", Broken, "<html><body>as in 1991</body></html>"),
		text("/status-words", Broken, "HTTP/1.1 two hundred OK\r\n\r\n"),
		text("/status-long", Broken, "HTTP/1.1 20000 OK\r\n\r\n"),
		text("/status-0", Broken, "HTTP/1.1 000 Nothing\r\n\r\n"),
		text("/status-999", Later, "HTTP/1.1 999 Go away\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
		text("/version", Broken, "HTTP/9 200 OK\r\n\r\n"),
		text("/no-reason", Whole, "HTTP/1.1 200\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"),
		text("/http10", Whole, "HTTP/1.0 200 OK\r\n\r\nok"),
		text("/line-feeds", Whole, "HTTP/1.1 200 OK\nConnection: close\nContent-Length: 2\n\nok"),
		text("/header-cut", Silent, ok+"Content-Type: te"),
		text("/header-cut-name", Broken, ok+"Content-Ty"),
		text("/header-colon", Broken, ok+"Content-Type text/html\r\n\r\nno"),
		text("/header-name", Broken, ok+"Bad\x00Name: x\r\nContent-Length: 2\r\n\r\nno"),
		text("/header-long", Broken, ok+"X-Long: "+strings.Repeat("x", 1<<20)+"\r\n\r\nno"),
		{Path: "/header-flood", End: Broken,
			serve: func(x *exchange) { x.send(ok); x.forever("X-Filler: xxxxxxxxxxxxxxxxxxxx\r\n") }},
		{Path: "/header-slow", End: Silent, Slow: true, serve: func(x *exchange) {
			x.send(ok +
				"X-Slow: ")
			x.drip("x")
		}},
		{Path: "/continue-flood", End: Broken, serve: func(x *exchange) { x.forever("HTTP/1.1 100 Continue\r\n\r\n") }},
		{Path: "/continue-slow", End: Silent, Slow: true,
			serve: func(x *exchange) { x.drip("HTTP/1.1 103 Early Hints\r\n\r\n") }},
		text("/hints", Whole, strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
			3)+ok+"Content-Length: 2\r\n\r\nok"),
		{Path: "/switching", End: Broken, serve: func(x *exchange) {
			x.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			x.hold()
		}},
		text("/lengths", Broken, ok+"Content-Length: 2\r\nContent-Length: 3\r\n\r\nno"),
		text("/length-negative", Broken, ok+"Content-Length: -2\r\n\r\nno"),
		text("/length-words", Broken, ok+"Content-Length: two\r\n\r\nno"),
		text("/transfer-unknown", Broken, ok+"Transfer-Encoding: rot13\r\n\r\nab"),
		text("/coding-unknown", Broken, ok+"Content-Encoding: rot13\r\nContent-Length: 2\r\n\r\nab"),
		text("/coding-many", Broken, ok+"Content-Encoding: gzip, gzip, gzip, gzip\r\nContent-Length: 2\r\n\r\nab"),
		text("/cookie", Whole, ok+"Set-Cookie: a=b; Path=/\r\nContent-Length: 2\r\n\r\nok"),
		text("/not-modified", Whole,
			"HTTP/1.1 304 Not Modified\r\nConnection: close\r\nContent-Encoding: gzip\r\nContent-Length: 100\r\n\r\n"),
	}
}

// redirects returns the faults of the Location header.
func redirects() []Fault {
	to := func(path string, end End, location string) Fault {
		f := text(path, end, "HTTP/1.1 302 Found\r\nConnection: close\r\n"+location+"Content-Length: 0\r\n\r\n")
		f.Redirect = true
		return f
	}
	return []Fault{
		to("/loop", Broken, "Location: /loop\r\n"),
		to("/loop-a", Broken, "Location: /loop-b\r\n"),
		to("/loop-b", Broken, "Location: /loop-a\r\n"),
		// redirects to /chain/x, /chain/xx and so on, each time with one more x
		{Path: "/chain", End: Broken, Redirect: true, serve: func(x *exchange) {
			x.send("HTTP/1.1 301 Moved\r\nConnection: close\r\nLocation: /chain/%sx\r\nContent-Length: 0\r\n\r\n",
				strings.TrimPrefix(strings.TrimPrefix(x.path, "/chain"), "/"))
		}},
		to("/location-none", Whole, ""),
		to("/location-empty", Whole, "Location: \r\n"),
		to("/location-host", Broken, "Location: http://[::1/\r\n"),
		to("/location-percent", Broken, "Location: /%zz\r\n"),
		to("/location-scheme", Whole, "Location: javascript:alert(1)\r\n"),
		to("/location-port", Whole, "Location: http://127.0.0.1:99999/\r\n"),
		to("/location-long", Whole, "Location: /far/"+strings.Repeat("long/", 20_000)+"\r\n"),
	}
}
