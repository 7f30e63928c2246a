package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// sampling is the interval between two samples of a process.
const sampling = 20 * time.Millisecond

// watcher samples the memory and disk use of a process while it runs.
type watcher struct {
	pid           int
	over, ended   chan struct{}
	peak, written int64
	resident      int64 // the largest resident memory, including mapped files

	most    int64 // limit of anonymous memory in bytes, above which stop is called; 0: no limit
	stop    func()
	stopped bool
}

func watch(pid int) *watcher {
	return watchMost(pid, 0, nil)
}

// watchMost is watch with a limit: it calls stop once if the process takes more than the limit
// most, in bytes, of anonymous memory.
func watchMost(pid int, most int64, stop func()) *watcher {
	w := &watcher{pid: pid, over: make(chan struct{}), ended: make(chan struct{}), most: most, stop: stop}
	go w.run()
	return w
}

func (w *watcher) run() {
	defer close(w.ended)
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	for {
		w.peak = max(w.peak, 1024*w.number("status", "RssAnon:"))
		w.resident = max(w.resident, 1024*w.number("status", "VmHWM:"))
		w.written = max(w.written, w.number("io", "write_bytes:"))
		if w.most > 0 && w.peak > w.most && !w.stopped {
			w.stopped = true
			w.stop()
		}
		select {
		case <-tick.C:
		case <-w.over:
			return
		}
	}
}

// number returns the number that follows a name in a file of /proc; 0 if the file does not contain
// the name.
func (w *watcher) number(file, name string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", w.pid, file))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), name)
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64) // fails, with 0, if the text is not a number
	return n
}

// end stops the watcher. It returns the largest anonymous memory, and the number of bytes that were
// written to disk.
func (w *watcher) end() (peak, written int64) {
	close(w.over)
	<-w.ended
	return w.peak, w.written
}
