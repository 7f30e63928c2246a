package render

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestCopyMessages(t *testing.T) {
	t.Parallel()
	event := func(n int) string { return `{"method":"` + strings.Repeat("x", n) + `"}` + "\x00" }
	reply := func(n int) string { return `{"id":1,"result":"` + strings.Repeat("x", n) + `"}` + "\x00" }
	const events, replies = 200_000, 400_000
	var got bytes.Buffer
	in := strings.NewReader(event(1) + reply(2) + event(events) + event(3) + reply(events) + reply(replies) + event(4) +
		event(events-20) + `{"id":1`)
	if err := copyMessages(&got, in, events, replies); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if want := event(1) + reply(2) + event(3) + reply(events) + event(4) + event(events-20); got.String() != want {
		t.Errorf("%d bytes, want %d", got.Len(), len(want))
	}
}

// However large the data are that a page makes, they do not fill the memory of this process. The test is not parallel,
// because it measures that.
func TestRunHostile(t *testing.T) {
	b := browse(t)
	var before, after runtime.MemStats
	for _, c := range []struct {
		name, script string
		fails        error
	}{
		{"document", "document.body.hidden = true; " +
			"for (let i = 0; i < 4; i++) document.body.append('x'.repeat(1 << 23))", errLarge},
		{"events", `const x = 'x'.repeat(1 << 23);
for (let i = 0; i < 100; i++) console.log('y'.repeat(1 << 18));
console.log(x); console.error({x}); setTimeout(() => { throw x }); Promise.reject(x);
fetch('post', {method: 'POST', body: x}); navigator.sendBeacon('beacon', x);
Object.defineProperty(document, 'scrollingElement', {get() { throw x }});
document.title = x; document.title = ''`, nil},
	} {
		runtime.ReadMemStats(&before)
		p := html(there+"a.html", "<body><script>"+c.script+"</script>")
		_, err := b.Run(t.Context(), p, budget, (&served{}).get)
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; !errors.Is(err, c.fails) || used > 10 {
			t.Errorf("%s: %d MB, %v", c.name, used, err)
		}
	}
}
