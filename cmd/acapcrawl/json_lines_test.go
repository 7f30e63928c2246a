package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
)

// With log_format: json, each line on standard error is one JSON object, however it was written.
func TestJSONLines(t *testing.T) {
	var b bytes.Buffer
	now := noon
	p := &progress{w: &b, columns: func() int { return 80 }, now: func() time.Time { return now }}
	p.Set("1 page")
	b.Reset()
	p.WriteJSON()
	p.WriteJSON()
	logger(p, &config.Config{LogFormat: config.LogJSON}).Info("swept", "url", "http://a.example/\u202e")
	fmt.Fprint(p, "Notice: the disk")
	fmt.Fprint(p, " is \x1b[2Jfull\n\nReady.\n{not JSON}\n")
	report(p, failure("another disk", errors.New("full")))
	now = now.Add(time.Minute)
	p.Set("2 pages")
	p.Done()
	want := clearLine + `{"time":"T","level":"INFO","msg":"swept","url":"http://a.example/\u202e"}
{"time":"T","level":"WARN","msg":"the disk is \u001b[2Jfull"}
{"time":"T","level":"INFO","msg":"Ready."}
{"time":"T","level":"INFO","msg":"{not JSON}"}
{"time":"T","level":"ERROR","msg":"full"}
{"time":"T","level":"INFO","msg":"Try: another disk"}
{"time":"T","level":"INFO","msg":"1 min 0 s: 2 pages"}
`
	if got := regexp.MustCompile(`"time":"[^"]+"`).ReplaceAllString(b.String(), `"time":"T"`); got != want {
		t.Errorf("wrote\n%s\nwant\n%s", got, want)
	}
}
