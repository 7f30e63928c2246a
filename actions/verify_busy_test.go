package actions

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// Verify reports no break while others write.
func TestVerifyBusy(t *testing.T) {
	l := lived(t, filepath.Join(t.TempDir(), "actions.db"), Options{Key: operatorKey(1)})
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for n := range 2 {
		busy.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				run(t, l, &crew{}, asks(down+fmt.Sprintf("/%d/%d", n, i%7), recrawl+"/n"))
				if _, _, err := l.AddCredential(fmt.Sprintf("c%d-%d", n, i), []string{origin},
					l.o.Now().AddDate(1, 0, 0)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		if got := breaks(t, l); got != "" {
			t.Error(got)
			break
		}
	}
	close(stop)
	busy.Wait()
	if got := breaks(t, l); got != "" {
		t.Error(got)
	}
}
