package cluster

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// frames are valid frames of all kinds.
var frames = []frame{
	{kind: frameHello, silence: minSilence},
	{kind: frameAccept, silence: maxSilence},
	{kind: frameData, seq: 1, data: []byte("harbour")},
	{kind: frameData, seq: 1<<64 - 1, data: make([]byte, maxData)},
	{kind: frameCredit, seq: 2, number: 1},
	{kind: frameCredit, seq: 2, number: window},
	{kind: frameFin, seq: 3},
	{kind: frameBeat, seq: 4},
	{kind: frameEnd, seq: 5},
	{kind: frameEnd, seq: 5, number: uint32(len(endings) - 1)},
}

// damaged are messages that are no frames.
var damaged = [][]byte{
	nil,
	{frameData},
	{frameData, 0, 0, 0, 0, 0, 0, 0, 1},
	append([]byte{frameData, 0, 0, 0, 0, 0, 0, 0, 1}, make([]byte, maxData+1)...),
	{0, 0, 0, 0, 0, 0, 0, 0, 1},
	{255, 0, 0, 0, 0, 0, 0, 0, 1},
	{frameFin, 0, 0, 0, 0, 0, 0, 0, 1, 0},
	{frameBeat, 0, 0, 0, 0, 0, 0, 0, 1, 0},
	{frameCredit, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1},
	{frameCredit, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
	{frameCredit, 0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255},
	{frameEnd, 0, 0, 0, 0, 0, 0, 0, 1},
	{frameEnd, 0, 0, 0, 0, 0, 0, 0, 1, byte(len(endings))},
	{frameHello, 0, 0, 0, 0, 0, 0, 0, 0},
	{frameHello, 0, 0, 0, 0, 0, 0, 0, 0, streamVersion, 0, 0, 0, 0},
	{frameHello, 0, 0, 0, 0, 0, 0, 0, 0, streamVersion, 255, 255, 255, 255},
	{frameAccept, 0, 0, 0, 0, 0, 0, 0, 0, streamVersion, 0, 0, 255, 0, 0},
}

func TestDecodeFrame(t *testing.T) {
	for _, f := range frames {
		got, err := decodeFrame(f.append(nil))
		if err != nil || got.kind != f.kind || got.seq != f.seq || got.number != f.number ||
			got.silence != f.silence || !bytes.Equal(got.data, f.data) {
			t.Errorf("%v became %v, %v", f, got, err)
		}
	}
	for _, b := range damaged {
		if f, err := decodeFrame(b); !errors.Is(err, ErrProtocol) {
			t.Errorf("%v became %v, %v", b, f, err)
		}
	}
	if _, err := decodeFrame([]byte{frameHello, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1}); !errors.Is(err, errVersion) {
		t.Error(err)
	}
}

func FuzzDecodeFrame(f *testing.F) {
	for _, v := range frames {
		f.Add(v.append(nil))
	}
	for _, b := range damaged {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decodeFrame(b)
		if err == nil && !bytes.Equal(v.append(nil), b) {
			t.Errorf("%v was encoded differently", b)
		}
	})
}

// FuzzReceive gives an open stream any sequence of frames. The first byte of each is its length.
func FuzzReceive(f *testing.F) {
	var session []byte
	for i, v := range frames[2:] {
		if v.seq = uint64(i + 1); len(v.data) < 200 {
			b := v.append(nil)
			session = append(append(session, byte(len(b))), b...)
		}
	}
	f.Add(session)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := Streams{Silence: time.Hour}.newStream(nil, "test.fuzz")
		s.open("_INBOX.x", time.Hour)
		defer s.end(ErrGone, false) // stops the timer
		for len(b) > 0 {
			n := min(int(b[0]), len(b)-1)
			s.receive(&nats.Msg{Data: b[1 : 1+n]})
			b = b[1+n:]
			size := 0
			for _, d := range s.queue {
				size += cost(len(d))
			}
			if size > window || s.credit < 0 || s.credit > window || s.ended != (s.err != nil) {
				t.Fatalf("%d bytes are queued, credit %d, ended %t, %v", size, s.credit, s.ended, s.err)
			}
		}
	})
}
