package cluster

import (
	"context"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// read returns the records of a journal after the position from, up to the end that fence returned.
func (j *journal) read(ctx context.Context, partition int, from uint64, end uint64) iter.Seq2[crawler.JournalRecord,
	error] {
	return func(yield func(crawler.JournalRecord, error) bool) {
		if from >= end {
			return
		}
		consumer, err := j.js.OrderedConsumer(ctx, journalStream, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{journalSubject(partition)}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
			OptStartSeq: from + 1, InactiveThreshold: consumerEnds})
		if err != nil {
			yield(crawler.JournalRecord{}, unreachable(err))
			return
		}
		defer j.endConsumer(consumer)
		messages, err := consumer.Messages()
		if err != nil {
			yield(crawler.JournalRecord{}, unreachable(err))
			return
		}
		defer messages.Stop()
		defer context.AfterFunc(ctx, messages.Stop)()
		for {
			record, err := nextRecord(messages)
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if !yield(record, err) || err != nil || record.Position >= end {
				return
			}
		}
	}
}

// ShortJournal returns the present journal of the partition of a host, even if another node owns the partition. If the
// journal has more than most messages, short is false and journal is nil.
func (n *Node) ShortJournal(ctx context.Context, host string, most uint64) (
	journal iter.Seq2[crawler.JournalRecord, error], short bool, err error) {
	p := n.Partition(host)
	asking, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	info, err := n.journal.stream.Info(asking, jetstream.WithSubjectFilter(journalSubject(p)))
	if err != nil {
		return nil, false, unreachable(err)
	}
	if info.State.Subjects[journalSubject(p)] > most {
		return nil, false, nil
	}
	last, err := n.journal.lastMessage(ctx, p)
	return n.journal.read(ctx, p, 0, last.position), true, err
}

// consumerEnds is when the servers remove a consumer that this process could not remove.
const consumerEnds = 30 * time.Second

// endConsumer removes a consumer. The servers permit only some hundred at a time, and a node may take over more
// partitions than that.
func (j *journal) endConsumer(c jetstream.Consumer) {
	info := c.CachedInfo()
	if info == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	_ = j.stream.DeleteConsumer(ctx, info.Name) // if it fails, the servers do it after consumerEnds
}

func nextRecord(messages jetstream.MessagesContext) (r crawler.JournalRecord, err error) {
	msg, err := messages.Next()
	if err != nil {
		return r, unreachable(err)
	}
	meta, err := msg.Metadata()
	if err != nil {
		return r, err
	}
	r.Position = meta.Sequence.Stream
	r.Puts, err = unpackPuts(msg.Data())
	return r, err
}
