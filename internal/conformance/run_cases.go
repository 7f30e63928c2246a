package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the maximum length in bytes of a line with a case or an answer.
const MaxLine = 16 << 20

// errLong is the error for a line longer than MaxLine.
var errLong = fmt.Errorf("the line is longer than %d MiB", MaxLine>>20)

// caseLine is one line of a corpus in JSON Lines.
type caseLine struct {
	Case      json.RawMessage `json:"case"`
	Want      map[string]any  `json:"want"`
	Reason    string          `json:"reason"`
	Paragraph string          `json:"paragraph,omitempty"`
}

// ReadCases reads a corpus in JSON Lines. Each line is an object with "case", a case of the oracle,
// and "want", the expected part of the answer for Compare. It may have "reason", why this answer is
// right, and "paragraph", what the case tests. Empty lines are skipped. file becomes the file name
// of every case. A case without an id is named by its line number. Reading stops at the first
// malformed line, with an error that names file and line.
func ReadCases(file string, r io.Reader) ([]Sample, error) {
	lines := bufio.NewReaderSize(r, 1<<16)
	var out []Sample
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return out, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			s, bad := readCase(line)
			if bad != nil {
				return out, fmt.Errorf("%s:%d: %w", file, n, bad)
			}
			if s.File, s.Name = file, s.Case.ID; s.Name == "" {
				s.Name = fmt.Sprintf("line %d", n)
			}
			out = append(out, s)
		}
		if err != nil {
			return out, nil
		}
	}
}

func readCase(line []byte) (Sample, error) {
	var l caseLine
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return Sample{}, fmt.Errorf("this is no line of a corpus: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Sample{}, errors.New("something follows the closing brace")
	}
	if l.Case == nil {
		return Sample{}, errors.New(`the line has no "case"`)
	}
	if len(l.Want) == 0 {
		return Sample{}, errors.New(`no answer is expected: write in "want" what the answer must hold`)
	}
	c, err := ParseCase(l.Case)
	if err != nil {
		return Sample{}, err
	}
	var one bytes.Buffer
	if err := json.Compact(&one, l.Case); err != nil {
		return Sample{}, err
	}
	return Sample{Reason: l.Reason, Case: c, Line: one.Bytes(), Want: l.Want, Paragraph: l.Paragraph}, nil
}

// WriteCase writes a case as a line for ReadCases.
func (s *Sample) WriteCase(w io.Writer) error {
	paragraph := s.Paragraph
	if paragraph == "" {
		paragraph = s.Shows()
	}
	line, err := marshal(caseLine{Case: s.Line, Want: s.Want, Reason: s.Reason, Paragraph: paragraph})
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// readLine reads one line, at most MaxLine bytes, including its line end. At the end of the input
// it returns io.EOF, possibly together with a last line that has no line end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > MaxLine+1 {
			return nil, errLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
