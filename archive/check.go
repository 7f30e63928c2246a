package archive

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// This file contains the checks for each record of each bucket of archive.db. A record that cannot
// be read is not included in the numbers that the checks compare.

func (v *verifier) digest(sum, value []byte) {
	where := "body " + digestText(sum)
	sum = bytes.Clone(sum)
	rec, err := unpackBody(sum, value)
	if err != nil {
		v.find(where, "has a record that "+err.Error(), forget(bDigests, sum, func(value []byte) bool {
			_, err := unpackBody(sum, value)
			return err == nil
		}))
		return
	}
	v.count.Bodies++
	v.count.Raw += rec.Raw
	v.count.Stored += rec.Stored
	v.use(where, rec.Key)
	seen := bodySeen{}
	defer func() { v.bodies[rec.ID] = seen }()
	before := len(v.found) + len(v.suspects)
	defer func() { v.reading.passed(sum, len(v.found)+len(v.suspects) > before) }()
	if !v.reading.wants(sum) {
		return
	}
	drop := v.dropBody(sum, rec.ID)
	sealed, err := v.a.sealedBody(v.tx, rec.ID, v.a.pack.buffer())
	defer v.a.pack.reuse(sealed) // after the digest of the body is computed, which may be in the same memory
	switch {
	case err != nil:
		v.report(where, "cannot be read: "+err.Error(), "try again when the store of bodies answers")
		return
	case len(sealed) == 0:
		seen.state = lost
		v.findAt(third, where, "is missing", drop)
		return
	case uint64(len(sealed)) != rec.Stored:
		seen.state = lost
		v.findAt(third, where, fmt.Sprintf("takes %d bytes and should take %d", len(sealed), rec.Stored), drop)
		return
	}
	raw, err := v.a.openBody(sum, rec, sealed)
	if err != nil {
		switch {
		case failed(err):
		case errors.Is(err, errDestroyed):
			seen.state = unsure
		default:
			seen.state = lost
		}
		v.unreadable(third, where, err, bDigests, sum, value, drop)
		return
	}
	if got := sha256.Sum256(raw); !bytes.Equal(got[:], sum) {
		seen.state = lost
		v.findAt(third, where, "has another digest: "+digestText(got[:]), drop)
	}
}

func (v *verifier) body(k, value []byte) {
	id := number(k)
	if p, ok := unpackPlace(value); ok {
		v.live[p.File] += p.taken()
		if right, err := v.a.files.headed(id, p); err == nil && !right {
			v.find(fmt.Sprintf("body %d", id), "has a damaged head in its file", func(t *txn) (string, error) {
				if now, ok := unpackPlace(t.tx.Bucket(bBodies).Get(idKey(id))); !ok || now != p {
					return "", nil
				}
				return "rewritten", t.a.files.writeHead(id, p)
			})
		}
	}
	v.orphan(k, id)
}

// orphan reports a body that no digest record refers to.
func (v *verifier) orphan(k []byte, id uint64) {
	if _, ok := v.bodies[id]; ok {
		return
	}
	k = bytes.Clone(k)
	v.find(fmt.Sprintf("body %d", id), "belongs to no digest", func(t *txn) (string, error) {
		return "removed", errors.Join(t.deleteBody(id), t.tx.Bucket(bBodies).Delete(k))
	})
}

// file checks the record of a body file.
func (v *verifier) file(k, value []byte) {
	n, err := fileNumber(k)
	if err != nil {
		v.report("archive.db", "has a damaged list of body files", fromBackup)
		return
	}
	where, live := "body file "+bodyFileName(n), v.live[n]
	delete(v.live, n)
	f, err := unpackFile(k, value)
	if err != nil {
		v.find(where, "has a record that "+err.Error(), func(t *txn) (string, error) {
			return "recorded again", local{t.a, t.tx.Tx}.amendFile(n, func(now *fileRecord) { now.Live = live })
		})
		return
	}
	if live != f.Live {
		v.find(where, fmt.Sprintf("holds bodies of %d bytes and says %d", live, f.Live), func(t *txn) (string, error) {
			return "counted again", local{t.a, t.tx.Tx}.amendFile(n,
				func(now *fileRecord) { now.Live += live - f.Live })
		})
	}
}

// unlisted checks that every file to which a body was added is listed.
func (v *verifier) unlisted() {
	for _, n := range slices.Sorted(maps.Keys(v.live)) {
		v.report("body file "+bodyFileName(n), "is not listed", fromBackup)
	}
}

// outside reports bodies outside the archive that no record refers to. It ignores bodies with
// numbers that were assigned after this snapshot, because these bodies are just being written.
func (v *verifier) outside() error {
	if v.a.outside == nil {
		return nil
	}
	for id, err := range v.a.outside.IDs(v.ctx) {
		if err != nil {
			return fmt.Errorf("the bodies cannot be listed: %w", err)
		}
		erased := v.tx.Bucket(bRemains).Get(idKey(id)) != nil // it is deleted when the store answers again
		if !erased && id <= v.tx.Bucket(bBodies).Sequence() {
			v.orphan(idKey(id), id)
		}
	}
	return nil
}

func (v *verifier) capture(k, value []byte) {
	id, where := number(k), fmt.Sprintf("capture %d", number(k))
	var rec captureRecord
	sealed, err := unpackSealed(k, value, &rec)
	if err != nil || id == 0 {
		k := bytes.Clone(k)
		v.find(where, "has a record that "+errRecord.Error(), forget(bCaptures, k, func(value []byte) bool {
			_, err := unpackSealed(k, value, &captureRecord{})
			return err == nil && id != 0
		}))
		return
	}
	where += " (" + rec.URL + ")"
	rec.count(&v.count)
	v.use(where, rec.Key)
	erase := v.eraseLostCapture(id)
	var text captureText
	if _, err := v.a.text(ofCapture(k), rec.Key, sealed, &text); err != nil {
		v.unreadable(second, where, err, bCaptures, k, value, erase)
	}
	v.led(where, id, text.Hops)
	v.listed(where, id, rec)
	v.content(where, k, value, rec, erase)
	v.rendered(where, k, value, rec)
}

// listed checks that a capture is listed as a version of its URL.
func (v *verifier) listed(where string, id uint64, rec captureRecord) {
	at := v.tx.Bucket(bEarlier).Get(versionKey(rec.URL, rec.Version))
	earlier := bytes.Equal(at, idKey(id))
	var res resourceRecord
	if _, err := unpackSealed([]byte(rec.URL), v.tx.Bucket(bResources).Get([]byte(rec.URL)), &res); err != nil {
		v.homeless[rec.URL] = append(v.homeless[rec.URL], id)
		return
	}
	if (res.Current == id) == earlier {
		v.find(where, "should be either the current version of its URL or an earlier one", v.listCapture(id))
	}
	if rec.Version > res.Versions {
		v.find(where, fmt.Sprintf("is version %d of %d that were made", rec.Version, res.Versions),
			func(t *txn) (string, error) {
				return "counted among the versions", amendResource(t, rec.URL,
					func(r *resourceRecord) { r.Versions = max(r.Versions, rec.Version) })
			})
	}
}

// content checks that the body of a capture exists and that it matches the capture's record.
func (v *verifier) content(where string, k, value []byte, rec captureRecord, erase fixer) {
	b, sound := v.refers(where, k, value, "body", rec.payload(), erase)
	if !sound {
		return
	}
	if rec.payload() == rec.Digest {
		if b.Raw != uint64(rec.Bytes) {
			v.find(where, fmt.Sprintf("has a body of %d bytes and says %d", b.Raw, rec.Bytes),
				v.correctLength(number(k), int64(b.Raw), func(r *captureRecord) *int64 { return &r.Bytes }))
		}
		return
	}
	if sum, err := digestBytes(rec.payload()); err != nil || !v.reading.wants(sum) {
		return
	}
	wire, err := v.a.storedBody(v.tx, rec.payload())
	if err == nil {
		_, err = v.a.decoded(rec, wire)
	}
	if err != nil {
		v.unreadable(second, where, err, bCaptures, k, value, erase)
	}
}

// rendered checks that the rendered document of a capture, if there is one, exists and has the length in the
// capture's record. If it is lost, the repair keeps the capture, because the page as sent is the evidence.
func (v *verifier) rendered(where string, k, value []byte, rec captureRecord) {
	if rec.Rendered == "" {
		return
	}
	id := number(k)
	b, sound := v.refers(where, k, value, "rendered document", rec.Rendered, v.dropRendered(id))
	if sound && b.Raw != uint64(rec.RenderedBytes) {
		v.find(where, fmt.Sprintf("has a rendered document of %d bytes and says %d", b.Raw, rec.RenderedBytes),
			v.correctLength(id, int64(b.Raw), func(r *captureRecord) *int64 { return &r.RenderedBytes }))
	}
}

// refers counts the reference of a capture to a body, and checks that the body can be read. what
// names the body in messages; drop is the repair if the body is lost. ok is false if refers found a problem.
func (v *verifier) refers(where string, k, value []byte, what, digest string, drop fixer) (b bodyRecord, ok bool) {
	sum, err := digestBytes(digest)
	if err != nil {
		v.find(where, fmt.Sprintf("has a %s with a digest that %v", what, errRecord), drop)
		return b, false
	}
	b, err = unpackBody(sum, v.tx.Bucket(bDigests).Get(sum))
	if err != nil {
		v.missing[reference{number(k), digest}] = true
		v.find(where, "has no "+what, unlessStored(sum, drop))
		return b, false
	}
	seen := v.bodies[b.ID]
	seen.refs++
	v.bodies[b.ID] = seen
	switch seen.state {
	case lost:
		v.find(where, "has a "+what+" that cannot be read", drop)
	case unsure:
		v.doubt(second, where, "has a "+what+" that "+errDestroyed.Error(), bCaptures, k, value, drop)
	}
	return b, seen.state == sound
}

// references checks the number of references of captures to a body.
func (v *verifier) references(sum, value []byte) {
	rec, err := unpackBody(sum, value)
	if err != nil {
		return
	}
	if found := v.bodies[rec.ID].refs; found != rec.Refs {
		v.findAt(first, "body "+digestText(sum), fmt.Sprintf("has %d references and says %d", found, rec.Refs),
			v.recount(bytes.Clone(sum), rec, found))
	}
}

func (v *verifier) resource(k, value []byte) {
	where := string(k)
	var rec resourceRecord
	sealed, err := unpackSealed(k, value, &rec)
	if err != nil {
		k := bytes.Clone(k)
		v.find(where, "has a record that "+err.Error(), forget(bResources, k, func(value []byte) bool {
			_, err := unpackSealed(k, value, &resourceRecord{})
			return err == nil
		}))
		return
	}
	v.count.Resources++
	v.use(where, rec.Key)
	var text resourceText
	if _, err := v.a.text(ofResource(k), rec.Key, sealed, &text); err != nil {
		v.unreadable(second, where, err, bResources, k, value, v.rebuildText(where))
	}
	v.sources(where, text.Kept.Sources())
	if rec.Current == 0 {
		return
	}
	if c, _, err := v.a.captureRecord(v.tx, rec.Current); err != nil || c.URL != where {
		v.find(where, fmt.Sprintf("has capture %d as the current one, which is not its own", rec.Current),
			v.clearCurrent(where, rec.Current))
	}
}

func (v *verifier) earlier(k, value []byte) {
	var rec captureRecord
	_, err := unpackSealed(value, v.tx.Bucket(bCaptures).Get(value), &rec)
	if err != nil || !bytes.Equal(versionKey(rec.URL, rec.Version), k) {
		v.find(fmt.Sprintf("version %q", k), "refers to a different capture", v.removeEarlier(bytes.Clone(k)))
	}
}

func (v *verifier) alias(k, value []byte) {
	where, alias := "alias "+string(k), string(k)
	v.count.Aliases++
	drop := func(t *txn) (string, error) { return "removed", t.cutAlias(alias) }
	to, err := unframe(k, value)
	if err != nil {
		v.find(where, errRecord.Error(), drop)
		return
	}
	url := string(to)
	if v.tx.Bucket(bAliased).Get(pair(url, alias)) == nil {
		v.find(where, "is not listed at "+url, func(t *txn) (string, error) {
			if to, err := unframe([]byte(alias), t.tx.Bucket(bAliases).Get([]byte(alias))); err != nil ||
				string(to) != url {
				return "", nil
			}
			return "listed", t.tx.Bucket(bAliased).Put(pair(url, alias), nil)
		})
	}
	way, circle, err := wayFrom(v.tx, alias)
	switch end := way[len(way)-1]; {
	case err != nil: // an unreadable alias is reported separately, and a chain that is too long (errWay) is no damage
	case circle:
		v.find(where, "redirects in a circle", drop)
	case v.tx.Bucket(bResources).Get([]byte(end)) == nil:
		v.find(where, "redirects to "+end+", which is not known", func(t *txn) (string, error) {
			if t.tx.Bucket(bResources).Get([]byte(end)) != nil {
				return "", nil
			}
			return drop(t)
		})
	}
}

func (v *verifier) aliased(k, _ []byte) {
	url, alias, ok := bytes.Cut(k, []byte{0})
	to, err := unframe(alias, v.tx.Bucket(bAliases).Get(alias))
	if ok && err == nil && bytes.Equal(to, url) {
		return
	}
	k = bytes.Clone(k)
	v.find(fmt.Sprintf("alias %q", alias), fmt.Sprintf("is listed at %q and does not redirect there", url),
		func(t *txn) (string, error) {
			url, alias, ok := bytes.Cut(k, []byte{0})
			if to, err := unframe(alias, t.tx.Bucket(bAliases).Get(alias)); ok && err == nil && bytes.Equal(to, url) {
				return "", nil
			}
			return "taken off the list", t.tx.Bucket(bAliased).Delete(k)
		})
}

func (v *verifier) tombstone(k, value []byte) {
	v.count.Tombstones++
	var s Tombstone
	if err := unpack(k, value, &s); err != nil || !bytes.HasPrefix(k, under(s.URL)) {
		v.find(fmt.Sprintf("tombstone %q", k), errRecord.Error(), v.rewriteTombstone(bytes.Clone(k)))
	}
}

func (v *verifier) intent(k, value []byte) {
	what := ""
	if checkURL(string(k)) != nil {
		what = "names no URL"
	} else if _, err := unframe(k, value); err != nil {
		what = err.Error()
	}
	if what != "" {
		k := bytes.Clone(k)
		v.find(fmt.Sprintf("intent %q", k), what, func(t *txn) (string, error) {
			return "removed", t.tx.Bucket(bIntents).Delete(k)
		})
	}
}

func (v *verifier) judged(k, value []byte) {
	unreadable := func(value []byte) bool { return unpack(k, value, &time.Time{}) != nil }
	if unreadable(value) {
		k = bytes.Clone(k)
		v.find(fmt.Sprintf("the record of when %q was last checked", k), errRecord.Error(), forget(bJudged, k,
			func(value []byte) bool { return !unreadable(value) }))
	}
}

// upkeep checks the record that says whether erased data may still be in the files. If the record
// is lost, the repair assumes that the files may contain erased data.
func (v *verifier) upkeep() {
	if _, err := v.a.readUpkeep(v.tx); err != nil {
		v.find("archive.db", "does not say whether it is to be compacted", func(t *txn) (string, error) {
			return "to be compacted", t.tx.Bucket(bMeta).Put(kUpkeep, mustPack(kUpkeep, upkeep{Erased: utc(t.a.now())}))
		})
	}
}
