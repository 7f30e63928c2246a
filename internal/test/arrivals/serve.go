package arrivals

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

type connKey struct{}

// exchange is a request that is being answered.
type exchange struct {
	w  http.ResponseWriter
	r  *http.Request
	at int // index in the log
}

// serve logs and answers a request. The host is the address to which the client connected.
func (w *Web) serve(rw http.ResponseWriter, r *http.Request) {
	conn := r.Context().Value(connKey{}).(*stampedConn)
	host := conn.LocalAddr().String()
	x := exchange{w: rw, r: r}
	w.update(func() {
		x.at = len(w.log)
		w.log = append(w.log, Request{Host: host, Path: r.URL.RequestURI(), Start: conn.arrival(),
			Client: r.RemoteAddr, Agent: r.UserAgent()})
	})
	i := w.index[host]
	path := r.URL.Path
	switch {
	case path == robotsPath && w.is(i, robotsMoved):
		w.redirect(x, w.url(i-robotsMoved, robotsPath))
	case path == robotsPath:
		if w.is(i+robotsMoved, robotsMoved) {
			wait(r.Context(), w.o.Slow)
		}
		w.answer(x, http.StatusOK, "text/plain", w.robots(i))
	case path == creditPath && w.is((i+len(w.hosts)-1)%len(w.hosts), crediting):
		w.answer(x, http.StatusOK, "text/plain", "The Harbour Press")
	case w.is(i, redirecting) && path == movedTo:
		w.redirect(x, w.url(w.next(i), arrivedFrom(i)))
	case w.is(i, redirecting) && path == movedShut:
		w.redirect(x, w.url(w.next(i), closed+"moved"))
	default:
		w.servePage(x, i, path)
	}
}

// servePage answers with a page, or with what the host has instead of it.
func (w *Web) servePage(x exchange, i int, path string) {
	var k int
	if from, is := strings.CutPrefix(path, "/from/"); is {
		origin, err := strconv.Atoi(from)
		if err != nil || !w.is(origin, redirecting) || w.next(origin) != i {
			w.answer(x, http.StatusNotFound, "text/plain", "There is no such page.")
			return
		}
		w.answer(x, http.StatusOK, "text/html", w.page("A page that moved from host "+from, nil))
		return
	}
	if path != "/" {
		if _, err := fmt.Sscanf(path, "/page/%d", &k); err != nil || k <= 0 || k >= w.o.Pages {
			w.answer(x, http.StatusNotFound, "text/plain", "There is no such page.")
			return
		}
	}
	if k == 1 && (w.is(i, tooMany) || w.is(i, unavailable)) && w.firstTime(w.url(i, path)) {
		w.pause(x, i)
		return
	}
	if w.is(i, slow) {
		wait(x.r.Context(), w.o.Slow)
	}
	w.answer(x, http.StatusOK, "text/html", w.page(fmt.Sprintf("Page %d of host %d", k, i), w.links(i, k)))
}

// firstTime reports whether it is called for the first time for a URL.
func (w *Web) firstTime(url string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.paused[url]
	w.paused[url] = true
	return first
}

// pause answers that the client must wait before its next request.
func (w *Web) pause(x exchange, i int) {
	status := http.StatusTooManyRequests
	if w.is(i, unavailable) {
		status = http.StatusServiceUnavailable
	}
	w.update(func() { w.log[x.at].retryAfter = w.o.RetryAfter })
	x.w.Header().Set("Retry-After", fmt.Sprint(int(w.o.RetryAfter/time.Second)))
	w.answer(x, status, "text/plain", "Please come again later.")
}

func (w *Web) redirect(x exchange, to string) {
	x.w.Header().Set("Location", to)
	w.answer(x, http.StatusFound, "text/plain", "It is elsewhere.")
}

// answer writes the answer and logs its end. The end is logged before the last byte is written: a
// client cannot have the whole answer earlier, so its next request never seems to overlap this one.
func (w *Web) answer(x exchange, status int, contentType, body string) {
	x.w.Header().Set("Content-Type", contentType+"; charset=utf-8")
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	last := len(body) - 1
	_, err := io.WriteString(x.w, body[:last])
	w.update(func() {
		r := &w.log[x.at]
		r.End, r.Status = time.Now(), status
		r.Whole = err == nil && x.r.Context().Err() == nil
	})
	_, _ = io.WriteString(x.w, body[last:]) // the client may be gone
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// stampingListener gives each connection a memory of its last arrival.
type stampingListener struct{ net.Listener }

// Accept implements net.Listener.
func (l stampingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newStamped(c.(*net.TCPConn))
}
