package cluster

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// Messages of a stranger end the stream at both ends.
func TestHostileMessages(t *testing.T) {
	noLeak(t)
	url := natstest.One(t)
	stranger := dialTestConn(t, url)
	p := newPair(t, url, Streams{Silence: time.Hour}) // no heartbeat during the test
	check := func(b []byte, want error) {
		t.Helper()
		dialed, accepted := dialPair(t, Streams{Silence: time.Hour}, p.dialerNC, p.listener)
		if err := stranger.Publish(accepted.inbox, b); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*stream{accepted, dialed} {
			if _, err := s.Read(make([]byte, 1)); !errors.Is(err, want) {
				t.Errorf("%.20v: %v instead of %v", b, err, want)
			}
		}
		dialed.Close()
		accepted.Close()
	}
	for _, b := range damaged {
		check(b, ErrProtocol)
	}
	for _, f := range frames[2:] {
		f.seq = 2
		check(f.append(nil), ErrLost)
		f.seq = 0
		check(f.append(nil), ErrLost)
	}
	for _, f := range []frame{{kind: frameCredit, number: 1}, {kind: frameHello, silence: minSilence},
		{kind: frameAccept, silence: minSilence}} {
		f.seq = 1
		check(f.append(nil), ErrProtocol)
	}
	for i := range 1 + window/maxData { // more data than credit
		f := frame{kind: frameData, seq: uint64(i + 1), data: make([]byte, maxData)}
		stranger.Publish(p.accepted.inbox, f.append(nil))
	}
	waitUntil(t, p.accepted, "the stream ends", func() bool { return p.accepted.ended })
	if _, err := io.Copy(io.Discard, p.accepted); !errors.Is(err, ErrProtocol) {
		t.Errorf("too much data: %v", err)
	}
}

func TestHostileDialer(t *testing.T) {
	noLeak(t)
	url := natstest.One(t)
	nc := dialTestConn(t, url)
	p := newPair(t, url, Streams{})
	answers, err := nc.SubscribeSync("_INBOX.stranger")
	if err != nil {
		t.Fatal(err)
	}
	other, err := nc.SubscribeSync("$KV.other")
	if err != nil {
		t.Fatal(err)
	}
	hello := (&frame{kind: frameHello, silence: minSilence}).append(nil)
	nc.PublishRequest("test.pair", "$KV.other", hello)
	nc.Publish("test.pair", hello)
	for _, b := range append(damaged, (&frame{kind: frameBeat}).append(nil)) {
		nc.PublishRequest("test.pair", "_INBOX.stranger", b)
		m, err := answers.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := decodeFrame(m.Data); err != nil || f.kind != frameEnd || endings[f.number] != ErrProtocol {
			t.Errorf("%.20v: answer %v, %v", b, f, err)
		}
	}
	if n, _, _ := other.Pending(); n != 0 {
		t.Error("the listener sent a message to a subject that is no inbox")
	}
	dialPair(t, Streams{}, nc, p.listener)
}

// A dialer that gets something else than the answer of a listener.
func TestHostileListener(t *testing.T) {
	noLeak(t)
	url := natstest.One(t)
	nc, stranger := dialTestConn(t, url), dialTestConn(t, url)
	answers := append(damaged, (&frame{kind: frameAccept, seq: 1, silence: minSilence}).append(nil),
		(&frame{kind: frameAccept, silence: minSilence}).append(nil), // without an inbox
		(&frame{kind: frameBeat}).append(nil))
	next := make(chan []byte, 1)
	if _, err := stranger.Subscribe("test.stranger", func(m *nats.Msg) { m.Respond(<-next) }); err != nil {
		t.Fatal(err)
	}
	stranger.Flush()
	for _, b := range answers {
		next <- b
		if _, err := Dial(context.Background(), nc, "test.stranger"); !errors.Is(err, ErrProtocol) {
			t.Errorf("%.20v: %v", b, err)
		}
	}
}
