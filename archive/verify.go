package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Problem is something that is not as it should be.
type Problem struct {
	Where string `json:"where"` // "capture 7 (http://example.com/)"
	What  string `json:"what"`  // a clause that goes on from it
}

// String is a sentence without its full stop.
func (p Problem) String() string { return p.Where + " " + p.What }

// Verify checks every page of archive.db, every record, digest, reference, version and alias, and every key: that each sealed
// text opens, and that no key is left that nothing needs. It works on the state at its beginning while others write, and
// never panics. The error tells that it could not be done (ctx, ErrClosed), not that something is wrong.
func (a *Archive) Verify(ctx context.Context) ([]Problem, error) {
	v := &verifier{a: a, ctx: ctx}
	if a.stale {
		v.report("archive.db", "had a damaged root record when it was opened: the last transaction before may be lost")
	}
	err := a.snapshot(v.all)
	if err == nil && len(v.suspects) > 0 {
		err = a.snapshot(v.again)
	}
	if errors.Is(err, ErrCorrupt) {
		v.report("archive.db", "cannot be read on: "+err.Error())
		err = nil
	}
	return v.problems, err
}

type verifier struct {
	a        *Archive
	ctx      context.Context
	tx       *bolt.Tx
	problems []Problem
	suspects []suspect
	used     bits                // key slots that a record names
	bodies   map[uint64]bodyRefs // by body id
	count    counts
	steps    int
}

type bodyRefs struct{ named, found uint64 }

// suspect is a record whose key is gone. It may have been erased since; if it still stands, it is a problem.
type suspect struct {
	bucket, key, value []byte
	problem            Problem
}

func (v *verifier) report(where, what string) {
	v.problems = append(v.problems, Problem{where, what})
}

func (v *verifier) all(tx *bolt.Tx) error {
	v.tx, v.bodies = tx, map[uint64]bodyRefs{}
	wrong, err := checkPages(v.ctx, v.a.file, tx.DB().Info().PageSize, uint64(tx.ID()))
	for _, w := range wrong {
		v.report("archive.db", "is damaged: "+w)
	}
	if err != nil || len(wrong) > 0 { // what stands on such pages cannot be read safely
		return err
	}
	c, err := readCounts(tx)
	if err != nil {
		return err
	}
	v.used = newBits(c.Keys)
	for _, part := range []struct {
		name  []byte
		check func(k, value []byte)
	}{
		{bDigests, v.digest}, {bBodies, v.body}, {bCaptures, v.capture}, {bResources, v.resource}, {bEarlier, v.earlier},
		{bAliases, v.alias}, {bAliased, v.aliased}, {bTombstones, v.tombstone}, {bIntents, v.intent},
	} {
		bucket := tx.Bucket(part.name)
		if bucket == nil {
			v.report("archive.db", fmt.Sprintf("lacks its part %q", part.name))
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
	for _, name := range [][]byte{bCaptures, bBodies} {
		if last, _ := tx.Bucket(name).Cursor().Last(); number(last) > tx.Bucket(name).Sequence() {
			v.report("archive.db", fmt.Sprintf("would give a number of its part %q again", name))
		}
	}
	for id, refs := range v.bodies {
		if refs.named != refs.found {
			v.report(fmt.Sprintf("body %d", id), fmt.Sprintf("has %d references and says %d", refs.found, refs.named))
		}
	}
	v.count.Keys = c.Keys
	if v.count != c {
		v.report("archive.db", fmt.Sprintf("counts wrong: it holds %+v and says %+v", v.count, c))
	}
	return v.keys(c.Keys)
}

// again looks at suspects in a newer transaction.
func (v *verifier) again(tx *bolt.Tx) error {
	for _, s := range v.suspects {
		if bytes.Equal(tx.Bucket(s.bucket).Get(s.key), s.value) {
			v.problems = append(v.problems, s.problem)
		}
	}
	return nil
}

func (v *verifier) pause() error {
	if v.steps++; v.steps%64 == 0 {
		return v.ctx.Err()
	}
	return nil
}

// unreadable reports a sealed text that could not be read, or suspects it if its key is gone.
func (v *verifier) unreadable(where string, err error, bucket, k, value []byte) {
	p := Problem{where, err.Error()}
	if errors.Is(err, errDestroyed) {
		v.suspects = append(v.suspects, suspect{bucket, bytes.Clone(k), bytes.Clone(value), p})
		return
	}
	v.problems = append(v.problems, p)
}

func (v *verifier) use(where string, slot uint64) {
	if slot == 0 {
		return
	}
	switch {
	case slot >= uint64(len(v.used))*64:
		v.report(where, fmt.Sprintf("names key %d, which was never made", slot))
	case v.used.has(slot):
		v.report(where, "shares its key with something else")
	default:
		v.used.set(slot)
	}
}

func (v *verifier) digest(sum, value []byte) {
	where := "body " + digestText(sum)
	rec, err := unpackBody(sum, value)
	if err != nil {
		v.report(where, "has a record that "+err.Error())
		return
	}
	v.count.Bodies++
	v.count.Raw += rec.Raw
	v.count.Stored += rec.Stored
	v.use(where, rec.Key)
	v.bodies[rec.ID] = bodyRefs{named: rec.Refs}
	sealed := v.tx.Bucket(bBodies).Get(idKey(rec.ID))
	if sealed == nil {
		v.report(where, "is missing")
		return
	}
	if uint64(len(sealed)) != rec.Stored {
		v.report(where, fmt.Sprintf("takes %d bytes and should take %d", len(sealed), rec.Stored))
		return
	}
	raw, err := v.a.readBody(v.tx, sum, rec)
	if err != nil {
		v.unreadable(where, err, bDigests, sum, value)
		return
	}
	if got := sha256.Sum256(raw); !bytes.Equal(got[:], sum) {
		v.report(where, "has another digest: "+digestText(got[:]))
	}
}

func (v *verifier) body(k, _ []byte) {
	if _, ok := v.bodies[number(k)]; !ok {
		v.report(fmt.Sprintf("body %d", number(k)), "belongs to no digest")
	}
}

func (v *verifier) capture(k, value []byte) {
	where := fmt.Sprintf("capture %d", number(k))
	var rec captureRecord
	sealed, err := unpackSealed(k, value, &rec)
	if err != nil || number(k) == 0 {
		v.report(where, "has a record that "+errRecord.Error())
		return
	}
	where += " (" + rec.URL + ")"
	v.count.Captures++
	v.count.Bytes += uint64(rec.Bytes)
	v.use(where, rec.Key)
	var text captureText
	if _, err := v.a.text(ofCapture(k), rec.Key, sealed, &text); err != nil {
		v.unreadable(where, err, bCaptures, k, value)
	}
	var res resourceRecord
	if _, err := unpackSealed([]byte(rec.URL), v.tx.Bucket(bResources).Get([]byte(rec.URL)), &res); err != nil {
		v.report(where, "is of a URL that is not known")
	}
	earlier := v.tx.Bucket(bEarlier).Get(versionKey(rec.URL, rec.Version))
	if (res.Current == number(k)) == bytes.Equal(earlier, k) {
		v.report(where, "should be either the current version of its URL or an earlier one")
	}
	if rec.Version > res.Versions {
		v.report(where, fmt.Sprintf("is version %d of %d that were made", rec.Version, res.Versions))
	}
	sum, err := digestBytes(rec.Digest)
	if err != nil {
		v.report(where, "has a digest that "+errRecord.Error())
		return
	}
	b, err := unpackBody(sum, v.tx.Bucket(bDigests).Get(sum))
	if err != nil {
		v.report(where, "has no body")
		return
	}
	if b.Raw != uint64(rec.Bytes) {
		v.report(where, fmt.Sprintf("has a body of %d bytes and says %d", b.Raw, rec.Bytes))
	}
	refs := v.bodies[b.ID]
	refs.found++
	v.bodies[b.ID] = refs
}

func (v *verifier) resource(k, value []byte) {
	where := string(k)
	var rec resourceRecord
	sealed, err := unpackSealed(k, value, &rec)
	if err != nil {
		v.report(where, "has a record that "+err.Error())
		return
	}
	v.count.Resources++
	v.use(where, rec.Key)
	var text resourceText
	if _, err := v.a.text(ofResource(k), rec.Key, sealed, &text); err != nil {
		v.unreadable(where, err, bResources, k, value)
	}
	if rec.Current == 0 {
		return
	}
	if c, _, err := v.a.captureRecord(v.tx, rec.Current); err != nil || c.URL != where {
		v.report(where, fmt.Sprintf("has capture %d as the current one, which is not its own", rec.Current))
	}
}

func (v *verifier) earlier(k, value []byte) {
	var rec captureRecord
	_, err := unpackSealed(value, v.tx.Bucket(bCaptures).Get(value), &rec)
	if err != nil || !bytes.Equal(versionKey(rec.URL, rec.Version), k) {
		v.report(fmt.Sprintf("version %q", k), "leads to a capture that is not it")
	}
}

func (v *verifier) alias(k, value []byte) {
	where := "alias " + string(k)
	v.count.Aliases++
	to, err := unframe(k, value)
	if err != nil {
		v.report(where, errRecord.Error())
		return
	}
	if v.tx.Bucket(bAliased).Get(pair(string(to), string(k))) == nil {
		v.report(where, "is not listed at "+string(to))
	}
	if v.tx.Bucket(bResources).Get(to) == nil {
		v.report(where, "leads to "+string(to)+", which is not known")
	}
	for range 64 {
		value := v.tx.Bucket(bAliases).Get(to)
		if value == nil {
			return
		}
		if to, err = unframe(to, value); err != nil {
			return // reported at that alias
		}
	}
	v.report(where, "leads in a circle")
}

func (v *verifier) aliased(k, _ []byte) {
	url, alias, ok := bytes.Cut(k, []byte{0})
	to, err := unframe(alias, v.tx.Bucket(bAliases).Get(alias))
	if !ok || err != nil || !bytes.Equal(to, url) {
		v.report(fmt.Sprintf("alias %q", alias), fmt.Sprintf("is listed at %q and does not lead there", url))
	}
}

func (v *verifier) tombstone(k, value []byte) {
	v.count.Tombstones++
	var s Tombstone
	if err := unpack(k, value, &s); err != nil || !bytes.HasPrefix(k, under(s.URL)) {
		v.report(fmt.Sprintf("tombstone %q", k), errRecord.Error())
	}
}

func (v *verifier) intent(k, _ []byte) {
	if checkURL(string(k)) != nil {
		v.report(fmt.Sprintf("intent %q", k), "names no URL")
	}
}

// keys checks that every key that nothing names is destroyed, or listed to be.
func (v *verifier) keys(used uint64) error {
	doomed := v.tx.Bucket(bDoomed)
	for slot := uint64(1); slot <= used; slot++ {
		if err := v.pause(); err != nil {
			return err
		}
		named, listed := v.used.has(slot), doomed.Get(idKey(slot)) != nil
		if named && listed {
			v.report(fmt.Sprintf("key %d", slot), "is to be destroyed although it is needed")
		}
		if named || listed {
			continue
		}
		k, err := v.a.keys.read(slot)
		if err != nil {
			return err
		}
		if !k.zero() {
			v.report(fmt.Sprintf("key %d", slot), "is left although nothing needs it")
		}
	}
	return nil
}
