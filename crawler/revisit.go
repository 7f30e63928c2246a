package crawler

import "time"

// Recrawl says when a page is visited again: not before Min, and after Max at the latest.
type Recrawl struct{ Min, Max time.Duration }
