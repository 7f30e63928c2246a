package archive

import (
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Body returns the decoded body of a capture, or ErrNotHeld if there is no such capture.
func (a *Archive) Body(id uint64) ([]byte, error) {
	var rec captureRecord
	var wire []byte
	err := a.view(func(tx *bolt.Tx) (err error) {
		rec, wire, err = a.wire(tx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.decodedBody(id, rec, wire)
}

// Wire returns the body of a capture as it was sent, with the content codings in Capture.Encoding.
// The error is ErrNotHeld if there is no such capture.
func (a *Archive) Wire(id uint64) (wire []byte, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		_, wire, err = a.wire(tx, id)
		return err
	})
	return wire, err
}

// Rendered returns the rendered document of a capture, or nil if the capture has none. The error is
// ErrNotHeld if there is no such capture.
func (a *Archive) Rendered(id uint64) (document []byte, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		rec, _, err := a.captureRecord(tx, id)
		if err == nil {
			document, err = a.rendered(tx, id, rec)
		}
		return err
	})
	return document, err
}

// Documents returns the results of Body and Rendered for a capture, read at the same instant.
func (a *Archive) Documents(id uint64) (body, rendered []byte, err error) {
	var rec captureRecord
	var wire []byte
	err = a.view(func(tx *bolt.Tx) (err error) {
		if rec, wire, err = a.wire(tx, id); err == nil {
			rendered, err = a.rendered(tx, id, rec)
		}
		return err
	})
	if err == nil {
		body, err = a.decodedBody(id, rec, wire)
	}
	if err != nil {
		return nil, nil, err
	}
	return body, rendered, nil
}

func (a *Archive) wire(tx *bolt.Tx, id uint64) (rec captureRecord, wire []byte, err error) {
	if rec, _, err = a.captureRecord(tx, id); err != nil {
		return rec, nil, err
	}
	if wire, err = a.storedBody(tx, rec.payload()); err != nil {
		err = a.damaged(fmt.Sprintf("the body of capture %d (%s)", id, rec.URL), err)
	}
	return rec, wire, err
}

func (a *Archive) rendered(tx *bolt.Tx, id uint64, rec captureRecord) (document []byte, err error) {
	if rec.Rendered == "" {
		return nil, nil
	}
	if document, err = a.storedBody(tx, rec.Rendered); err != nil {
		err = a.damaged(fmt.Sprintf("the rendered document of capture %d (%s)", id, rec.URL), err)
	}
	return document, err
}

func (a *Archive) decodedBody(id uint64, rec captureRecord, wire []byte) ([]byte, error) {
	body, err := a.decoded(rec, wire)
	if err != nil {
		return nil, a.damaged(fmt.Sprintf("the body of capture %d (%s)", id, rec.URL), err)
	}
	return body, nil
}

// storedBody reads the body with the given digest. The text of an error is a clause.
func (a *Archive) storedBody(tx *bolt.Tx, digest string) ([]byte, error) {
	sum, err := digestBytes(digest)
	if err != nil {
		return nil, err
	}
	b, err := unpackBody(sum, tx.Bucket(bDigests).Get(sum))
	if err != nil {
		return nil, err
	}
	return a.readBody(tx, sum, b)
}

// readBody opens and decompresses a body.
func (a *Archive) readBody(tx *bolt.Tx, sum []byte, b bodyRecord) ([]byte, error) {
	var buf []byte
	if b.Codec == stored { // use a new buffer, because the caller gets it
		buf = make([]byte, 0, min(b.Stored, bigBuffer))
	} else {
		buf = a.pack.buffer()
	}
	sealed, err := a.sealedBody(tx, b.ID, buf)
	if err != nil {
		return nil, err
	}
	if b.Codec != stored {
		defer a.pack.reuse(sealed)
	}
	return a.openBody(sum, b, sealed)
}

// openBody opens and decompresses the sealed bytes of a body, which it overwrites. The result may use
// the same memory.
func (a *Archive) openBody(sum []byte, b bodyRecord, sealed []byte) ([]byte, error) {
	k, err := a.keys.read(b.Key)
	if err != nil {
		return nil, err
	}
	packed, err := unsealTo(sealed[:0], k, ofBody(sum), sealed)
	if err != nil {
		return nil, err
	}
	return a.pack.unpack(packed, b.Codec, b.Raw)
}
