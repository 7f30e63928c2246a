package holdings

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/terms"
)

// BenchmarkJudge is what deciding costs for one page of 15 KB, its parsing included.
func BenchmarkJudge(b *testing.B) {
	for name, robots := range map[string]string{"open": "", "limits": "ACAP-disallow-preserve: /\nACAP-allow-present-snippet: / max-length=20-words"} {
		b.Run(name, func(b *testing.B) {
			w := newWeb(robots)
			h := &Holdings{sources: terms.Sources{Policies: w, Fetcher: w}}
			body := `<html lang="en"><title>Low water</title>` + strings.Repeat("<p>The pilot waits for the tide <a href=/b>at the quay</a> and the gulls wait with her.", 170)
			b.ReportAllocs()
			for b.Loop() {
				pg := pageOf(body, a)
				h.judge(terms.Of(context.Background(), w.policy, pg.URL(), pg, h.sources, acap.Facts{Now: time.Now()}), pg, nil)
			}
		})
	}
}
