package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	keysAhead   = 256             // number of keys that are written in advance if they are copied
	keysAtOnce  = 256             // copies of keys that are removed with one call
	retryCopies = 5 * time.Second // pause after a failure
	endCopies   = 5 * time.Second // how long Close waits until copies of destroyed keys are removed
	sizeOfCopy  = 8 << 20         // size of copies of records in bytes above which a snapshot can be due
	mostCopies  = 4096            // number of copies of records after which a snapshot is due
)

// openKeySlots sets the next slot of a key. Keys that a process has reserved and not returned may
// have copies: it has ended without Close. They are condemned and not used again.
func (a *Archive) openKeySlots(used uint64) error {
	r := a.replica
	if r == nil {
		return a.keys.reset(used)
	}
	a.keys.ahead = keysAhead
	slots, err := a.keys.slots()
	if err != nil {
		return err
	}
	if slots > used+1 {
		r.sent = slots - 1
	}
	return a.resetKeys(used)
}

// resetKeys drops the keys after used, because the transaction that took them did not commit. If a
// copy of one of them may exist, its slot is never used again.
func (a *Archive) resetKeys(used uint64) error {
	r := a.replica
	if r == nil || r.sent <= used {
		return a.keys.reset(used)
	}
	r.strays = r.strays[:0]
	for id := used + 1; id <= r.sent; id++ {
		r.strays = append(r.strays, id)
	}
	return errors.Join(a.keys.reset(r.sent), a.keys.overwrite(r.strays))
}

// returnKeys removes the keys that were reserved and not used, so that the next process need not condemn them.
func (a *Archive) returnKeys() {
	if r := a.replica; r != nil && len(r.strays) == 0 && a.failure() == nil {
		_ = a.keys.reset(a.keys.next - 1) // they have no copies, so they may also stay
	}
}

// condemnStrays marks the keys of failed transactions for destruction, so that their copies are
// removed.
func (t *txn) condemnStrays() error {
	if t.a.replica == nil {
		return nil
	}
	for _, id := range t.a.replica.strays {
		if err := t.condemnKey(id); err != nil {
			return err
		}
	}
	return nil
}

// withoutCopies returns the jobs of a group that can be executed without copies, after copies could
// not be stored: those that only erase. They are copied later. The other jobs end with the error.
// It returns nil if the group must not be executed again.
func (a *Archive) withoutCopies(group []*job, failed *job, err error) (rest []*job) {
	r := a.replica
	if r == nil {
		return nil
	}
	var cause *replicaError
	if failed != nil || r.local || !errors.As(err, &cause) && !errors.Is(err, ErrBodies) {
		return nil
	}
	for _, j := range group {
		if j.erases {
			rest = append(rest, j)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	for _, j := range group {
		if !j.erases {
			j.err = err
			close(j.answer)
		}
	}
	r.local = true
	return rest
}

// committed notes that a transaction is on disk.
func (r *replica) committed(t *txn) {
	if r == nil {
		return
	}
	r.strays = nil
	if t.record.Generation == "" { // nothing was copied
		return
	}
	r.record = t.record
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsent = t.unsent
	r.oversized = t.record.oversized()
	if r.unsent || r.oversized {
		r.wake()
	}
}

func (r replicaRecord) oversized() bool {
	return r.Bytes > max(sizeOfCopy, r.BaseBytes) || r.Copies > mostCopies && r.Bytes > r.BaseBytes/4
}

// pending reports whether Close must write a transaction.
func (r *replica) pending() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.removed) > 0
}

// isReplaced reports whether another directory continues the archive, or may do so, so that this one must delete
// nothing outside.
func (r *replica) isReplaced() bool { return r != nil && (r.detached || r.replaced != nil) }

// wake makes keepCopies look around.
func (r *replica) wake() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// remove lists keys, which are destroyed in keys.db, so that their copies are removed.
func (r *replica) remove(ids []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isReplaced() {
		return
	}
	r.removing = append(r.removing, ids...)
	r.wake()
}

// addRemoved adds the keys whose copies are removed to a list.
func (r *replica) addRemoved(to *[]uint64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	*to = append(*to, r.removed...)
	r.removed = nil
}

// startCopying starts the goroutine that removes copies.
func (a *Archive) startCopying() {
	r := a.replica
	if r == nil || r.detached {
		return
	}
	var ctx context.Context
	ctx, r.finally = context.WithCancel(a.life)
	last, enough := context.WithCancel(ctx)
	r.enough = enough
	r.wake()
	go func() {
		defer close(r.ended)
		a.keepCopies(ctx, last)
	}()
}

// endCopying ends the goroutine when it has removed the copies of destroyed keys, at the latest
// after endCopies.
func (r *replica) endCopying() {
	if r.detached {
		return
	}
	defer time.AfterFunc(endCopies, r.finally).Stop()
	r.enough()
	<-r.ended
	r.finally()
}

// keepCopies removes copies of destroyed keys, and repeats what has failed. It ends when last ends
// and nothing is left to do, or when ctx ends.
func (a *Archive) keepCopies(ctx, last context.Context) {
	r := a.replica
	for {
		select {
		case <-r.kick:
		case <-last.Done():
		}
		err := a.removeCopies(ctx)
		r.mu.Lock()
		unsent, oversized := r.unsent, r.oversized
		r.mu.Unlock()
		if last.Err() != nil { // the writer has stopped
			return
		}
		if unsent && err == nil {
			err = a.do(last, 0, func(t *txn) error {
				t.recorded = true
				return nil
			})
		}
		if oversized && err == nil {
			err = a.renewSnapshot(last, true)
		}
		if err == nil {
			continue
		}
		select {
		case <-time.After(retryCopies):
			r.wake()
		case <-last.Done():
		}
	}
}

// removeCopies removes the copies of destroyed keys.
func (a *Archive) removeCopies(ctx context.Context) error {
	r := a.replica
	r.remover.Lock()
	defer r.remover.Unlock()
	for {
		r.mu.Lock()
		ids := slices.Clone(r.removing[:min(len(r.removing), keysAtOnce)])
		r.mu.Unlock()
		if len(ids) == 0 {
			return nil
		}
		if err := r.o.Keys.Remove(ctx, ids); err != nil {
			return err
		}
		r.mu.Lock()
		r.removing = r.removing[len(ids):]
		r.removed = append(r.removed, ids...)
		r.left = true
		r.mu.Unlock()
	}
}

// compactCopies makes the servers forget what was erased. It is part of a compaction.
func (a *Archive) compactCopies(ctx context.Context) error {
	r := a.replica
	switch {
	case r == nil:
		return nil
	case r.detached:
		return ErrReplica
	}
	for r.wake(); ; {
		r.mu.Lock()
		waiting, left := len(r.removing), r.left
		r.left = r.left && waiting > 0 // keys that are removed while the servers compact need another compaction
		r.mu.Unlock()
		if waiting == 0 {
			if !left {
				break
			}
			if err := r.o.Keys.Compact(ctx); err != nil {
				r.mu.Lock()
				r.left = true
				r.mu.Unlock()
				return fmt.Errorf("servers of the cluster may still have encrypted copies of destroyed keys: %w", err)
			}
			break
		}
		if err := a.removeCopies(ctx); err != nil {
			return fmt.Errorf("copies of %d destroyed keys could not be removed from the cluster: %w", waiting, err)
		}
	}
	return a.renewSnapshot(ctx, false)
}
