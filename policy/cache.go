package policy

import "container/list"

const (
	maxCells = 2048     // origins in the cache
	maxBytes = 64 << 20 // bytes of the texts of their policy files
	maxViews = 8        // crawlers for which one origin is cached
)

// cache holds the most recently used origins. It is not safe for concurrent use.
type cache struct {
	cells   map[string]*list.Element // by origin key
	order   *list.List               // contains *cell, the most recently used first
	bytes   int
	dropped int // number of calls of drop
}

type cell struct {
	key   string
	views map[string]view // by Crawler.Key of the crawler
	bytes int
}

// view holds an origin for one crawler; nil if it is not cached.
type view struct {
	now  *Origin // with the policy in force
	held *Origin // with the policy of the last version that was read
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

// add changes the view of an origin for a crawler by change, which stores o there. If the cache
// then is too large, it removes the least recently used origins.
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
