package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// sampling is how often a process is looked at.
const sampling = 20 * time.Millisecond

// watcher looks at a process while it runs.
type watcher struct {
	pid           int
	over, ended   chan struct{}
	peak, written int64
	resident      int64 // the largest memory with what is mapped of files

	most    int64 // bytes of anonymous memory after which stop is called; 0: no limit
	stop    func()
	stopped bool
}

func watch(pid int) *watcher {
	return watchMost(pid, 0, nil)
}

// watchMost is watch for a process that is to be stopped when it takes more than most bytes.
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

// number reads what stands behind a name in a file of /proc; 0 where there is none.
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
	n, _ := strconv.ParseInt(fields[0], 10, 64) // 0 for what is no number
	return n
}

// end returns the largest anonymous memory, and what was written to disk, in bytes.
func (w *watcher) end() (peak, written int64) {
	close(w.over)
	<-w.ended
	return w.peak, w.written
}
