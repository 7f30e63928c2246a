package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// The kinds of frames. Every message of a stream is one frame: a byte for the kind, the sequence number of
// the frame in its direction (8 bytes, big-endian), and the payload.
const (
	frameHello  = 1 + iota // from the dialer: version, silence
	frameAccept            // from the listener, the same payload
	frameData              // bytes of the stream
	frameCredit            // how much more the other end may send
	frameFin               // no more data follows
	frameBeat              // nothing else was sent for a while
	frameEnd               // the sender has ended the stream: one byte, an index of endings
)

const (
	streamVersion = 1
	frameHeader   = 9
	maxData       = 32 << 10 // bytes in a data frame
	// frameCost is added to the length of a data frame when credit is counted, for the memory that a message
	// needs besides its bytes. It also bounds the number of messages under way.
	frameCost = 256
	// window is the credit of a sender: what a stream stores for a slow reader. A listener's streams together
	// stay below 64 MiB, at which a NATS server disconnects a client that does not keep up.
	window     = 128 << 10
	minSilence = 100 * time.Millisecond
	maxSilence = time.Hour
)

// endings are the reasons for the end of a stream that the other end is informed of. The index is part of the
// protocol.
var endings = [...]error{io.EOF, ErrBusy, errVersion, ErrLost, ErrProtocol, ErrGone, ErrNobody}

var errVersion = errors.New("the other end uses another version of the stream protocol")

// ending returns the index in endings for err.
func ending(err error) uint32 {
	for i, e := range endings {
		if errors.Is(err, e) {
			return uint32(i)
		}
	}
	return 5 // ErrGone
}

// frame is a decoded message of a stream.
type frame struct {
	kind    byte
	seq     uint64
	number  uint32        // the amount of credit, the ending of end
	silence time.Duration // of hello and accept, in milliseconds on the wire
	data    []byte
}

// append appends the encoding of f to b.
func (f *frame) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(append(b, f.kind), f.seq)
	switch f.kind {
	case frameHello, frameAccept:
		b = binary.BigEndian.AppendUint32(append(b, streamVersion), uint32(f.silence.Milliseconds()))
	case frameData:
		b = append(b, f.data...)
	case frameCredit:
		b = binary.BigEndian.AppendUint32(b, f.number)
	case frameEnd:
		b = append(b, byte(f.number))
	}
	return b
}

// cost returns how much credit a data frame with n bytes uses.
func cost(n int) int { return n + frameCost }

// decodeFrame decodes a message. The data of the frame is a part of b. Errors wrap ErrProtocol, except for a
// hello or accept of another version.
func decodeFrame(b []byte) (frame, error) {
	if len(b) < frameHeader {
		return frame{}, fmt.Errorf("%w: a frame of %d bytes", ErrProtocol, len(b))
	}
	f := frame{kind: b[0], seq: binary.BigEndian.Uint64(b[1:])}
	p := b[frameHeader:]
	ok := false
	switch f.kind {
	case frameHello, frameAccept:
		if len(p) > 0 && p[0] != streamVersion {
			return f, errVersion
		}
		if ok = len(p) == 5; ok {
			f.silence = time.Duration(binary.BigEndian.Uint32(p[1:])) * time.Millisecond
			ok = minSilence <= f.silence && f.silence <= maxSilence
		}
	case frameData:
		f.data, ok = p, 0 < len(p) && len(p) <= maxData
	case frameCredit:
		if ok = len(p) == 4; ok {
			f.number = binary.BigEndian.Uint32(p)
			ok = 0 < f.number && f.number <= window
		}
	case frameFin, frameBeat:
		ok = len(p) == 0
	case frameEnd:
		if ok = len(p) == 1 && int(p[0]) < len(endings); ok {
			f.number = uint32(p[0])
		}
	}
	if !ok {
		return f, fmt.Errorf("%w: a damaged frame of kind %d with %d bytes", ErrProtocol, f.kind, len(p))
	}
	return f, nil
}
