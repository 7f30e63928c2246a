package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// Send implements crawler.Journal. Each message has offers for one partition.
func (n *Node) Send(ctx context.Context, offers []crawler.Offer) error {
	byPartition := map[int][]crawler.Offer{}
	for _, o := range offers {
		p, err := n.partitionOf(o.URL)
		if err != nil {
			return err
		}
		byPartition[p] = append(byPartition[p], o)
	}
	var messages []linksMessage
	for p, list := range byPartition {
		payloads, err := packOffers(list, n.journal.limit)
		if err != nil {
			return err
		}
		for _, data := range payloads {
			messages = append(messages, linksMessage{partition: p, data: data})
		}
	}
	for {
		left, err := n.sendLinks(ctx, messages)
		if len(left) == 0 {
			return nil
		}
		messages = left
		if waited := wait(ctx, retryPause); waited != nil {
			return errors.Join(waited, err)
		}
	}
}

type linksMessage struct {
	partition int
	data      []byte
	future    jetstream.PubAckFuture
}

// sendLinks publishes messages side by side, and returns those that were not acknowledged.
func (n *Node) sendLinks(ctx context.Context, messages []linksMessage) (left []linksMessage, err error) {
	for i := range messages {
		m := &messages[i]
		m.future, err = n.link.js.PublishAsync(linksSubject(m.partition), m.data, jetstream.WithRetryAttempts(0))
		if err != nil {
			m.future = nil
		}
	}
	for _, m := range messages {
		if m.future == nil {
			left = append(left, m)
			continue
		}
		select {
		case <-m.future.Ok(): // only now can the owner read the message
			_ = n.link.nc.Publish(hintSubject(m.partition), nil) // owners also look without a hint, but later
		case err = <-m.future.Err():
			left = append(left, m)
		case <-ctx.Done():
			return append(left, m), context.Cause(ctx)
		}
	}
	return left, err
}

// packOffers encodes offers as JSON lists of at most limit bytes each.
func packOffers(offers []crawler.Offer, limit int) (payloads [][]byte, err error) {
	text, err := json.Marshal(offers)
	if err != nil {
		return nil, err
	}
	if len(text) <= limit {
		return [][]byte{text}, nil
	}
	if len(offers) == 1 {
		return nil, fmt.Errorf("the link %.100s… is too long to be sent to another node", offers[0].URL)
	}
	half := len(offers) / 2
	for _, part := range [][]crawler.Offer{offers[:half], offers[half:]} {
		more, err := packOffers(part, limit)
		if err != nil {
			return nil, err
		}
		payloads = append(payloads, more...)
	}
	return payloads, nil
}

// receiveLinks queues all links that were sent to an open partition and that it does not have yet. It returns the
// position after which there are none.
func (n *Node) receiveLinks(ctx context.Context, partition int) (position uint64, err error) {
	_, position, _ = n.frontier.Position(partition)
	for {
		msg, err := n.nextLinks(ctx, partition, position+1)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return position, nil
		} else if err != nil {
			return position, unreachable(err)
		}
		var offers []crawler.Offer
		if err := json.Unmarshal(msg.Data, &offers); err != nil {
			return position, fmt.Errorf("message %d of the links to partition %d is damaged: %w", msg.Sequence,
				partition, err)
		}
		if err := n.knowSeeds(ctx, offers); err != nil {
			return position, err
		}
		if err := n.frontier.Receive(partition, msg.Sequence, offers); err != nil {
			return position, err
		}
		n.lag.Store(int64(max(n.clock.Now().Sub(msg.Time), 0)))
		position = msg.Sequence
	}
}

func (n *Node) nextLinks(ctx context.Context, partition int, from uint64) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return n.link.links.GetMsg(ctx, from, jetstream.WithGetMsgSubject(linksSubject(partition)))
}

// knowSeeds makes the seeds of the cluster known to the frontier if one of the offers is a seed that it does not know.
func (n *Node) knowSeeds(ctx context.Context, offers []crawler.Offer) error {
	for _, o := range offers {
		if o.Seed && !n.knowsSeed(o.URL) {
			return n.readSeeds(ctx)
		}
	}
	return nil
}

// removeLinks deletes links that are queued. Before that, the other nodes must know that this node has work.
func (n *Node) removeLinks(ctx context.Context, partition int, position uint64) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return unreachable(n.link.links.Purge(ctx, jetstream.WithPurgeSubject(linksSubject(partition)),
		jetstream.WithPurgeSequence(position+1)))
}

// linksLeft returns, by subject, how many messages with links no node has removed yet.
func (l *link) linksLeft(ctx context.Context) (map[string]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	info, err := l.links.Info(ctx, jetstream.WithSubjectFilter(linksPrefix+"*"))
	if err != nil {
		return nil, unreachable(err)
	}
	return info.State.Subjects, nil
}

// markLinks marks the partitions of this node that have links, and reports whether any partition of any node has.
func (n *Node) markLinks(ctx context.Context) (left bool, err error) {
	subjects, err := n.link.linksLeft(ctx)
	if err != nil {
		return false, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for p, part := range n.parts {
		if subjects[linksSubject(p)] > 0 {
			part.dirty = true
		}
	}
	return len(subjects) > 0, nil
}
