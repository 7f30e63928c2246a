package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// The header fields of a message in a journal.
const (
	writerField = "Acapcrawl-Writer" // the process that wrote it, a blank, and how many messages it had written before
	baseField   = "Acapcrawl-Base"   // everything up to this position was written again later, and may be missing
)

// retryPause is how long a node waits before it sends again what the servers have not acknowledged.
const retryPause = 250 * time.Millisecond

// journal writes and reads the journals of the partitions that this node owns. Each message names as its predecessor
// the last message of its subject. Therefore a process that lost a partition cannot write any more as soon as the
// next owner has written its first message.
type journal struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	process string // identifies this process
	limit   int    // largest payload of a message, in bytes

	mu    sync.Mutex
	sent  uint64
	parts map[int]*journalEnd
}

// journalEnd is the end of the journal of an owned partition. mu is held while messages are written.
type journalEnd struct {
	mu    sync.Mutex
	fence uint64 // position of the message with which this process took the journal over
	last  uint64 // position of the last message; 0: there is none
	base  uint64 // see baseField
	bytes int64  // payload written since the journal was shortened, as far as this process knows
	live  int64  // payload that was written again when the journal was shortened
}

// part returns the end of a journal, or nil if this process does not own the partition.
func (j *journal) part(partition int) *journalEnd {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.parts[partition]
}

// message is one message that is being written.
type message struct {
	partition int
	end       *journalEnd
	writer    string
	data      []byte
	future    jetstream.PubAckFuture
}

func (j *journal) message(partition int, end *journalEnd, data []byte) *message {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sent++
	return &message{partition: partition, end: end, writer: j.process + " " + strconv.FormatUint(j.sent, 10),
		data: data}
}

// errFenced means that another process has written to the journal of a partition.
var errFenced = errors.New("another node owns the partition")

// send begins to publish m after the last known message of its partition.
func (j *journal) send(m *message) (err error) {
	msg := nats.NewMsg(journalSubject(m.partition))
	msg.Data = m.data
	msg.Header.Set(writerField, m.writer)
	msg.Header.Set(baseField, strconv.FormatUint(m.end.base, 10))
	m.future, err = j.js.PublishMsgAsync(msg, jetstream.WithExpectLastSequencePerSubject(m.end.last),
		jetstream.WithRetryAttempts(0))
	return err
}

// await returns when m is durable, or errFenced. It sends m again until the servers answer.
func (j *journal) await(ctx context.Context, m *message, err error) error {
	for {
		if err == nil {
			select {
			case ack := <-m.future.Ok():
				m.end.last = ack.Sequence
				m.end.bytes += int64(len(m.data))
				return nil
			case err = <-m.future.Err():
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if errorCode(err) != wrongLastSequence {
			if err := wait(ctx, retryPause); err != nil {
				return err
			}
		}
		var done bool
		if done, err = j.stored(ctx, m); done || errors.Is(err, errFenced) {
			return err
		}
		if err == nil {
			err = j.send(m)
		}
	}
}

// stored reports whether m was stored although no acknowledgement has arrived. The error is errFenced if another
// process has written to the journal.
func (j *journal) stored(ctx context.Context, m *message) (bool, error) {
	last, err := j.lastMessage(ctx, m.partition)
	switch {
	case err != nil:
		return false, err
	case last.writer == m.writer:
		m.end.last = last.position
		m.end.bytes += int64(len(m.data))
		return true, nil
	case strings.HasPrefix(last.writer, j.process+" "):
		m.end.last = last.position // an earlier message, which nobody awaits any more because its time limit had passed
	case last.position != m.end.last:
		return false, errFenced
	}
	return false, nil
}

// wait waits for a time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lastOf describes the last message of a journal.
type lastOf struct {
	position, base uint64
	writer         string
}

// lastMessage returns the last message of the journal of a partition, as the leader of the stream has it. Its position
// is 0 if there is none.
func (j *journal) lastMessage(ctx context.Context, partition int) (last lastOf, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	msg, err := j.stream.GetLastMsgForSubject(ctx, journalSubject(partition))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return last, nil
	} else if err != nil {
		return last, unreachable(err)
	}
	last = lastOf{position: msg.Sequence, writer: msg.Header.Get(writerField)}
	last.base, err = strconv.ParseUint(msg.Header.Get(baseField), 10, 64)
	if err != nil || last.writer == "" {
		return last, fmt.Errorf("message %d of the journal of partition %d was not written by acapcrawl", msg.Sequence,
			partition)
	}
	return last, nil
}

// fence makes this process the only one that can write the journal of a partition. It returns the end of the journal,
// and the position of the last message before.
func (j *journal) fence(ctx context.Context, partition int) (end *journalEnd, before uint64, err error) {
	for {
		last, err := j.lastMessage(ctx, partition)
		if err != nil {
			return nil, 0, err
		}
		end = &journalEnd{last: last.position, base: last.base}
		m := j.message(partition, end, nil)
		err = j.await(ctx, m, j.send(m))
		if errors.Is(err, errFenced) { // the earlier owner has written one more message meanwhile
			continue
		} else if err != nil {
			return nil, 0, err
		}
		end.fence = end.last
		j.mu.Lock()
		j.parts[partition] = end
		j.mu.Unlock()
		return end, last.position, nil
	}
}

// check makes certain that no other process has written to the journal of an owned partition. Otherwise the error is
// errFenced.
func (j *journal) check(ctx context.Context, partition int) error {
	end := j.part(partition)
	if end == nil {
		return errFenced
	}
	end.mu.Lock()
	defer end.mu.Unlock()
	m := j.message(partition, end, nil)
	return j.await(ctx, m, j.send(m))
}

// drop forgets a partition, so that nothing more is written to its journal.
func (j *journal) drop(partition int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.parts, partition)
}

// Append implements crawler.Journal.
func (n *Node) Append(ctx context.Context, entries []crawler.Entry) (positions []uint64, lost []int, err error) {
	return n.journal.append(ctx, entries)
}

// append writes entries. The first messages of all entries are sent side by side, then the second ones, and so on.
func (j *journal) append(ctx context.Context, entries []crawler.Entry) (positions []uint64, lost []int, err error) {
	payloads := make([][][]byte, len(entries))
	ends := make([]*journalEnd, len(entries))
	most := 0
	for i, e := range entries {
		payloads[i], ends[i] = packPuts(e.Puts, j.limit), j.part(e.Partition)
		most = max(most, len(payloads[i]))
		if ends[i] == nil || ends[i].fence != e.Adopted {
			lost, ends[i] = append(lost, e.Partition), nil
			continue
		}
		ends[i].mu.Lock() // one goroutine writes the entries of a frontier, so the order does not matter
		defer ends[i].mu.Unlock()
	}
	for round := range most {
		sent := make([]*message, len(entries))
		errs := make([]error, len(entries))
		for i, e := range entries {
			if ends[i] != nil && round < len(payloads[i]) {
				sent[i] = j.message(e.Partition, ends[i], payloads[i][round])
				errs[i] = j.send(sent[i])
			}
		}
		for i, m := range sent {
			if m == nil {
				continue
			}
			if err := j.await(ctx, m, errs[i]); errors.Is(err, errFenced) {
				lost, ends[i] = append(lost, m.partition), nil
			} else if err != nil {
				return nil, lost, fmt.Errorf("the journal of the cluster cannot be written: %w", err)
			}
		}
	}
	positions = make([]uint64, len(entries))
	for i, end := range ends {
		if end != nil {
			positions[i] = end.last
		}
	}
	return positions, lost, nil
}

// packPuts packs puts into payloads of at most limit bytes: each put with its length before it, as an unsigned varint.
// A put that is longer than limit has a payload of its own.
func packPuts(puts [][]byte, limit int) (payloads [][]byte) {
	var p []byte
	for _, put := range puts {
		if len(p) > 0 && len(p)+len(put)+binary.MaxVarintLen32 > limit {
			payloads, p = append(payloads, p), nil
		}
		p = append(binary.AppendUvarint(p, uint64(len(put))), put...)
	}
	if len(p) > 0 {
		payloads = append(payloads, p)
	}
	return payloads
}

func unpackPuts(payload []byte) (puts [][]byte, err error) {
	for len(payload) > 0 {
		n, size := binary.Uvarint(payload)
		if size <= 0 || n > uint64(len(payload)-size) {
			return nil, errors.New("a message of a journal is damaged")
		}
		puts, payload = append(puts, payload[size:size+int(n)]), payload[size+int(n):]
	}
	return puts, nil
}

// size returns how many bytes were written to a journal since it was shortened, as far as this process knows.
func (j *journal) size(partition int) int64 {
	end := j.part(partition)
	if end == nil {
		return 0
	}
	end.mu.Lock()
	defer end.mu.Unlock()
	return end.bytes
}

// shorten removes everything up to the position base from the journal of an owned partition, because all of it that
// still holds was written again after base. before is the size of the journal before that.
func (j *journal) shorten(ctx context.Context, partition int, base uint64, before int64) error {
	end := j.part(partition)
	if end == nil {
		return errFenced
	}
	end.mu.Lock()
	end.live = end.bytes - before
	end.base, end.bytes = base, end.live
	end.mu.Unlock()
	// the message that announces the new base must be durable before anything is removed
	if err := j.check(ctx, partition); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return unreachable(j.stream.Purge(ctx, jetstream.WithPurgeSubject(journalSubject(partition)),
		jetstream.WithPurgeSequence(base+1)))
}
