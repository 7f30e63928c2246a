package site

import (
	"bufio"
	"errors"
	"io"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/wacz"
	"github.com/acapcrawl/acapcrawl/warc"
)

// isWACZ reports whether a file is written as WACZ.
func isWACZ(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".wacz") }

// recordsName returns the name of the WARC file of an export to the file name, as its records and its index name it.
func recordsName(name string) string {
	if isWACZ(name) {
		return path.Base(wacz.Archive)
	}
	return filepath.Base(name)
}

// writeWACZ writes a WACZ file to w. write writes the records, and passes the lines of the index to its argument. lines
// and pages are empty.
func writeWACZ(w io.Writer, lines, pages *sorter, write func(w io.Writer, line func(string) error) error) error {
	out, now := bufio.NewWriterSize(w, 1<<20), time.Now().UTC()
	z := wacz.NewWriter(out, now)
	records, err := z.Create(wacz.Archive)
	if err != nil {
		return err
	}
	err = write(records, func(text string) error {
		l, ok := warc.ParseLine(text)
		if address, page := l.Page(); ok && page {
			if at, err := time.Parse("20060102150405", l.Timestamp); err == nil {
				if err := pages.add(wacz.Page{URL: address, Time: at.Format(time.RFC3339)}.Line()); err != nil {
					return err
				}
			}
		}
		return lines.add(text)
	})
	if err != nil {
		return err
	}
	index, err := z.Create(wacz.Index)
	if err != nil {
		return err
	}
	if err := errors.Join(lines.write(index), z.WritePages(pages.write)); err != nil {
		return err
	}
	err = z.Close(wacz.Info{Title: "archived by acapcrawl", Created: now.Format(time.RFC3339),
		Software: "acapcrawl/" + Version})
	return errors.Join(err, out.Flush())
}
