package policy

import "container/list"

const (
	maxCells = 2048     // maximum number of origins in the cache
	maxBytes = 64 << 20 // maximum total size of the policy files of the cached origins, in bytes
	maxViews = 8        // maximum number of crawlers for which one origin is cached
)

// cache holds the most recently used origins. It is not safe for concurrent use.
type cache struct {
	cells   map[string]*list.Element // by origin key
	order   *list.List               // contains *cell, the most recently used first
	bytes   int
	dropped int // number of calls of drop so far
}

type cell struct {
	key   string
	views map[string]view // by Crawler.Key of the crawler
	bytes int
}

// view holds what is cached of an origin for one crawler. A field is nil if it is not cached.
type view struct {
	now  *Origin // the origin with the policy in force
	held *Origin // the origin with the policy of the last version that was read
}

func newCache() cache { return cache{cells: map[string]*list.Element{}, order: list.New()} }

func (c *cache) view(key, id string) view {
	e := c.cells[key]
	if e == nil {
		return view{}
	}
	c.order.MoveToFront(e)
	return e.Value.(*cell).views[id]
}

// add calls change with the view of an origin for one crawler; change stores o in the view. If the
// cache is too large after that, add removes the least recently used origins.
func (c *cache) add(key, id string, o *Origin, change func(*view)) {
	e := c.cells[key]
	if e == nil {
		e = c.order.PushFront(&cell{key: key, views: map[string]view{}})
		c.cells[key] = e
	}
	at := e.Value.(*cell)
	v := at.views[id]
	change(&v)
	if _, known := at.views[id]; !known && len(at.views) >= maxViews {
		clear(at.views)
	}
	at.views[id] = v
	at.bytes += o.size
	c.bytes += o.size
	for c.order.Len() > maxCells || c.bytes > maxBytes && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

// drop removes all views of an origin.
func (c *cache) drop(key string) {
	c.dropped++
	if e := c.cells[key]; e != nil {
		c.remove(e)
	}
}

func (c *cache) remove(e *list.Element) {
	at := e.Value.(*cell)
	delete(c.cells, at.key)
	c.order.Remove(e)
	c.bytes -= at.bytes
}
