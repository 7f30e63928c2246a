package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/spool"
)

// Problem is a defect of the archive.
type Problem struct {
	// the defective record or file, for example "capture 7 (http://example.com/)"
	Where      string `json:"where"`
	What       string `json:"what"`       // clause that continues the sentence that begins with Where
	Repairable bool   `json:"repairable"` // Repair can repair the problem
	// what the operator can do if Repair cannot repair the problem, as an order: "restore a backup"
	Remedy string `json:"remedy,omitempty"`
}

// String returns a sentence without its full stop.
func (p Problem) String() string { return p.Where + " " + p.What }

// Verify checks every page of archive.db, every record, digest, reference, version and alias, and
// every key. Each sealed text must open, and there must be no unneeded key. Verify checks a
// snapshot while others write, and never panics. The error means that the check could not be
// completed (ctx, ErrClosed), not that something is damaged. An interrupted call can be resumed.
func (a *Archive) Verify(ctx context.Context, o VerifyOptions) ([]Problem, error) {
	r, err := a.newReading(o)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return nil, err
	}
	found, err := a.inspect(ctx, r)
	r.saving.Wait()
	switch {
	case err == nil && !slices.ContainsFunc(found, func(f finding) bool { return f.Where == "archive.db" }):
		err = r.finish(ctx, a)
	case ctx.Err() != nil && r.done > 0:
		err = errors.Join(err, r.save(context.WithoutCancel(ctx), a))
	}
	return problems(found), err
}

// Unsettled reports whether an intent is logged for url, so that the index may disagree with
// Resource(url).Indexed.
func (a *Archive) Unsettled(url string) (stands bool, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		stands = tx.Bucket(bIntents).Get([]byte(url)) != nil && !slices.Contains(a.finished(), url)
		return nil
	})
	return stands, err
}

// finding is a problem and its repair.
type finding struct {
	Problem
	fix  fixer // nil: cannot be repaired
	turn turn  // in which order the problem is repaired within the transaction
}

// turn is the position of a repair within the transaction. First, references to bodies are counted
// again; then captures are erased, which removes references; finally bodies are dropped.
type turn uint8

const (
	first turn = iota
	second
	third
	turns
)

// fixer repairs a problem if the problem still exists; other goroutines may have changed the data
// since the check. did is a clause without subject that says what was done, or "" if there was
// nothing to do. A fixer runs in the writer goroutine and may run more than once.
type fixer func(*txn) (did string, err error)

func problems(found []finding) (list []Problem) {
	for _, f := range found {
		list = append(list, f.Problem)
	}
	return list
}

const (
	fromBackup = "restore a backup into another directory"
	// maximal number of attempts to open a read transaction. An attempt fails if its root record is
	// overwritten before it is read.
	snapshots = 100
)

func (a *Archive) inspect(ctx context.Context, r *reading) ([]finding, error) {
	v := &verifier{a: a, ctx: ctx, reading: r}
	err := a.snapshot(v.all)
	for range snapshots {
		if !errors.Is(err, spool.ErrMoved) {
			break
		}
		err = a.snapshot(v.all)
	}
	if err == nil && len(v.suspects) > 0 {
		err = a.snapshot(v.again)
	}
	if errors.Is(err, ErrCorrupt) || errors.Is(err, spool.ErrMoved) {
		v.report("archive.db", "cannot be read on: "+err.Error(), fromBackup)
		err = nil
	}
	return v.found, err
}

type verifier struct {
	a        *Archive
	ctx      context.Context
	reading  *reading
	tx       *bolt.Tx
	found    []finding
	suspects []suspect
	used     spool.Bits          // key slots that a record uses
	shared   map[uint64]bool     // key slots that several records use
	bodies   map[uint64]bodySeen // what was found about each body, by body ID
	missing  map[reference]bool  // references to bodies that have no digest record
	homeless map[string][]uint64 // by URL: captures of a URL whose resource record is lost
	live     map[uint32]uint64   // by number of a body file: the size of its bodies, with their heads
	count    counts
	steps    int
}

// reference is the reference of a capture to one of its bodies.
type reference struct {
	capture uint64
	digest  string
}

// bodySeen is what the check has found about a body.
type bodySeen struct {
	refs  uint64 // number of references of captures to the body
	state bodyState
}

type bodyState uint8

const (
	sound  bodyState = iota
	lost             // the body cannot be read
	unsure           // the key of the body is destroyed
)

// suspect is a record whose key is destroyed. The record may have been erased after the snapshot.
// If the record still exists, there is a problem.
type suspect struct {
	bucket, key, value []byte
	finding            finding
}

// report adds a problem that Repair cannot handle.
func (v *verifier) report(where, what, remedy string) {
	v.found = append(v.found, finding{Problem: Problem{Where: where, What: what, Remedy: remedy}})
}

func (v *verifier) find(where, what string, fix fixer) {
	v.findAt(second, where, what, fix)
}

func (v *verifier) findAt(at turn, where, what string, fix fixer) {
	v.found = append(v.found, finding{Problem{Where: where, What: what, Repairable: true}, fix, at})
}

// doubt adds a suspect. It becomes a problem only if the record was not erased after the snapshot.
func (v *verifier) doubt(at turn, where, what string, bucket, k, value []byte, fix fixer) {
	v.suspects = append(v.suspects, suspect{bucket, bytes.Clone(k), bytes.Clone(value),
		finding{Problem{Where: where, What: what, Repairable: true}, fix, at}})
}

// unreadable adds a problem for a sealed text that could not be read. If the disk returned a read
// error, the problem is not repairable, because the text may still exist.
func (v *verifier) unreadable(at turn, where string, err error, bucket, k, value []byte, fix fixer) {
	switch {
	case failed(err):
		v.report(where, err.Error(), "check the disk, and verify again")
	case errors.Is(err, errDestroyed):
		v.doubt(at, where, err.Error(), bucket, k, value, fix)
	default:
		v.findAt(at, where, err.Error(), fix)
	}
}

// failed reports whether err is a read error of the disk, and not an error in the data that was
// read.
func failed(err error) bool {
	_, disk := errors.AsType[*fs.PathError](err)
	return disk || errors.Is(err, ErrClosed) || errors.Is(err, ErrBodies)
}

func (v *verifier) all(tx *bolt.Tx) error {
	v.tx, v.bodies, v.shared, v.homeless = tx, map[uint64]bodySeen{}, map[uint64]bool{}, map[string][]uint64{}
	v.missing, v.live = map[reference]bool{}, map[uint32]uint64{}
	wrong, err := spool.CheckPages(v.ctx, v.a.file, tx.DB().Info().PageSize, uint64(tx.ID()))
	for _, w := range wrong {
		v.report("archive.db", "is damaged: "+w, fromBackup)
	}
	const stale = "had a damaged root record when it was opened: the last transaction before may be lost"
	switch {
	case err != nil:
		return err
	case len(wrong) > 0: // damaged pages cannot safely be read or written
		if v.a.stale.Load() {
			v.report("archive.db", stale, fromBackup)
		}
		return nil
	case v.a.stale.Load():
		// transactions write the two root records in turn, so another transaction rewrites the
		// damaged one
		v.find("archive.db", stale, func(*txn) (string, error) { return "rewritten", nil })
	}
	c, err := readCounts(tx)
	if err != nil {
		return err
	}
	v.used = spool.NewBits(c.Keys)
	for _, part := range []struct {
		name  []byte
		check func(k, value []byte)
	}{
		{bDigests, v.digest}, {bBodies, v.body}, {bFiles, v.file}, {bCaptures, v.capture}, {bDigests, v.references},
		{bResources,
			v.resource},
		{bEarlier, v.earlier}, {bAliases, v.alias}, {bAliased, v.aliased}, {bTombstones, v.tombstone}, {bIntents,
			v.intent},
		{bJudged, v.judged}, {bSources, v.source}, {bPictures, v.picture}, {bParts, v.part}, {bAwaited, v.awaited},
		{bAwaits, v.awaits}, {bPassed, v.passed}, {bDue, v.due}, {bLeans, v.lean},
	} {
		bucket := tx.Bucket(part.name)
		if bucket == nil {
			v.report("archive.db", fmt.Sprintf("lacks its part %q", part.name), fromBackup)
			continue
		}
		err := bucket.ForEach(func(k, value []byte) error {
			part.check(k, value)
			return v.pause()
		})
		if err != nil {
			return err
		}
	}
	v.unlisted()
	if err := v.outside(); err != nil {
		return err
	}
	for _, url := range slices.Sorted(maps.Keys(v.homeless)) {
		v.find(url, "has no record, although copies with it are stored", v.rebuildRecord(url, v.homeless[url]))
	}
	v.upkeep()
	v.decider()
	v.sequences()
	v.total(c)
	return v.keys(c.Keys)
}

// again checks in a newer transaction whether the suspects still exist.
func (v *verifier) again(tx *bolt.Tx) error {
	for _, s := range v.suspects {
		if bytes.Equal(tx.Bucket(s.bucket).Get(s.key), s.value) {
			v.found = append(v.found, s.finding)
		}
	}
	return nil
}

func (v *verifier) pause() error {
	if v.steps++; v.steps%64 == 0 {
		return v.ctx.Err()
	}
	if v.reading.unsaved >= saveEvery && v.reading.total > 0 {
		v.reading.saveSoon(v.a)
	}
	return nil
}

// noted is a repair that does nothing. Its problem disappears when the cause is repaired, because
// each sealed text has its own key.
func noted(*txn) (string, error) { return "", nil }

func (v *verifier) use(where string, slot uint64) {
	if slot == 0 {
		return
	}
	switch {
	case slot >= uint64(len(v.used))*64:
		v.find(where, fmt.Sprintf("names key %d, which was never made", slot), noted)
	case v.used.Has(slot):
		v.shared[slot] = true
		v.find(where, "shares its key with something else", noted)
	default:
		v.used.Set(slot)
	}
}

// sequences checks that the next numbers for captures and bodies were never used before.
func (v *verifier) sequences() {
	for _, part := range []struct {
		name []byte
		id   func([]byte) uint64
	}{{bCaptures, number}, {bBodies, number}} {
		last, _ := v.tx.Bucket(part.name).Cursor().Last()
		if highest := part.id(last); highest > v.tx.Bucket(part.name).Sequence() {
			v.find("archive.db", fmt.Sprintf("would give a number of its part %q again", part.name),
				func(t *txn) (string, error) {
					bucket := t.tx.Bucket(part.name)
					return "continues from the highest number", bucket.SetSequence(max(highest, bucket.Sequence()))
				})
		}
	}
}

// total compares the stored counts with the counts that the check has found.
func (v *verifier) total(said counts) {
	v.count.Keys = said.Keys
	if v.count == said {
		return
	}
	held := v.count
	v.find("archive.db", fmt.Sprintf("has wrong counts: it holds %+v, but its record says %+v", held, said),
		func(t *txn) (string,
			error) {
			c := &t.counts
			c.Captures += held.Captures - said.Captures
			c.Resources += held.Resources - said.Resources
			c.Bodies += held.Bodies - said.Bodies
			c.Aliases += held.Aliases - said.Aliases
			c.Tombstones += held.Tombstones - said.Tombstones
			c.Pictures += held.Pictures - said.Pictures
			c.Rendered += held.Rendered - said.Rendered
			c.Bytes += held.Bytes - said.Bytes
			c.Raw += held.Raw - said.Raw
			c.Stored += held.Stored - said.Stored
			return "counted again", nil
		})
}

// keys checks that every key that no record uses is destroyed or listed for destruction, and that
// no used key is listed.
func (v *verifier) keys(used uint64) error {
	doomed := v.tx.Bucket(bDoomed)
	for slot := uint64(1); slot <= used; slot++ {
		if err := v.pause(); err != nil {
			return err
		}
		where := fmt.Sprintf("key %d", slot)
		named, listed := v.used.Has(slot), doomed.Get(idKey(slot)) != nil
		if named && listed {
			v.find(where, "is to be destroyed although it is needed", keepKey(slot))
		}
		if named || listed {
			continue
		}
		k, err := v.a.keys.read(slot)
		if err != nil {
			return err
		}
		if !k.zero() {
			v.find(where, "is left although nothing needs it", func(t *txn) (string, error) {
				return "destroyed",
					t.condemnKey(slot)
			})
		}
	}
	return nil
}
