package gate

import (
	"net/http"
	"runtime"
	"testing"
	"time"
	"unsafe"
)

// An idle connection does not keep the last page that was received over it in memory.
func TestIdleConnectionKeepsNoPage(t *testing.T) {
	const size = 1 << 20
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) })
	g := newGate(t, Options{}, rule(open), s)
	freed := make(chan struct{})
	func() {
		trace := &Trace{}
		if _, err := do(t, g, With(t.Context(), PageRequest, trace), http.MethodGet, s.URL); err != nil {
			t.Fatal(err)
		}
		body := trace.Hops[0].Body
		if len(body) != size {
			t.Fatalf("%d bytes", len(body))
		}
		runtime.AddCleanup(unsafe.SliceData(body), func(done chan struct{}) { close(done) }, freed)
	}()
	for give := time.After(time.Minute); ; {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-give:
			t.Fatal("the page is still in memory")
		case <-time.After(time.Millisecond):
		}
	}
}
