package holdings

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/acapcrawl/acapcrawl/warc"
)

// recordWriter writes records in order, and encodes several of them at the same time.
type recordWriter struct {
	out  *warc.Writer
	done func(warc.Entry, warc.Place) error // called in order for each written record

	encode, order chan *encoding
	running       sync.WaitGroup
	failed        atomic.Bool
	err           error // set before failed; read it only after close
}

// encoding is a record that is being encoded.
type encoding struct {
	entry warc.Entry
	bytes []byte
	err   error
	ready chan struct{} // closed when the record is encoded
	ended chan struct{} // closed when the record is written, or writing has failed
}

// bigRecord is the payload size in bytes above which write waits until the record is written, so
// that few large records are in memory.
const bigRecord = 1 << 20

func newRecordWriter(out *warc.Writer, compressed bool, done func(warc.Entry, warc.Place) error) *recordWriter {
	n := runtime.GOMAXPROCS(0)
	w := &recordWriter{out: out, done: done, encode: make(chan *encoding, 4*n), order: make(chan *encoding, 4*n)}
	for range n {
		w.running.Go(func() {
			enc := warc.NewEncoder(compressed)
			for r := range w.encode {
				b, err := enc.Encode(&r.entry)
				r.bytes, r.err = bytes.Clone(b), err
				close(r.ready)
			}
		})
	}
	w.running.Go(w.writeAll)
	return w
}

// write queues a record. If the record cannot be written, close returns the error. If write returns
// an error, an earlier record could not be written.
func (w *recordWriter) write(e warc.Entry) error {
	if w.failed.Load() {
		return errWriting
	}
	r := &encoding{entry: e, ready: make(chan struct{}), ended: make(chan struct{})}
	w.order <- r
	w.encode <- r
	if len(e.Payload) > bigRecord {
		<-r.ended
	}
	return nil
}

// writeAll writes the records in the order of the calls of write.
func (w *recordWriter) writeAll() {
	for r := range w.order {
		<-r.ready
		if w.err == nil {
			w.err = w.writeOne(r)
			w.failed.Store(w.err != nil)
		}
		close(r.ended)
	}
}

func (w *recordWriter) writeOne(r *encoding) error {
	err := r.err
	var p warc.Place
	if err == nil {
		p, err = w.out.WriteEncoded(r.bytes)
	}
	if err != nil {
		return fmt.Errorf("the record of %s could not be written: %w", r.entry.Target, err)
	}
	return w.done(r.entry, p)
}

// close waits until all records are written, and returns the first error.
func (w *recordWriter) close() error {
	close(w.encode)
	close(w.order)
	w.running.Wait()
	return w.err
}
