package site

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// sorter sorts more lines than fit into memory. It stores sorted parts in files of dir until it is
// closed.
type sorter struct {
	dir   string
	lines []string
	bytes int
	runs  []*os.File // files of sorted lines
}

// sorterMemory is the approximate number of bytes that a sorter holds in memory.
const sorterMemory = 32 << 20

// add adds a line, given without its line end.
func (s *sorter) add(line string) error {
	s.lines = append(s.lines, line)
	if s.bytes += len(line) + 16; s.bytes < sorterMemory {
		return nil
	}
	return s.spill()
}

// spill writes the lines in memory to a file.
func (s *sorter) spill() error {
	f, err := os.CreateTemp(s.dir, "acapcrawl-sort-*")
	if err != nil {
		return err
	}
	// delete the open file, so that a killed process leaves no file behind, on systems that permit
	// this
	os.Remove(f.Name())
	s.runs = append(s.runs, f)
	slices.Sort(s.lines)
	w := bufio.NewWriter(f)
	for _, line := range s.lines {
		w.WriteString(line)
		w.WriteByte('\n')
	}
	s.lines, s.bytes = s.lines[:0], 0
	return w.Flush()
}

// write writes all lines in byte order.
func (s *sorter) write(w io.Writer) error {
	out := bufio.NewWriter(w)
	slices.Sort(s.lines)
	heads := []*run{{lines: s.lines}}
	for _, f := range s.runs {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		heads = append(heads, &run{file: bufio.NewReader(f)})
	}
	for _, r := range heads {
		if err := r.next(); err != nil {
			return err
		}
	}
	for {
		least := slices.MinFunc(heads, func(a, b *run) int { return a.compare(b) })
		if least.ended {
			return out.Flush()
		}
		out.WriteString(least.line)
		out.WriteByte('\n')
		if err := least.next(); err != nil {
			return err
		}
	}
}

// close removes the remaining files.
func (s *sorter) close() error {
	var errs []error
	for _, f := range s.runs {
		errs = append(errs, f.Close())
		if err := os.Remove(f.Name()); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// run is a sequence of sorted lines, in memory or in a file.
type run struct {
	lines []string
	file  *bufio.Reader
	line  string // the first line that is not written yet
	ended bool
}

func (r *run) next() error {
	switch {
	case r.file != nil:
		line, err := r.file.ReadString('\n')
		if r.line, r.ended = strings.TrimSuffix(line, "\n"), err == io.EOF; r.ended {
			return nil
		}
		return err
	case len(r.lines) == 0:
		r.ended = true
	default:
		r.line, r.lines = r.lines[0], r.lines[1:]
	}
	return nil
}

// compare compares two runs by their first lines; a run without lines is greater than all others.
func (r *run) compare(other *run) int {
	switch {
	case r.ended && other.ended:
		return 0
	case r.ended:
		return 1
	case other.ended:
		return -1
	}
	return strings.Compare(r.line, other.line)
}
