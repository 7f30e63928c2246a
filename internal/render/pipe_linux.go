package render

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// mostEvent is the maximal size of an event of the browser, in bytes. Without it, a page could make events of any
// size: the event of a request contains the body of the request.
const mostEvent = 1 << 20

// limitMessages puts copyMessages between the pipe that the browser writes to and chromedp, which reads messages
// of any size. It must be called before cmd starts.
func limitMessages(cmd *exec.Cmd) error {
	if len(cmd.ExtraFiles) != 2 {
		return errors.New("chromedp has changed the files of the browser")
	}
	theirs := int(cmd.ExtraFiles[1].Fd()) // for the browser; chromedp closes it when the browser has started
	out, err := unix.FcntlInt(uintptr(theirs), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return errors.Join(err, unix.Close(out))
	}
	err = errors.Join(unix.Dup3(ends[1], theirs, unix.O_CLOEXEC), unix.Close(ends[1]), unix.SetNonblock(ends[0], true))
	r, w := os.NewFile(uintptr(ends[0]), "messages"), os.NewFile(uintptr(out), "messages")
	go func() { // until no process has the other end
		defer w.Close()
		defer r.Close()
		_ = copyMessages(w, r, mostEvent, mostReply)
	}()
	return err
}

// copyMessages copies messages, each of which ends with a zero byte, and omits events and replies that are larger than
// these limits. If an omitted event is a request of the page, the page gets no response. If a reply is omitted, the
// call that waits for it fails at its time limit.
func copyMessages(w io.Writer, r io.Reader, events, replies int) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var message []byte
	most, size := 0, 0
	for {
		part, err := in.ReadSlice(0)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if size == 0 {
			most = events
			if bytes.HasPrefix(part, []byte(`{"id":`)) {
				most = replies
			}
		}
		if size += len(part); size <= most {
			message = append(message, part...)
		} else {
			message = nil
		}
		if err != nil { // the message goes on
			continue
		}
		if size <= most {
			if _, err := w.Write(message); err != nil {
				return err
			}
		}
		if message, size = message[:0], 0; cap(message) > events {
			message = nil
		}
	}
}
