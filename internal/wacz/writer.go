package wacz

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"path"
	"time"
)

// Writer writes a WACZ file. It is not safe for concurrent use.
type Writer struct {
	zip       *zip.Writer
	created   time.Time
	resources []resource
	hash      hash.Hash // of the entry that is being written; nil: none
	bytes     int64
}

// NewWriter returns a Writer that writes to w. created is the time of the entries.
func NewWriter(w io.Writer, created time.Time) *Writer {
	return &Writer{zip: zip.NewWriter(w), created: created}
}

// Create begins an entry, which ends with the next call of Create or Close. WARC files and their index are not
// compressed again, so that a reader can request parts of them.
func (w *Writer) Create(name string) (io.Writer, error) {
	w.end()
	entry, err := w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: w.created})
	if err != nil {
		return nil, err
	}
	w.resources = append(w.resources, resource{Name: path.Base(name), Path: name})
	w.hash, w.bytes = sha256.New(), 0
	return io.MultiWriter(entry, w.hash, counter{&w.bytes}), nil
}

// counter counts the bytes that are written.
type counter struct{ n *int64 }

func (c counter) Write(b []byte) (int, error) {
	*c.n += int64(len(b))
	return len(b), nil
}

// end completes the description of the last entry.
func (w *Writer) end() {
	if w.hash != nil {
		last := &w.resources[len(w.resources)-1]
		last.Hash, last.Bytes = digestPrefix+hex.EncodeToString(w.hash.Sum(nil)), w.bytes
		w.hash = nil
	}
}

// WritePages writes the list of pages as an entry. write writes the lines; Page.Line makes one.
func (w *Writer) WritePages(write func(io.Writer) error) error {
	entry, err := w.Create(Pages)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(entry, pagesHeader); err != nil {
		return err
	}
	return write(entry)
}

// Close writes the description of all entries, and ends the file. It does not close the underlying writer.
func (w *Writer) Close(i Info) error {
	w.end()
	text, err := json.MarshalIndent(dataPackage{Profile: profile, Version: Version, Title: i.Title, Created: i.Created,
		Software: i.Software, Resources: w.resources}, "", "  ")
	if err != nil {
		return err
	}
	if err := w.write(description, text); err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	text, err = json.Marshal(digest{Path: description, Hash: digestPrefix + hex.EncodeToString(sum[:])})
	if err != nil {
		return err
	}
	if err := w.write(packageDigest, text); err != nil {
		return err
	}
	return w.zip.Close()
}

// write writes an entry that is not described.
func (w *Writer) write(name string, text []byte) error {
	entry, err := w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: w.created})
	if err != nil {
		return err
	}
	_, err = entry.Write(text)
	return err
}
