package archive

import (
	"slices"

	bolt "go.etcd.io/bbolt"
)

// intend logs an intent for url: from now on the index may disagree with the resource.
func (t *txn) intend(url string) error {
	t.logged = append(t.logged, url)
	return t.tx.Bucket(bIntents).Put([]byte(url), frame([]byte(url), nil))
}

// log counts the intents that a committed transaction has logged, and removes the intents that the
// transaction has cleared. If an intent was logged again while Done was called for the previous
// one, the intent remains.
func (a *Archive) log(logged []string, cleared int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	again := make(map[string]bool, len(logged))
	for _, url := range logged {
		a.outstanding[url]++
		again[url] = true
	}
	a.done = slices.DeleteFunc(slices.Clone(a.done[cleared:]), func(url string) bool { return again[url] })
}

// finished returns the intents that the next transaction clears.
func (a *Archive) finished() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done[:len(a.done):len(a.done)]
}

// Done reports that the index agrees with the resources again. The caller must call it once for
// every Receive, Update or Erase that changed what the index should contain. An additional call
// does no harm. Done writes nothing: the next transaction or Close clears the intent.
func (a *Archive) Done(urls ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, url := range urls {
		if a.outstanding[url]--; a.outstanding[url] > 0 {
			continue
		}
		delete(a.outstanding, url)
		a.done = append(a.done, url)
	}
}

// Intents returns the URLs for which the index may disagree with Resource(url).Indexed, because an
// intent was logged and Done was not called. After Open, these are intents that remained after a
// crash.
func (a *Archive) Intents() ([]string, error) {
	var list []string
	err := a.view(func(tx *bolt.Tx) error {
		finished := map[string]bool{}
		for _, url := range a.finished() {
			finished[url] = true
		}
		return tx.Bucket(bIntents).ForEach(func(k, _ []byte) error {
			if url := string(k); !finished[url] {
				list = append(list, url)
			}
			return nil
		})
	})
	return list, err
}
