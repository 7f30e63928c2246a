package course

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Visit is one request that reached the course. A log of visits has one JSON object a line.
type Visit struct {
	Time     time.Time `json:"time"` // of arrival
	Open     int       `json:"open"` // requests of the same visitor to the same origin that were under way, itself among them
	Origin   string    `json:"origin"`
	Method   string    `json:"method"`
	Target   string    `json:"target"` // path and query as they were sent
	Status   int       `json:"status"` // 0: the connection was broken
	Address  string    `json:"address"`
	Agent    string    `json:"agent"`
	Names    []string  `json:"names,omitempty"`    // by which robots.txt and pages spoke to the visitor
	Purposes []string  `json:"purposes,omitempty"` // that it is told to have
	Clicked  bool      `json:"clicked,omitempty"`  // the request says that a person asked for it (Sec-Fetch-User)
	Run      string    `json:"run,omitempty"`      // names the run of one crawler that was started for the record

	File string `json:"-"` // the log that it was read from
	Line int    `json:"-"`
}

// same reports whether two visits of a visitor are one that two logs hold.
func (v *Visit) same(w *Visit) bool {
	return v.Time.Equal(w.Time) && v.Origin == w.Origin && v.Method == w.Method && v.Target == w.Target && v.Open == w.Open
}

// maxLine is the longest line of a log that is read, and maxText what is kept of what a visitor sends.
const (
	maxLine = 1 << 20
	maxText = 4 << 10
)

// ErrUnfinished is told of a log in which the last line breaks off, as where a disk was full. Nothing came behind it, so what is before can
// be judged.
var ErrUnfinished = errors.New("breaks off and is left out")

// ReadVisits reads a log. The error names the line; with ErrUnfinished it gives the visits before.
func ReadVisits(name string, r io.Reader) ([]Visit, error) {
	var list []Visit
	ends := true // the line at hand has an end
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	in.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, atEOF)
		ends = n == 0 || data[n-1] == '\n'
		return n, line, err
	})
	for n := 1; in.Scan(); n++ {
		if len(in.Bytes()) == 0 {
			continue
		}
		v := Visit{File: name, Line: n}
		if err := json.Unmarshal(in.Bytes(), &v); err != nil && !ends {
			return list, fmt.Errorf("%s:%d %w", name, n, ErrUnfinished)
		} else if err != nil {
			return nil, fmt.Errorf("%s:%d is no visit: %w", name, n, err)
		}
		if !known(v.Origin) {
			return nil, fmt.Errorf("%s:%d is no visit: the course has no origin %q", name, n, v.Origin)
		}
		if v.Target == "" || v.Time.IsZero() {
			return nil, fmt.Errorf("%s:%d is no visit: it has no time or no target", name, n)
		}
		list = append(list, v)
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s has a line of more than 1 MiB", name)
	} else if err != nil {
		return nil, err
	}
	return list, nil
}

func known(origin string) bool {
	for _, o := range origins {
		if o.name == origin {
			return true
		}
	}
	return false
}

// cut bounds what a visitor sends.
func cut(s string) string {
	if len(s) > maxText {
		return s[:maxText]
	}
	return s
}
