package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/display"
)

// jsonLines converts lines of text into the objects that slog.JSONHandler writes, so that a program
// that reads standard error needs to know one form only.
type jsonLines struct {
	job     string // the job that the lines are about; "": none
	partial []byte
}

// lines returns an object for each line that ends in text. The rest of text is kept for the next
// call. A line that is a JSON object already is only made safe to print.
func (j *jsonLines) lines(text []byte, now time.Time) []byte {
	var out bytes.Buffer
	safe := display.NewJSON(&out)
	text = append(j.partial, text...)
	for {
		line, rest, ends := bytes.Cut(text, []byte("\n"))
		if !ends {
			j.partial = bytes.Clone(text)
			return out.Bytes()
		}
		text = rest
		switch {
		case len(line) == 0:
		case line[0] == '{' && json.Valid(line):
			_, _ = safe.Write(append(bytes.Clone(line), '\n')) // cannot fail: out is in memory
		default:
			level, message := levelOfLine(string(line))
			record := slog.NewRecord(now, level, message, 0)
			if j.job != "" {
				record.AddAttrs(slog.String("job", j.job))
			}
			_ = slog.NewJSONHandler(safe, nil).Handle(context.Background(), record) // cannot fail: out is in memory
		}
	}
}

// levelOfLine returns the level that the first word of a line of text names, and the rest of the line.
func levelOfLine(line string) (level slog.Level, rest string) {
	if text, found := strings.CutPrefix(line, "Error: "); found {
		return slog.LevelError, text
	}
	if text, found := strings.CutPrefix(line, "Notice: "); found {
		return slog.LevelWarn, text
	}
	return slog.LevelInfo, line
}
