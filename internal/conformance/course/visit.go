package course

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Visit is one request that reached the course. A log of visits has one JSON object on each line.
type Visit struct {
	Time time.Time `json:"time"` // time at which the request arrived
	// number of requests by the same visitor to the same origin that were in progress, including
	// this one
	Open     int      `json:"open"`
	Origin   string   `json:"origin"`
	Method   string   `json:"method"`
	Target   string   `json:"target"` // path and query as the visitor sent them
	Status   int      `json:"status"` // 0 means that the server broke the connection
	Address  string   `json:"address"`
	Agent    string   `json:"agent"`
	Names    []string `json:"names,omitempty"`    // the names by which robots.txt and pages addressed the visitor
	Purposes []string `json:"purposes,omitempty"` // the visitor's purposes, if they were given to the server
	Clicked  bool     `json:"clicked,omitempty"`  // the request says that a person started it (Sec-Fetch-User: ?1)
	Run      string   `json:"run,omitempty"`      // identifies the run, if the course started the crawler itself

	File string `json:"-"` // name of the log that contained the visit
	Line int    `json:"-"`
}

// same reports whether v and w are the same visit, read from two logs. Both belong to one visitor.
func (v *Visit) same(w *Visit) bool {
	return v.Time.Equal(w.Time) && v.Origin == w.Origin && v.Method == w.Method && v.Target == w.Target &&
		v.Open == w.Open
}

// maxLine is the size limit of a line in a log, and maxText the limit of each text of a visitor
// that is stored, both in bytes.
const (
	maxLine = 1 << 20
	maxText = 4 << 10
)

// ErrUnfinished reports that the last line of a log is cut off, for example because the disk was
// full. The judge can still use the visits before that line.
var ErrUnfinished = errors.New("breaks off and is left out")

// ReadVisits reads a log. name is used in errors, which give the number of the line. If the error
// is ErrUnfinished, the list contains the visits before the incomplete line; with any other error
// it is nil.
func ReadVisits(name string, r io.Reader) ([]Visit, error) {
	var list []Visit
	ends := true // whether the current line ends with a line break
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

// cut returns at most the first maxText bytes of a text that a visitor sent.
func cut(s string) string {
	if len(s) > maxText {
		return s[:maxText]
	}
	return s
}
